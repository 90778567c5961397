/**
 * Effects that are their own result: the loop takes it, where a fiber would cost more than what it does (bench row `step`).
 */
import type { Effect } from "effect"
import { Exit } from "effect"

export const isDone = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> =>
  Exit.isExit(effect)
