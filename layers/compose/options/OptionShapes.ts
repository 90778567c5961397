/**
 * Schemas of the parts of the options of `start`, `startWorker` and `routes`, for values from JavaScript. Used only in this
 * folder.
 */
import { Effect, Layer, Redacted, Schema } from "effect"
import { expectedTime } from "../../../src/value/Times.ts"
import type { EventHandlers } from "../../../src/delivery/EventEffect.ts"
import type { PostgresSettings } from "../../sql/engine/Postgres.ts"

export const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null

export const is = <A>(what: string, holds: (value: unknown) => boolean) =>
  Schema.declare((value): value is A => holds(value), { message: `Expected ${what}` })

/** An object whose content its own decoder checks further. */
export const objectOf = <A>(what: string) => is<A>(what, isObject)

/** A list whose items their own decoder checks. */
export const listOf = <S extends Schema.Constraint>(each: S) =>
  Schema.optionalKey(Schema.Array(each).check(Schema.isMaxLength(10_000)))

export const family = is("what `tool`, `govern` or `remote` makes: an Effect", Effect.isEffect)
export const layer = is("a Layer", Layer.isLayer)
export const func = is("a function", (value) => typeof value === "function")
export const text = Schema.String.check(Schema.isMinLength(1))
export const isUrl = (value: unknown): value is string =>
  typeof value === "string" && /^https?:\/\//i.test(value) && URL.canParse(value)
export const url = is<string>("a URL that begins with http:// or https://", isUrl)
/** The longest timer, in ms. */
export const int32_max = 2 ** 31 - 1
export const between = (minimum: number, maximum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }))
export const optionalBetween = (minimum: number, maximum: number) =>
  Schema.optionalKey(between(minimum, maximum))

/** A time that was converted to a number if it was a Duration or a text. */
export const time = (minimum: number, maximum: number) =>
  Schema.optionalKey(
    is<number>(
      expectedTime(minimum, maximum).replace("Expected ", ""),
      (value) => Number.isInteger(value) && Number(value) >= minimum && Number(value) <= maximum
    )
  )

export const texts = Schema.Array(text)
const pairs = Schema.Record(Schema.String, Schema.String)
export const secret = is<string | Redacted.Redacted>(
  "a text, or one that is Redacted",
  (value) => typeof value === "string" || Redacted.isRedacted(value)
)

/** Whether the value is an object whose only member is this one, a text that matches the pattern. */
export const isOnly = (value: unknown, member: string, pattern: RegExp): boolean => {
  if (!isObject(value) || Object.keys(value).join() !== member) return false
  const given: unknown = Object.values(value)[0]
  return typeof given === "string" && pattern.test(given)
}

export const postgres_shape =
  "{ postgres: a URL that begins with postgres:// or postgresql://, connections_max?: 5 to 500, statement_timeout_ms? and " +
  "answer_timeout_ms?: 100 to 3,600,000 }"

const postgres_bounds: ReadonlyMap<string, readonly [minimum: number, maximum: number]> = new Map(
  Object.entries({
    connections_max: [5, 500],
    statement_timeout_ms: [100, 3_600_000],
    answer_timeout_ms: [100, 3_600_000]
  } satisfies Record<keyof PostgresSettings, readonly [number, number]>)
)

/** Whether the value is a connection URL with settings of its client, and nothing else. */
export const isPostgres = (value: unknown): boolean => {
  if (!isObject(value)) return false
  const { postgres, ...settings } = value as Record<string, unknown>
  return (
    isOnly({ postgres }, "postgres", /^postgres(?:ql)?:\/\//) &&
    Object.entries(settings).every(([name, given]) => {
      const bounds = postgres_bounds.get(name)
      if (bounds === undefined) return false
      if (given === undefined) return true
      return Number.isInteger(given) && Number(given) >= bounds[0] && Number(given) <= bounds[1]
    })
  )
}

export const Telemetry = Schema.Union([
  Schema.Boolean,
  Schema.Struct({
    endpoint: Schema.optionalKey(url),
    headers: Schema.optionalKey(pairs),
    protocol: Schema.optionalKey(Schema.Literals(["http/protobuf", "http/json"])),
    service: Schema.optionalKey(text),
    attributes: Schema.optionalKey(pairs),
    sdk: Schema.optionalKey(func),
    sql: Schema.optionalKey(Schema.Boolean)
  })
])

/** An option that is undefined or null counts as absent. */
export const definedOptions = (options: unknown): unknown =>
  isObject(options) && !Array.isArray(options)
    ? Object.fromEntries(Object.entries(options).filter(([, value]) => (value ?? null) !== null))
    : options

/** What types of events cause. */
export const EventHandlersShape = is<EventHandlers>(
  "functions by types of events",
  (value) => isObject(value) && Object.values(value).every((each) => typeof each === "function")
)
