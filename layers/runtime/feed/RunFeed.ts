/**
 * What one run at work here shows to those who watch its conversation. Most steps show no piece of a turn in progress, and what
 * is committed reaches watchers by the journal's listener: for neither is the conversation looked up (bench row `send`, 1,000
 * runs).
 */
import type { FrameId, RunId } from "../../../src/value/Ids.ts"
import type { ModelDelta } from "../../../services/ModelGateway.ts"
import type { Feed, ToolOutput } from "./Feed.ts"
import type { ChannelKey } from "./ChannelKey.ts"

export class RunFeed {
  readonly #feed: Feed
  readonly #key: ChannelKey
  readonly #run: RunId
  readonly #ordinal: number
  /** Pieces of a turn were shown. */
  #hasPieces = false

  constructor(feed: Feed, key: ChannelKey, run: RunId, ordinal: number) {
    this.#feed = feed
    this.#key = key
    this.#run = run
    this.#ordinal = ordinal
  }

  delta(frame: FrameId, step: number, delta: ModelDelta | ToolOutput): void {
    if (delta.kind !== "output") this.#hasPieces = true
    this.#feed.delta(this.#key, { run: this.#run, ordinal: this.#ordinal, frame, step }, delta)
  }

  /** The frame's turn is journaled. */
  endTurn(frame: FrameId): void {
    if (this.#hasPieces) this.#feed.endTurn(this.#key, this.#run, frame)
  }

  /** The run waits for people. */
  uncacheRun(): void {
    this.#feed.uncacheRun(this.#run)
  }

  /** The run's journal has so many entries, the last of which this process has committed. */
  committed(length: number): void {
    if (!this.#feed.follows(this.#run)) this.reached(length)
  }

  /** The run's journal has at least so many entries. */
  reached(length: number): void {
    this.#feed.reached(this.#key, this.#ordinal, length)
  }

  /** The run has ended, or has left this process. */
  end(): void {
    this.#feed.endRun(this.#key, this.#run)
  }

  /** All who watch the conversation read the journal. */
  wake(): void {
    this.#feed.wake(this.#key)
  }
}
