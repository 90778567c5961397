/**
 * Limits of one run, as data. They are pinned in `RunAccepted`, reserved before the act, and hold across restarts.
 *
 * Those of `LimitName` limit the run as a whole, and `on_breach` is what a breach does. The others refuse one act: the call
 * gets a result with the reason, and the run goes on.
 */
import { Effect, Schema } from "effect"
import { throwInvalidInputInMake } from "../schema/InvalidInput.ts"
import { Decimal } from "../value/Decimal.ts"

const bounded = (minimum: number, maximum: number, fallback: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(fallback)),
    Schema.withConstructorDefault(Effect.succeed(fallback))
  )

/**
 * `stop`: the run fails, with the limit's name as its reason (`recursion_limit` for `steps_max`). `answer`: one last turn
 * of the supervisor, without tools. `ask`: a person may extend the limit by `extend_by`, or end the run.
 */
export const OnBreach = Schema.Literals(["stop", "ask", "answer"])

/** The limits of a run as a whole. */
export const LimitName = Schema.Literals([
  "steps_max",
  "calls_max",
  "tokens_max",
  "cost_max",
  "wall_ms_max",
  "repeats_max",
  "mistakes_max"
])
export type LimitName = typeof LimitName.Type

const amount = Schema.optionalKey(
  Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000_000_000 }))
)

/** What one approval adds; absent = the limit once more. */
const ExtendBy = Schema.Struct({
  steps_max: amount,
  calls_max: amount,
  tokens_max: amount,
  cost_max: Schema.optionalKey(Decimal),
  wall_ms_max: amount,
  repeats_max: amount,
  mistakes_max: amount
})

/** `handoffs_max` where an agent does not say it. */
export const handoffs_max_default = 4

export const RunLimits = Schema.Struct({
  /** Model turns over all frames. */
  steps_max: bounded(1, 1_000, 25),
  /** Calls over all frames. */
  calls_max: bounded(1, 100_000, 1_000),
  /** Input and output tokens together, as the model reports them; 0 = no bound. */
  tokens_max: bounded(0, 1_000_000_000, 0),
  /** In the currency of the price table, which it needs; absent = no bound. A turn whose cost is not known breaches it. */
  cost_max: Schema.optionalKey(Decimal),
  /** From acceptance on, in ms; 0 = no bound. Time in which the run waits only for people does not count. */
  wall_ms_max: bounded(0, 31_536_000_000, 0),
  /** How often one call, with the same arguments, may fail; 0 = no bound. */
  repeats_max: bounded(0, 100_000, 10),
  /** Turns in a row that had only mistakes of the model: an unknown tool, bad arguments, no answer; 0 = no bound. */
  mistakes_max: bounded(0, 1_000, 10),
  /** Dispatched writes and external calls. */
  writes_max: bounded(0, 100_000, 100),
  /** Questions to people about calls, revisions included. */
  questions_max: bounded(0, 10_000, 50),
  /** Calls of one run that run at the same time. */
  calls_parallel_max: bounded(1, 256, 16),
  /** Delegations that one turn may open. */
  delegations_per_turn_max: bounded(0, 16, 2),
  /** How often the conversation may change hands in one run; absent = 4. */
  handoffs_max: Schema.optionalKey(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 64 }))),
  /** How deep specialists may delegate in turn: 1 = the supervisor's only. */
  depth_max: bounded(0, 64, 8),
  /**
   * How deep runs start one another through workflows of a host platform: a run at this depth starts no other, and none
   * begins beneath it. 0 = the agent's runs start none, and no run starts one of them.
   */
  nested_depth_max: bounded(0, 64, 4),
  on_breach: OnBreach.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("stop" as const)),
    Schema.withConstructorDefault(Effect.succeed("stop" as const))
  ),
  /** With `answer`: what is reserved of `tokens_max` and `cost_max` for the last turn; absent = a tenth. */
  answer_tokens: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))
  ),
  answer_cost: Schema.optionalKey(Decimal),
  extend_by: Schema.optionalKey(ExtendBy),
  /** How often each limit may be extended; after that a breach stops the run. */
  extensions_max: bounded(0, 100, 1)
})
throwInvalidInputInMake(RunLimits)
export interface RunLimits extends Schema.Schema.Type<typeof RunLimits> {}
