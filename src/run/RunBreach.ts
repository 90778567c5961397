/**
 * Which limit of a run as a whole is reached, what follows from that, and what a person approves then. Functions of the state
 * alone: that time is up is an event.
 */
import { BigDecimal } from "effect"
import { parseDecimal, decimalText } from "../value/Decimal.ts"
import type { CallId } from "../value/Ids.ts"
import type { LimitName, RunLimits } from "./RunLimits.ts"
import type { RunState } from "./RunState.ts"

export interface Breach {
  readonly limit: LimitName
  /** Why the run ends, if it does. */
  readonly reason: string
}

type Counted = Exclude<LimitName, "cost_max">

/** Shared by all runs: looking for a breach allocates nothing (bench row `step`). */
const breaches: Record<LimitName, Breach> = {
  steps_max: { limit: "steps_max", reason: "recursion_limit" },
  calls_max: { limit: "calls_max", reason: "calls_max" },
  tokens_max: { limit: "tokens_max", reason: "tokens_max" },
  cost_max: { limit: "cost_max", reason: "cost_max" },
  wall_ms_max: { limit: "wall_ms_max", reason: "wall_ms_max" },
  repeats_max: { limit: "repeats_max", reason: "repeats_max" },
  mistakes_max: { limit: "mistakes_max", reason: "mistakes_max" }
}
const cost_unknown: Breach = { limit: "cost_max", reason: "cost_unknown" }

/** How often people have extended a limit. */
const extensions = (state: RunState, limit: LimitName): number =>
  state.used.extended?.get(limit) ?? 0

/** The limit as it is now: what was `declared`, and what people have added. */
const maxFrom = (state: RunState, limit: Counted, declared: number): number =>
  state.used.extended === undefined
    ? declared
    : declared + extensions(state, limit) * (state.accepted.limits.extend_by?.[limit] ?? declared)

export const maxOf = (state: RunState, limit: Counted): number =>
  maxFrom(state, limit, state.accepted.limits[limit])

const stepsMax = (state: RunState): number =>
  maxFrom(state, "steps_max", state.accepted.limits.steps_max)

export const callsMax = (state: RunState): number =>
  maxFrom(state, "calls_max", state.accepted.limits.calls_max)

const costMax = (state: RunState, declared: string): BigDecimal.BigDecimal => {
  const more = BigDecimal.multiply(
    parseDecimal(state.accepted.limits.extend_by?.cost_max ?? declared),
    BigDecimal.fromBigInt(BigInt(extensions(state, "cost_max")))
  )
  return BigDecimal.sum(parseDecimal(declared), more)
}

/** What `answer` reserves of a limit for the last turn. */
const answerReserve = (limits: RunLimits, max: number): number =>
  limits.on_breach === "answer" ? (limits.answer_tokens ?? Math.floor(max / 10)) : 0

const tokensBound = (state: RunState): number => {
  const max = maxOf(state, "tokens_max")
  return max - answerReserve(state.accepted.limits, max)
}

const costBound = (state: RunState, declared: string): BigDecimal.BigDecimal => {
  const { answer_cost, on_breach } = state.accepted.limits
  const max = costMax(state, declared)
  if (on_breach !== "answer") return max
  const tenth = BigDecimal.make(max.value, max.scale + 1)
  return BigDecimal.subtract(max, answer_cost === undefined ? tenth : parseDecimal(answer_cost))
}

const zero = BigDecimal.make(0n, 0)

/** What the run may still spend, without what `answer` keeps for the last turn; undefined = there is no bound. May be negative. */
export const budgetLeft = (
  state: RunState
): { readonly tokens: number | undefined; readonly cost: BigDecimal.BigDecimal | undefined } => {
  const { cost_max, tokens_max } = state.accepted.limits
  return {
    tokens: tokens_max > 0 ? tokensBound(state) - state.tokens : undefined,
    cost:
      cost_max === undefined
        ? undefined
        : BigDecimal.subtract(costBound(state, cost_max), state.used.cost ?? zero)
  }
}

/** Calls that count. One that was refused because of `calls_max` does not. */
export const callsUsed = ({ calls, used }: RunState): number =>
  calls.size - used.calls_refused + used.provider_uses

/** Is there room for one more turn while `turns` others are in flight, each taken to be as large as the largest so far? */
export const hasRoom = (state: RunState, turns: number): boolean => {
  const { cost_max, tokens_max } = state.accepted.limits
  if (tokens_max > 0 && state.tokens + turns * state.used.turn_tokens_most >= tokensBound(state)) {
    return false
  }
  if (cost_max === undefined) return true
  const reserved = BigDecimal.multiply(
    state.used.turn_cost_most ?? zero,
    BigDecimal.fromBigInt(BigInt(turns))
  )
  const spent = BigDecimal.sum(state.used.cost ?? zero, reserved)
  return BigDecimal.isLessThan(spent, costBound(state, cost_max))
}

