/**
 * Decides what happens to a call when its run is replayed: it gets its recorded result, its body runs, or it fails. The decision
 * is a table of three facts, so that no side effect is repeated by accident.
 */
import { Schema } from "effect"
import type { ReplayPolicy, SideEffects } from "../tool/SideEffects.ts"

/** `stub` and `recorded` give what was recorded, `run` runs the body, `fail` ends the replay. */
export type ReplayRoute = "stub" | "recorded" | "run" | "fail"

export interface Situation {
  readonly replay_policy: ReplayPolicy
  readonly side_effects: SideEffects
  /** Whether there is a recorded result for this tool and these arguments. */
  readonly recorded: boolean
}

/** The route of a call. Every combination of facts has one. */
export const routeOf = ({ recorded, replay_policy, side_effects }: Situation): ReplayRoute => {
  switch (replay_policy) {
    case "fail-loud":
      return "fail"
    case "must-stub":
      return recorded ? "stub" : "fail"
    case "recorded-result":
      if (recorded) return "recorded"
      return side_effects === "none" || side_effects === "read" ? "run" : "fail"
  }
}

/** Why a replay stopped at a call. The message says what would fix it. */
export class ReplayError extends Schema.TaggedError<ReplayError>()("ReplayError", {
  tool: Schema.String,
  /** `erased`: the recorded result was erased later. */
  reason: Schema.Literals(["fail_loud", "no_recording", "erased"]),
  message: Schema.String
}) {}

/** The error of a call whose route is `fail`. */
export const refusedReplay = (tool: string, { replay_policy }: Situation): ReplayError =>
  replay_policy === "fail-loud"
    ? new ReplayError({
        tool,
        reason: "fail_loud",
        message: `${tool} may not be replayed: its replay_policy is fail-loud.`
      })
    : new ReplayError({
        tool,
        reason: "no_recording",
        message: `nothing is recorded for this call of ${tool}, and its body may not run in a replay (${replay_policy}).`
      })

export const erasedReplay = (tool: string): ReplayError =>
  new ReplayError({
    tool,
    reason: "erased",
    message: `the recorded result of ${tool} was erased: this run can no longer be replayed past it.`
  })
