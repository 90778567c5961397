/**
 * A loop's way through SemStreams' states, for loops that speak it: forward and back until it ends, and then no more. A
 * run of ours is shown in these states by `loopOf`, and bounded by `RunLimits`.
 */
import { Result, Schema } from "effect"
import { isTerminal, LoopState } from "./Approvals.ts"

/** One iteration is one model turn. */
export interface LoopProgress {
  readonly state: LoopState
  readonly iterations: number
  readonly max_iterations: number
  /** What the loop came to, once it is complete. */
  readonly result?: string
}

export const max_iterations_default = 20
const max_iterations_most = 1_000

/** A loop before its first turn. Fails with a sentence where its bound is none. */
export const begin = (
  max_iterations: number = max_iterations_default
): Result.Result<LoopProgress, string> => {
  if (!(max_iterations > 0)) return Result.fail("max_iterations must be greater than 0")
  return Number.isSafeInteger(max_iterations) && max_iterations <= max_iterations_most
    ? Result.succeed({ state: "exploring", iterations: 0, max_iterations })
    : Result.fail(`max_iterations must be a whole number of at most ${max_iterations_most}`)
}

const isState = Schema.is(LoopState)

/**
 * Any state but a terminal one may become any other; to stay is nothing, of a terminal one too (SM-92). A state is given
 * by its name, which another runtime may have made up: one that nobody knows is refused.
 */
export const transition = (loop: LoopProgress, to: string): Result.Result<LoopProgress, string> => {
  if (!isState(to)) return Result.fail(`unknown loop state ${to}`)
  if (loop.state === to) return Result.succeed(loop)
  return isTerminal(loop.state)
    ? Result.fail(`cannot transition from terminal state ${loop.state}`)
    : Result.succeed({ ...loop, state: to })
}

/** One more turn, or why there may be none (SM-93). */
export const increment = (loop: LoopProgress): Result.Result<LoopProgress, string> =>
  loop.iterations >= loop.max_iterations
    ? Result.fail("max iterations reached")
    : Result.succeed({ ...loop, iterations: loop.iterations + 1 })

/** What a tool's result does to a loop: one that stops it is its end, with the content as its result (SM-20). */
export const receive = (
  loop: LoopProgress,
  { content = "", stop_loop }: { readonly content?: string; readonly stop_loop?: boolean }
): Result.Result<LoopProgress, string> =>
  stop_loop === true && isTerminal(loop.state)
    ? Result.fail(`cannot complete a loop from terminal state ${loop.state}`)
    : stop_loop === true
      ? Result.map(transition(loop, "complete"), (ended) => ({ ...ended, result: content }))
      : Result.succeed(loop)
