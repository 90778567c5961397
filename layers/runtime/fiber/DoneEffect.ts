/**
 * Effects that are their own result: the loop takes it, where a fiber would cost more than what it does (bench row `step`).
 */
import type { Effect, Exit } from "effect"

/** A member that exits alone have. `Exit.isExit` asks the same by a lookup that every module shares, which V8 cannot make fast. */
const exit_key = "~effect/Exit" satisfies keyof Exit.Success<unknown>

/** False also for what is no Effect, such as the number that a handler in JavaScript may give: its fiber fails. */
export const isDone = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> =>
  typeof effect === "object" && effect !== null && exit_key in effect
