/**
 * The bounds of a worker that takes calls from a queue. The defaults are SemStreams' transport policy. Times in ms.
 */
import { Context } from "effect"
import type { ClaimLoopConfig } from "../relay/ClaimLoop.ts"

/** How many calls a worker runs at once, and how long it holds and waits for them. */
export interface ToolQueueConfig extends ClaimLoopConfig {
  /** Calls at work at the same time, 1 to 500. Absent = 3. */
  readonly concurrency: number
  /** The longest wait before the next look for calls, in ms; a wakeup ends it earlier. Absent = 5,000. */
  readonly sweep_ms: number
  /** How long a stop waits for the calls at work before it interrupts them, in ms. Absent = 5,000. */
  readonly stop_ms: number
  /** Deliveries of one call before it is dead. Absent = 3. */
  readonly deliveries_max: number
  /** The lease of a claimed call, in ms. A worker that runs the call extends it after each third. Absent = 300,000. */
  readonly ack_wait_ms: number
  /**
   * The waits after the first, second, ... failed delivery of a call, in ms; the last value holds for all further ones. Absent =
   * 15,000 and 60,000.
   */
  readonly backoff_ms: ReadonlyArray<number>
  /**
   * The longest run of one delivery, in ms, whatever its tool's own timeout. The wait for the end of a lost attempt, before a
   * tool's `reconcile`, does not count. Absent = 600,000.
   */
  readonly message_ms_max: number
  /**
   * How long an offer counts as available after its last renewal, in ms. The worker renews it after each third. Absent = 60,000.
   */
  readonly offer_ms: number
  /**
   * The shortest time between two preliminary results of one call, in ms; only the last one in between is shown. Absent = 100.
   */
  readonly show_ms: number
  /**
   * How long results are kept for those who send the same call again or look it up, in ms. More than an hour, because for that
   * long a runtime takes a call that the queue does not know for one that was never sent. Absent = 86,400,000.
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
