/**
 * Limits of one run, as data. They are pinned in `RunAccepted`, reserved before the act, and hold across restarts.
 *
 * Those of `LimitName` limit the run as a whole, and `on_breach` is what a breach does. The others refuse one act: the call
 * gets a result with the reason, and the run goes on.
 */
import { Schema } from "effect"
import { throwInvalidInputInMake } from "../schema/InvalidInput.ts"
import { Decimal } from "../value/Decimal.ts"
import { between, defaulted } from "../value/Bounds.ts"

const bounded = (minimum: number, maximum: number, fallback: number) =>
  defaulted(between(minimum, maximum), fallback)

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

const amount = Schema.optionalKey(between(1, 1_000_000_000_000))

/** What one approval adds; absent = the limit once more. */
const ExtendBy = Schema.Struct({
  /** Model turns, 1 or more. */
  steps_max: amount,
  /** Calls, 1 or more. */
  calls_max: amount,
  /** Tokens, 1 or more. */
  tokens_max: amount,
  /** A decimal text in the currency of the price table. */
  cost_max: Schema.optionalKey(Decimal),
  /** Time in ms, 1 or more. */
  wall_ms_max: amount,
  /** Failures, 1 or more. */
  repeats_max: amount,
  /** Turns, 1 or more. */
  mistakes_max: amount
})

/** `handoffs_max` where an agent does not say it. */
export const handoffs_max_default = 4

const runLimits = Schema.Struct({
  /** Model turns over all frames, 1 to 1,000. The reason of a run that ends by it is `recursion_limit`. Absent = 25. */
  steps_max: bounded(1, 1_000, 25),
  /** Calls over all frames, 1 to 100,000. Absent = 1,000. */
  calls_max: bounded(1, 100_000, 1_000),
  /** Input and output tokens together, as the model reports them, at most 1,000,000,000; 0 = no bound. Absent = 0. */
  tokens_max: bounded(0, 1_000_000_000, 0),
  /**
   * What the models of a run may cost: a decimal text such as `"0.50"`, in the currency of `start({ prices })`, which it needs.
   * A turn whose cost is not known breaches it (`cost_unknown`). Absent = no bound.
   */
  cost_max: Schema.optionalKey(Decimal),
  /**
   * From acceptance on, in ms, at most a year; 0 = no bound. Time in which the run waits only for people does not count. Absent
   * = 0.
   */
  wall_ms_max: bounded(0, 31_536_000_000, 0),
  /** How often one call, with the same arguments, may fail, at most 100,000; 0 = no bound. Absent = 10. */
  repeats_max: bounded(0, 100_000, 10),
  /**
   * Turns in a row that had only mistakes of the model: an unknown tool, bad arguments, no answer. At most 1,000; 0 = no bound.
   * Absent = 10.
   */
  mistakes_max: bounded(0, 1_000, 10),
  /** Dispatched writes and external calls, at most 100,000; further ones are refused (`WRITES_MAX`). Absent = 100. */
  writes_max: bounded(0, 100_000, 100),
  /**
   * Questions to people about calls, revisions included, at most 10,000; calls beyond are refused (`QUESTIONS_MAX`). Absent =
   * 50.
   */
  questions_max: bounded(0, 10_000, 50),
  /** Calls of one run that run at the same time, 1 to 256; others wait. Absent = 16. */
  calls_parallel_max: bounded(1, 256, 16),
  /** Delegations that one turn may open, at most 16; further ones are refused (`DELEGATIONS_MAX`). Absent = 2. */
  delegations_per_turn_max: bounded(0, 16, 2),
  /**
   * How often the conversation may change hands in one run, at most 64; further handoffs are refused (`HANDOFFS_MAX`). Absent =
   * 4.
   */
  handoffs_max: Schema.optionalKey(between(0, 64)),
  /**
   * How deep specialists may delegate in turn, at most 64: 1 = the supervisor's only. Deeper ones are refused (`DEPTH_MAX`).
   * Absent = 8.
   */
  depth_max: bounded(0, 64, 8),
  /**
   * How deep runs start one another through workflows of a host platform, at most 64: a run at this depth starts no other, and
   * none begins beneath it. 0 = the agent's runs start none, and no run starts one of them. Absent = 4.
   */
  nested_depth_max: bounded(0, 64, 4),
  /**
   * What a breach of a limit of the run as a whole does: `stop` fails the run, `answer` leaves the supervisor one last turn
   * without tools, `ask` asks a person whether it may go on. Absent = `stop`.
   */
  on_breach: defaulted(OnBreach, "stop"),
  /** With `answer`: what is reserved of `tokens_max` for the last turn. Absent = a tenth. */
  answer_tokens: Schema.optionalKey(between(0, 1_000_000_000)),
  /** With `answer`: what is reserved of `cost_max` for the last turn, as a decimal text. Absent = a tenth. */
  answer_cost: Schema.optionalKey(Decimal),
  /** With `ask`: what one approval adds to each limit. Absent = the limit once more. */
  extend_by: Schema.optionalKey(ExtendBy),
  /** How often each limit may be extended, at most 100; after that a breach stops the run. Absent = 1. */
  extensions_max: bounded(0, 100, 1)
})

/** The limits of a run as an author writes them: what is absent has its default. */
export interface RunLimitsInput extends Schema.Struct.MakeIn<typeof runLimits.fields> {}

/** What one run may use. `make` throws `InvalidInput` that names the member and the cure. */
export class RunLimits extends Schema.Opaque<RunLimits>()(runLimits) {
  /** The limits with all defaults. Throws `InvalidInput` that names the member and the cure. */
  declare static readonly make: (input: RunLimitsInput, options?: Schema.MakeOptions) => RunLimits
}
throwInvalidInputInMake(RunLimits, "RunLimits")
