/**
 * How a worker takes calls from a queue; the defaults are SemStreams' transport policy. All in ms unless the name says
 * otherwise.
 */
import { Context } from "effect"
import type { ClaimLoopConfig } from "../relay/ClaimLoop.ts"

export interface ToolQueueConfig extends ClaimLoopConfig {
  /** How often a call is delivered before it is dead. */
  readonly deliveries_max: number
  /** How long a call belongs to a worker that says nothing more of it. A working one says so three times as often. */
  readonly ack_wait_ms: number
  /** How long a call waits after its first, second, ... failed delivery; the last value holds for all further ones. */
  readonly backoff_ms: ReadonlyArray<number>
  /** The longest that one delivery may work, whatever its tool says. */
  readonly message_ms_max: number
  /** How long what a worker offers counts as there after it was last heard of; it is heard three times as often. */
  readonly offer_ms: number
  /** The shortest time between two things that a call shows before its end; what comes faster is left out. */
  readonly show_ms: number
  /**
   * How long results are kept for whoever sends the same call again, or asks for it; more than an hour, because for that
   * long a runtime takes a call that the queue does not know for one that was never sent.
   */
  readonly result_ms: number
}

export const ToolQueueConfig = Context.Reference<ToolQueueConfig>(
  "troupe/layers/runtime/queue/ToolQueueConfig",
  {
    defaultValue: () => ({
      concurrency: 3,
      deliveries_max: 3,
      ack_wait_ms: 300_000,
      backoff_ms: [15_000, 60_000],
      message_ms_max: 600_000,
      sweep_ms: 5_000,
      stop_ms: 5_000,
      offer_ms: 60_000,
      show_ms: 100,
      result_ms: 86_400_000
    })
  }
)
