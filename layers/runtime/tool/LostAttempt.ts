/**
 * How long an attempt of a reconcilable write may act, and the wait until a lost one cannot act any more. Each process
 * measures by its own monotonic clock, because a wall clock that was set ahead would make an attempt seem over that still
 * acts.
 */
import { Clock, Effect } from "effect"
import type { AgentTool } from "./CallHost.ts"

/** A dispatch that takes longer than this begins no body: a later owner may reconcile the call by then. */
const dispatch_ms_max = 5_000

/** The longest time between the beginning of a dispatch and that of its body, in ms. */
export const dispatchGraceMs = ({ spec }: AgentTool): number =>
  Math.min(spec.timeout_ms, dispatch_ms_max)

/** The longest time between the beginning of a dispatch and the end of its body, in ms. */
export const attemptMs = (tool: AgentTool): number => dispatchGraceMs(tool) + tool.spec.timeout_ms

/**
 * Waits until an attempt of an earlier owner is over: as long as an attempt can take, from now on, because that owner
 * dispatches nothing any more. `over_at`, in ms since 1970, shortens nothing; it lengthens the wait, up to twice, where the
 * tool's timeout was longer then.
 */
export const waitUntilOver = Effect.fnUntraced(function* (tool: AgentTool, over_at: number) {
  const left_ms = over_at - (yield* Clock.currentTimeMillis)
  const attempt_ms = attemptMs(tool)
  yield* Effect.sleep(Math.max(attempt_ms, Math.min(left_ms, 2 * attempt_ms)))
})