/** The limit that the run has reached, if any. */
export const breachOf = (state: RunState): Breach | undefined => {
  const limits = state.accepted.limits
  if (state.steps >= stepsMax(state)) return breaches.steps_max
  if (callsUsed(state) >= callsMax(state)) return breaches.calls_max
  if (limits.tokens_max > 0 && state.tokens >= tokensBound(state)) return breaches.tokens_max
  if (limits.cost_max !== undefined) {
    // A person who extended `cost_max` has accepted that the cost is not known.
    if (state.used.unpriced_turns > 0 && extensions(state, "cost_max") === 0) return cost_unknown
    if (!hasRoom(state, 0)) return breaches.cost_max
  }
  if (state.used.timed_out) return breaches.wall_ms_max
  if (
    limits.repeats_max > 0 &&
    state.used.repeats >= maxFrom(state, "repeats_max", limits.repeats_max)
  )
    return breaches.repeats_max
  if (
    limits.mistakes_max > 0 &&
    state.used.mistakes >= maxFrom(state, "mistakes_max", limits.mistakes_max)
  )
    return breaches.mistakes_max
  return undefined
}

/** What a breach does now: with `ask`, a side run is stopped, and a run whose limit was extended as often as it may be. */
export const onBreach = (state: RunState, limit: LimitName): RunLimits["on_breach"] => {
  const { extensions_max, on_breach } = state.accepted.limits
  if (on_breach !== "ask") return on_breach
  return state.beside !== undefined || extensions(state, limit) >= extensions_max ? "stop" : "ask"
}

/** The last turn that a frame may take, counted over all frames. With `answer` the supervisor has one more than specialists. */
export const lastStep = (state: RunState, supervisor: boolean): number =>
  supervisor && state.accepted.limits.on_breach === "answer" ? stepsMax(state) + 1 : stepsMax(state)

/** Is the supervisor's next turn its last, without tools? */
export const isAnswering = (state: RunState): boolean =>
  state.accepted.limits.on_breach === "answer" && breachOf(state) !== undefined

/** The id in the place of a call's in a question about a limit. No call has such an id. */
export const limitPlace = (state: RunState, limit: LimitName): CallId =>
  `limit/${limit}.${extensions(state, limit) + 1}` as CallId

/** What a person approves, as the arguments that a decision is bound to. */
export interface Extension {
  readonly limit: LimitName
  readonly max: number | string
  readonly used: number | string
  readonly extend_by: number | string
  /** What was used is partly an estimate, because a provider counted no tokens. */
  readonly estimated?: true
}

export const extensionOf = (state: RunState, limit: LimitName): Extension => {
  const limits = state.accepted.limits
  if (limit === "cost_max") {
    const declared = limits.cost_max ?? "0"
    const { scale, value } = state.used.cost ?? zero
    // A copy: formatting a decimal caches its normal form in it, and a state changes by events alone.
    const spent = BigDecimal.make(value, scale)
    return {
      limit,
      max: decimalText(costMax(state, declared)),
      used: decimalText(spent),
      extend_by: limits.extend_by?.cost_max ?? declared
    }
  }
  const used = {
    steps_max: state.steps,
    calls_max: callsUsed(state),
    tokens_max: state.tokens,
    wall_ms_max: maxOf(state, "wall_ms_max"),
    repeats_max: state.used.repeats,
    mistakes_max: state.used.mistakes
  }
  return {
    limit,
    max: maxOf(state, limit),
    used: used[limit],
    extend_by: limits.extend_by?.[limit] ?? limits[limit],
    ...(limit === "tokens_max" && state.used.tokens_estimated ? { estimated: true } : undefined)
  }
}

const estimate_text = ", an estimate because a provider counted none"

const unit_names: Record<LimitName, string> = {
  steps_max: "model turns",
  calls_max: "calls",
  tokens_max: "tokens",
  cost_max: "cost",
  wall_ms_max: "ms of time",
  repeats_max: "failures of the same call",
  mistakes_max: "turns of mistakes in a row"
}

/** Why a run stopped at a bound, in a sentence for an operator. */
export const breachText = (state: RunState, { limit, reason }: Breach): string => {
  if (reason === "cost_unknown") {
    return "what the run has cost is not known: a turn has no price, no count of its tokens, or another currency (cost_max)"
  }
  const { estimated, max, used } = extensionOf(state, limit)
  const last =
    limit === "mistakes_max" && state.used.mistake !== undefined
      ? `; the last mistake: ${state.used.mistake}`
      : ""
  const guess = estimated === true ? estimate_text : ""
  return `the run has used ${used} of ${max} ${unit_names[limit]}${guess} (${limit})${last}`
}

/** Tells the approver what was reached and what an approval does. */
export const extensionText = ({ estimated, extend_by, limit, max, used }: Extension): string =>
  `The run has used ${used} of ${max} (${unit_names[limit]}, ${limit}${estimated === true ? estimate_text : ""}) and stands still. Approved, it may use ${extend_by} more; denied, it ends as failed.`
