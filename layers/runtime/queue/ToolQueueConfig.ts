/**
 * The bounds of a worker that takes calls from a queue. The defaults are SemStreams' transport policy. Times in ms.
 */
import { Context } from "effect"
import type { ClaimLoopConfig } from "../relay/ClaimLoop.ts"

export interface ToolQueueConfig extends ClaimLoopConfig {
  /** Deliveries of one call before it is dead. */
  readonly deliveries_max: number
  /** The lease of a claimed call. A worker that runs the call extends it after each third. */
  readonly ack_wait_ms: number
  /** The wait after the first, second, ... failed delivery of a call; the last value holds for all further ones. */
  readonly backoff_ms: ReadonlyArray<number>
  /**
   * The longest run of one delivery, whatever its tool's own timeout. The wait for the end of a lost attempt, before a tool's
   * `reconcile`, does not count.
   */
  readonly message_ms_max: number
  /** How long an offer counts as available after its last renewal. The worker renews it after each third. */
  readonly offer_ms: number
  /** The shortest time between two preliminary results of one call; only the last one in between is shown. */
  readonly show_ms: number
  /**
   * How long results are kept for those who send the same call again or look it up. More than an hour, because for that
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
