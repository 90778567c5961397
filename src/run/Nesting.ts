/**
 * How a run is known to other processes: where it stands among runs that start one another through another system (a run invokes a
 * workflow of a host platform, and the workflow sends a message to an agent), and the span that it belongs to. Both travel in
 * headers of W3C that instrumented services pass on by themselves: `baggage` and `traceparent`.
 */
import { BigDecimal, Context, Effect, Result, Schema, Tracer } from "effect"
import { Decimal, parseDecimal } from "../value/Decimal.ts"
import type { RunLimits } from "./RunLimits.ts"
import { between } from "../value/Bounds.ts"

/** What a message says of the runs around it: how deep it is nested, and what is left of their budget. */
export class Nesting extends Schema.Opaque<Nesting>()(
  Schema.Struct({
    /** How many runs enclose the run of this message: 1 = the run that started it was started by no other. */
    depth: between(1, 1_000_000),
    /** At most so many tokens are left of the outer run's; absent = it has no bound. */
    tokens_max: Schema.optionalKey(between(1, 1_000_000_000)),
    /** At most so much money is left, in `currency`; absent = it has no bound. */
    cost_max: Schema.optionalKey(Decimal),
    /** The currency of `cost_max`, such as `EUR`. Given together with it. */
    currency: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^[A-Z]{3}$/)))
  }).check(
    Schema.makeFilter(
      ({ cost_max, currency }) =>
        (cost_max === undefined) === (currency === undefined) ||
        "cost_max and currency are given together"
    )
  )
) {}

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

/** The `tracestate` of the trace in which something is sent; undefined = none. */
export const TraceState = Context.Reference<string | undefined>("troupe/TraceState", {
  defaultValue: () => undefined
})

const state_units_max = 512
const state_members_max = 32
const state_member =
  /^[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/

/** A `tracestate` that may be passed on; undefined if it is malformed, too long, or says nothing. */
const stateOf = (tracestate: string | undefined): string | undefined => {
  if (tracestate === undefined || tracestate.length > state_units_max) return undefined
  const members = tracestate.split(",").flatMap((each) => each.trim() || [])
  const isRead = members.every((member) => state_member.test(member))
  return isRead && members.length > 0 && members.length <= state_members_max
    ? members.join(",")
    : undefined
}

/** Does something in the trace of these headers. A malformed `traceparent` counts as absent, and the `tracestate` with it. */
export const inTraceOf =
  ({ traceparent, tracestate }: TraceHeaders) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.withFiber<A, E, R>((fiber) => {
      const caller = traceparent === undefined ? undefined : spanOf(traceparent)
      if (caller === undefined) return effect
      const state = stateOf(tracestate)
      const stated = state === undefined ? effect : Effect.provideService(effect, TraceState, state)
      // A span of this process is beneath it already.
      const isBeneath = fiber.cache.span?.traceId === caller.traceId
      return isBeneath ? stated : (Effect.withParentSpan(stated, caller) as Effect.Effect<A, E, R>)
    })

const written = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** The headers of W3C Trace Context. */
interface TraceHeaders {
  readonly traceparent?: string | undefined
  readonly tracestate?: string | undefined
}

/** The header `traceparent` of a span. */
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
