/** The routes of bulks: a count, the steps, and the result as a file. */
import { Effect, Result, Schema } from "effect"
import * as BulkOperations from "../../src/operation/BulkOperations.ts"
import { bulk_max } from "../../src/operation/Page.ts"
import type { AnySettlement } from "../../src/run/UnknownCall.ts"
import { bounds_result, readJson } from "../../src/value/BoundedJson.ts"
import { truncateUnits } from "../../src/value/CutText.ts"
import { operations } from "../service/ServiceOperations.ts"
import { apiLine } from "./ApiLine.ts"
import type { Kind, KindName, Row } from "./BulkPages.ts"
import { ages, bulkPage, kinds, progressPage } from "./BulkPages.ts"
import { csvFile } from "./ListFiles.ts"
import type { Asked, Page } from "./SignedPages.ts"
import { decoded, nothingHere, perform, queryOf, signedPage } from "./SignedPages.ts"

/** The items of one step, few enough that a page says often how far it is. */
const step_items = 100

/** What the result keeps of why an item was not done. */
const detail_units_max = 120

const unfit = {
  status: 422,
  title: "It does not fit",
  detail:
    "A filter has at most 200 characters, an agent a lower-case name, and a reason 1 to 4,000 characters. Go back: what you typed is there. Nothing was changed."
}

type Given = Readonly<Record<string, unknown>>
type Became = { readonly outcome: BulkOperations.Outcome; readonly detail?: string }
interface Step {
  readonly rows: ReadonlyArray<Row>
  readonly next_after?: string | undefined
}

type Acting = (asked: Asked, given: Given) => Effect.Effect<Step, unknown, unknown>

const rowOf = (id: string, { detail = "", outcome }: Became): Row => ({
  id,
  outcome,
  detail: truncateUnits(detail.replaceAll(/\s+/g, " "), detail_units_max)
})

const kindOf = ({ params }: Asked) =>
  Effect.map(
    decoded(
      Schema.Struct({ kind: Schema.Literals(Object.keys(kinds) as ReadonlyArray<KindName>) }),
      params,
      nothingHere
    ),
    ({ kind }) => kind
  )

/** What each kind counts; the filter is decoded as the operation has it. */
const counts = {
  runs: {
    operation: BulkOperations.countRuns,
    count: (asked: Asked, given: Given) =>
      Effect.flatMap(decoded(BulkOperations.countRuns.query, given, unfit), (query) =>
        perform(operations.countRuns, query, asked)
      )
  },
  letters: {
    operation: BulkOperations.countLetters,
    count: (asked: Asked, given: Given) =>
      Effect.flatMap(decoded(BulkOperations.countLetters.query, given, unfit), (query) =>
        perform(operations.countDeadLetters, query, asked)
      )
  },
  calls: {
    operation: BulkOperations.countCalls,
    count: (asked: Asked, given: Given) =>
      Effect.flatMap(decoded(BulkOperations.countCalls.query, given, unfit), (query) =>
        perform(operations.countUnknown, query, asked)
      )
  }
}

const letterStep = Effect.fnUntraced(function* (
  asked: Asked,
  given: Given,
  how: "replayDeadLetters" | "discardDeadLetters"
) {
  const input = yield* decoded(BulkOperations.replayLetters.payload, given, unfit)
  const { items, next_after } =
    how === "replayDeadLetters"
      ? yield* perform(operations.replayDeadLetters, input, asked)
      : yield* perform(operations.discardDeadLetters, input, asked)
  return { rows: items.map((item) => rowOf(item.event_id, item)), next_after } as Step
})

const settleStep = Effect.fnUntraced(function* (asked: Asked, given: Given) {
  const { reason: _, ...rest } = given
  const input = yield* decoded(BulkOperations.settleCalls.takes, rest, unfit)
  const { items, next_after } = yield* perform(operations.settleCalls, input, asked)
  const rows = items.map((item) => rowOf(`${item.run_id}:${item.call}`, item))
  return { rows, next_after } as Step
})

const succeeded = (text: string): AnySettlement | undefined =>
  Result.isSuccess(readJson(text, bounds_result)) ? { _tag: "Succeeded", json: text } : undefined

/** By kind and act: one step, given the filter, `until`, `limit`, `after` and the text. */
const steps = {
  runs: {
    cancel: Effect.fnUntraced(function* (asked: Asked, given: Given) {
      const input = yield* decoded(BulkOperations.cancelRuns.payload, given, unfit)
      const { items, next_after } = yield* perform(operations.cancelRuns, input, asked)
      return { rows: items.map((item) => rowOf(item.id, item)), next_after } as Step
    })
  },
  letters: {
    replay: (asked: Asked, given: Given) => letterStep(asked, given, "replayDeadLetters"),
    discard: (asked: Asked, given: Given) => letterStep(asked, given, "discardDeadLetters")
  },
  calls: {
    succeeded: (asked: Asked, given: Given) =>
      settleStep(asked, { ...given, outcome: succeeded(String(given["reason"])) }),
    failed: (asked: Asked, given: Given) =>
      settleStep(asked, { ...given, outcome: { failed: given["reason"] } }),
    run_again: (asked: Asked, given: Given) => settleStep(asked, { ...given, outcome: "run_again" })
  }
}

