/** Spans of the reference platform: one for each request that carried a trace, as the platform would have recorded it. */
import { Schema } from "effect"
import type { Json } from "../../../src/value/Canonical.ts"
import type { Route } from "./Route.ts"
import { Id, Members, route } from "./Route.ts"
import { ok, problem } from "./Wire.ts"

export interface Span {
  readonly trace_id: string
  readonly span_id: string
  readonly span_name: string
  readonly status_code: string
  /** An ISO time. */
  readonly start_time: string
}

const Condition = Schema.Struct({
  field: Id,
  key: Schema.optionalKey(Schema.NullOr(Id)),
  value: Schema.optionalKey(Schema.Json),
  operator: Schema.optionalKey(Schema.NullOr(Id)),
  options: Schema.optionalKey(Schema.NullOr(Members))
})
interface Filtering {
  readonly operator?: string
  readonly conditions?: ReadonlyArray<typeof Condition.Type | Filtering>
}
const Filtering: Schema.Codec<Filtering> = Schema.Struct({
  operator: Schema.optionalKey(Schema.Literals(["and", "or", "not", "nand", "nor"])),
  conditions: Schema.optionalKey(
    Schema.Array(
      Schema.Union([Condition, Schema.suspend((): Schema.Codec<Filtering> => Filtering)])
    )
  )
})
const Reference = Schema.NullOr(Members)
const QueryBody = Schema.Struct({
  filtering: Schema.optionalKey(Schema.NullOr(Filtering)),
  windowing: Schema.optionalKey(
    Schema.NullOr(
      Schema.Struct({
        newest: Schema.optionalKey(Schema.NullOr(Schema.String)),
        oldest: Schema.optionalKey(Schema.NullOr(Schema.String)),
        next: Schema.optionalKey(Schema.NullOr(Schema.String)),
        limit: Schema.optionalKey(Schema.NullOr(Schema.Int)),
        order: Schema.optionalKey(Schema.NullOr(Schema.Literals(["ascending", "descending"]))),
        interval: Schema.optionalKey(Schema.NullOr(Schema.Int)),
        rate: Schema.optionalKey(Schema.NullOr(Schema.Finite))
      })
    )
  ),
  query_ref: Schema.optionalKey(Reference),
  query_variant_ref: Schema.optionalKey(Reference),
  query_revision_ref: Schema.optionalKey(Reference)
})

const page_max = 100

type Test = (found: string | undefined, value: Json | undefined) => boolean

const listed = (value: Json | undefined): ReadonlyArray<Json> =>
  Array.isArray(value) ? (value as ReadonlyArray<Json>) : []

const tests: ReadonlyMap<string, Test> = new Map<string, Test>([
  ["is", (found, value) => found === value],
  ["eq", (found, value) => found === value],
  ["is_not", (found, value) => found !== value],
  ["neq", (found, value) => found !== value],
  ["in", (found, value) => listed(value).includes(found ?? null)],
  ["not_in", (found, value) => !listed(value).includes(found ?? null)],
  ["startswith", (found, value) => found?.startsWith(String(value)) === true],
  ["endswith", (found, value) => found?.endsWith(String(value)) === true],
  ["contains", (found, value) => found?.includes(String(value)) === true],
  ["exists", (found) => found !== undefined],
  ["not_exists", (found) => found === undefined]
])

/** The first operator that is not among those of these spans, whose fields are all texts; undefined = all are. */
const unknownIn = (all: Filtering["conditions"] = []): string | undefined => {
  for (const each of all) {
    const unknown = isCondition(each)
      ? tests.has(each.operator ?? "is")
        ? undefined
        : (each.operator ?? undefined)
      : unknownIn(each.conditions)
    if (unknown !== undefined) return unknown
  }
  return undefined
}

const isCondition = (given: typeof Condition.Type | Filtering): given is typeof Condition.Type =>
  "field" in given

const fits = (span: Span, given: typeof Condition.Type | Filtering): boolean => {
  if (isCondition(given)) {
    const fields: Readonly<Record<string, string>> = { ...span }
    const found = Object.hasOwn(fields, given.field) ? fields[given.field] : undefined
    return tests.get(given.operator ?? "is")?.(found, given.value) === true
  }
  const all = (given.conditions ?? []).map((each) => fits(span, each))
  switch (given.operator) {
    case "or":
      return all.some(Boolean)
    case "not":
    case "nor":
      return !all.some(Boolean)
    case "nand":
      return !all.every(Boolean)
    default:
      return all.every(Boolean)
  }
}

/** The route that lists spans, newest first unless the order is another one. */
export const spanRoute = (spans: () => ReadonlyArray<Span>): Route =>
  route("POST", "/api/spans/query", QueryBody, ({ filtering, windowing }) => {
    const unknown = unknownIn(filtering?.conditions)
    if (unknown !== undefined) return problem(422, `no span can be compared by "${unknown}" here`)
    const { limit, newest, oldest, order } = windowing ?? {}
    const found = spans().filter(
      (span) =>
        (newest == null || span.start_time <= newest) &&
        (oldest == null || span.start_time >= oldest) &&
        (filtering == null || fits(span, filtering))
    )
    const sorted = order === "ascending" ? found : found.toReversed()
    const page = sorted.slice(0, Math.min(limit ?? page_max, page_max))
    return ok({ count: page.length, spans: page.map((span) => ({ ...span })) })
  })
