/**
 * Bounds of one run, as data. They are pinned in `RunAccepted`, reserved before the act and survive restarts.
 */
import { Effect, Schema } from "effect"

const bounded = (minimum: number, maximum: number, fallback: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(fallback)),
    Schema.withConstructorDefault(Effect.succeed(fallback))
  )

/** What a breach of `steps_max` does: fail with `recursion_limit`, or one last turn without tools. */
export const OnBreach = Schema.Literals(["stop", "answer"])

export const RunLimits = Schema.Struct({
  /** Model turns over all frames (ST-22). */
  steps_max: bounded(1, 1_000, 25),
  /** Calls over all frames. */
  calls_max: bounded(1, 100_000, 1_000),
  /** Dispatched writes and external calls. */
  writes_max: bounded(0, 100_000, 100),
  /** Questions to people, revisions included. */
  questions_max: bounded(0, 10_000, 50),
  /** Input and output tokens together, as the model reports them; 0 = no bound. */
  tokens_max: bounded(0, 1_000_000_000, 0),
  /** Calls of one run that run at the same time. */
  calls_parallel_max: bounded(1, 256, 16),
  /** Delegations that one turn may open (SA-07). */
  delegations_per_turn_max: bounded(0, 16, 2),
  on_breach: OnBreach.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("stop" as const)),
    Schema.withConstructorDefault(Effect.succeed("stop" as const))
  )
})
export interface RunLimits extends Schema.Schema.Type<typeof RunLimits> {}

/**
 * The last turn that a frame may take, counted over all frames: with `answer` the supervisor has one more than
 * `steps_max`, without tools, which no specialist may take from it.
 */
export const lastStep = (limits: RunLimits, supervisor: boolean): number =>
  supervisor && limits.on_breach === "answer" ? limits.steps_max + 1 : limits.steps_max