/** The filters that a form or an address has, by their names in the API. */
const filtersOf = (kind: Kind, fields: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    [...Object.keys(kind.filters), ...Object.keys(kind.choices)].flatMap((name) => {
      const value = fields[name]
      return value === undefined || value === "" ? [] : [[name, value]]
    })
  )

const Age = Schema.Struct({
  older: Schema.optionalKey(Schema.Literals(Object.keys(ages) as ReadonlyArray<keyof typeof ages>))
})

const count = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const name = yield* kindOf(asked)
    const kind: Kind = kinds[name]
    const given = queryOf(asked, [
      ...Object.keys(kind.filters),
      ...Object.keys(kind.choices),
      "older"
    ])
    const { older = "" } = yield* decoded(Age, { older: given["older"] ?? "" }, nothingHere)
    const filters = filtersOf(kind, given)
    const before = older === "" ? undefined : Math.max(0, asked.view.now - ages[older])
    const query = { ...filters, ...(before === undefined ? undefined : { [kind.before]: before }) }
    const { count: counter, operation } = counts[name]
    const found = yield* counter(asked, query)
    return bulkPage(asked.view, name, {
      ...found,
      isCut: found.is_cut === true,
      given,
      carried: {
        ...filters,
        ...(before === undefined ? undefined : { [kind.before]: String(before) }),
        until: String(found.until),
        count: String(found.count)
      },
      line: apiLine(asked, operation, query)
    })
  })
)

/** `outcome id why`, one a line: so it is carried from step to step. */
const lineOf = ({ detail, id, outcome }: Row): string => `${outcome} ${id} ${detail}`

const line_pattern = /^(done|skipped|failed) ([!-~]{1,1100}) (.*)$/

const rowsOf = Effect.fnUntraced(function* (result = "") {
  const rows: Array<Row> = []
  for (const line of result.split(/\r?\n/)) {
    if (line === "") continue
    const [, outcome, id = "", detail = ""] = line_pattern.exec(line) ?? []
    rows.push({ outcome: outcome as Row["outcome"], id, detail })
  }
  const isFit = rows.length <= bulk_max && rows.every(({ outcome }) => outcome !== undefined)
  return isFit ? rows : yield* decoded(Schema.Never, rows, unfit)
})

const Numbers = Schema.Struct({
  until: Schema.FiniteFromString,
  count: Schema.FiniteFromString.check(Schema.isBetween({ minimum: 0, maximum: bulk_max }))
})

const step = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const { fields, view } = asked
    const name = yield* kindOf(asked)
    const kind: Kind = kinds[name]
    const act = fields["act"] ?? ""
    const acts: Readonly<Record<string, Acting>> = steps[name]
    const perform = Object.hasOwn(acts, act) ? acts[act] : undefined
    if (perform === undefined) return yield* decoded(Schema.Never, act, unfit)
    const { count, until } = yield* decoded(Numbers, fields, unfit)
    const before = fields[kind.before]
    const filters = filtersOf(kind, fields)
    const past = yield* rowsOf(fields["result"])
    const { next_after, rows } = yield* perform(asked, {
      ...filters,
      ...(before === undefined ? undefined : { [kind.before]: Number(before) }),
      until,
      reason: fields["text"] ?? "",
      limit: Math.max(1, Math.min(step_items, bulk_max - past.length)),
      ...(fields["after"] === undefined ? undefined : { after: fields["after"] })
    })
    const all = [...past, ...rows]
    const { after: _, form_key: __, result: ___, ...carried } = fields
    return progressPage(view, name, {
      act,
      count,
      rows: all,
      result: all.map(lineOf).join("\n"),
      next:
        next_after === undefined || all.length >= bulk_max
          ? undefined
          : { ...carried, after: next_after }
    })
  })
)

const headers = {
  runs: ["run", "outcome", "why"],
  letters: ["event_id", "outcome", "why"],
  calls: ["run", "call", "outcome", "why"]
} satisfies Readonly<Record<KindName, ReadonlyArray<string>>>

const result = signedPage(
  Effect.fnUntraced(function* (asked: Asked) {
    const name = yield* kindOf(asked)
    const rows = yield* rowsOf(asked.fields["result"])
    return csvFile(`bulk-${name}`, headers[name], {
      isCut: false,
      rows: rows.map(({ detail, id, outcome }) => {
        const [run = "", ...call] = id.split(":")
        return name === "calls" ? [run, call.join(":"), outcome, detail] : [id, outcome, detail]
      })
    })
  })
)

/** The routes of bulks. */
export const bulks: ReadonlyArray<Page> = [
  { method: "GET", path: "/console/bulk/:kind", answer: count },
  { method: "POST", path: "/console/bulk/:kind", answer: step },
  { method: "POST", path: "/console/bulk/:kind/result", answer: result }
]
