/**
 * Guards of runs, in one seed of eight: the others are what they were without them. Some verdicts are given at once and some
 * later, and each follows from its text alone, so that a text that is judged again is judged the same.
 */
import { Effect } from "effect"
import * as Guard from "../../src/agent/Guard.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { hash } from "./Kernel.ts"
import type { World } from "./World.ts"

const isGuarded = ({ seed }: World): boolean => seed % 8 === 3

/** No model is ever shown the result of a call that has this text. */
export const isRefused = (world: World, text: string): boolean =>
  isGuarded(world) && hash(world.seed, text) % 3 === 0

export const guards = (world: World): ReadonlyArray<Guard.Guard> => {
  if (!isGuarded(world)) return []
  const judge = ({ text }: Guard.Subject): Effect.Effect<Guard.Verdict> => {
    const verdict: Guard.Verdict = isRefused(world, text)
      ? { verdict: "refuse", reason: "no" }
      : { verdict: "pass" }
    const late_ms = hash(world.seed, `late ${text}`) % 500
    if (late_ms >= 250) {
      world.count("a verdict that is given at once")
      return Effect.succeed(verdict)
    }
    world.count("a verdict that is given late")
    return Effect.as(Effect.sleep(late_ms), verdict)
  }
  return [
    Guard.make({ name: "watches", on: ["message", "result", "answer"], mode: "observe", judge }),
    Guard.make({ name: "refuses", on: ["result"], judge })
  ]
}

/** What it is where a refusal is lost. */
export const pardoned = (event: RunEvent): RunEvent =>
  event._tag === "Guarded" && event.mode === "enforce" ? { ...event, verdict: "pass" } : event
