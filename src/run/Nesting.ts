/**
 * How a run is known to other processes: where it stands among runs that start one another through another system (a run invokes a
 * workflow of a host platform, and the workflow sends a message to an agent), and the span that it belongs to. Both travel in
 * headers of W3C that instrumented services pass on by themselves: `baggage` and `traceparent`.
 */
import { BigDecimal, Result, Schema, Tracer } from "effect"
import { Decimal, parseDecimal } from "../value/Decimal.ts"
import type { RunLimits } from "./RunLimits.ts"
import { between } from "../value/Bounds.ts"

/** What a message says of the runs around it: how deep it is nested, and what is left of their budget. */
export const Nesting = Schema.Struct({
  /** How many runs enclose the run of this message: 1 = the run that started it was started by no other. */
  depth: between(1, 1_000_000),
  /** At most so many tokens are left of the outer run's; absent = it has no bound. */
  tokens_max: Schema.optionalKey(between(1, 1_000_000_000)),
  /** At most so much money is left, in `currency`; absent = it has no bound. */
  cost_max: Schema.optionalKey(Decimal),
  currency: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[A-Z]{3}$/)))
}).check(
  Schema.makeFilter(
    ({ cost_max, currency }) =>
      (cost_max === undefined) === (currency === undefined) ||
      "cost_max and currency are given together"
  )
)
export interface Nesting extends Schema.Schema.Type<typeof Nesting> {}

/** The limits of an agent within what is left of the outer run's. Money counts where both have one currency. */
export const limitsWithin = (
  limits: RunLimits,
  nested: Nesting | undefined,
  currency: string | undefined
): RunLimits => {
  if (nested === undefined) return limits
  const { cost_max: cost, tokens_max: tokens } = nested
  const own = limits.cost_max
  const isLess =
    cost !== undefined &&
    currency === nested.currency &&
    (own === undefined || BigDecimal.isLessThan(parseDecimal(cost), parseDecimal(own)))
  const isFewer = tokens !== undefined && (limits.tokens_max === 0 || tokens < limits.tokens_max)
  return {
    ...limits,
    ...(isFewer ? { tokens_max: tokens } : undefined),
    ...(isLess ? { cost_max: cost } : undefined)
  }
}

/** The value of the header `baggage` for a request of a call. */
export const baggageOf = ({ cost_max, currency, depth, tokens_max }: Nesting): string =>
  [
    `troupe.depth=${depth}`,
    ...(tokens_max === undefined ? [] : [`troupe.tokens=${tokens_max}`]),
    ...(cost_max === undefined ? [] : [`troupe.cost=${cost_max}`, `troupe.currency=${currency}`])
  ].join(",")

const members: Readonly<Record<string, keyof Nesting>> = {
  "troupe.depth": "depth",
  "troupe.tokens": "tokens_max",
  "troupe.cost": "cost_max",
  "troupe.currency": "currency"
}
const prefix = "troupe."
const decode = Schema.decodeUnknownResult(Nesting)

const malformed = 'the members of "baggage" that begin with "troupe." are malformed'

/**
 * What a `baggage` header says of the run around a message; undefined = nothing. Members of others are passed over. Fails with
 * a sentence where one of ours is malformed, stands twice or has no depth beside it.
 */
export const nestingOf = (
  baggage: string | undefined
): Result.Result<Nesting | undefined, string> => {
  const found: Partial<Record<keyof Nesting, string | number>> = {}
  for (const member of (baggage ?? "").split(",")) {
    // Behind a semicolon are properties of the member.
    const [key = "", value = ""] = (member.split(";", 1)[0] ?? "")
      .split("=", 2)
      .map((part) => part.trim())
    if (!key.startsWith(prefix)) continue
    const name = Object.hasOwn(members, key) ? members[key] : undefined
    // A member of a later release.
    if (name === undefined) continue
    if (found[name] !== undefined) return Result.fail(malformed)
    const isCount = name === "depth" || name === "tokens_max"
    if (isCount && !/^[0-9]{1,10}$/.test(value)) return Result.fail(malformed)
    found[name] = isCount ? Number(value) : value
  }
  if (Object.keys(found).length === 0) return Result.succeed(undefined)
  return Result.mapError(decode(found), () => malformed)
}

const written = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

export const traceparentOf = ({ sampled, spanId, traceId }: Tracer.AnySpan): string =>
  `00-${traceId.padStart(32, "0")}-${spanId}-${sampled ? "01" : "00"}`

/** Undefined if it is no such text, or has an id of zeros alone. */
export const spanOf = (traceparent: string): Tracer.ExternalSpan | undefined => {
  const [, traceId, spanId, flags] = written.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return Tracer.externalSpan({
    traceId,
    spanId,
    sampled: Number.parseInt(flags, 16) % 2 === 1
  })
}
