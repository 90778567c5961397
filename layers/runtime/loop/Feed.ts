/**
 * Who watches which conversation in this process, and the turns in progress there. A wakeup means that the journal may have
 * more; only the text of unfinished turns, and what calls show, travel through the feed itself. A watcher that falls behind
 * loses its pieces and gets the turns in progress from their start.
 */
import { Result } from "effect"
import type { Brand } from "effect"
import { capBytes } from "../../../src/conversation/Transcript.ts"
import type { CallId, ConversationId, FrameId, RunId, Tenant } from "../../../src/Ids.ts"
import type { FeedItem } from "../../../services/AgentRuntime.ts"
import type { ModelDelta } from "../../../services/ModelGateway.ts"

export type Delta = Extract<FeedItem, { _tag: "Delta" }>

type Output = Extract<FeedItem, { _tag: "Output" }>

/** What a call shows before it ends. Encoded as JSON only where somebody watches. */
export interface ToolOutput {
  readonly kind: "output"
  readonly call: CallId
  readonly value: unknown
}

const output_bytes_max = 16_384

/** Pieces that wait for one watcher; beyond that it gets the turns in progress from their start. */
const pending_max = 256

export interface Watcher {
  /** Called when there is something to look at. */
  wake: () => void
  /** Takes what waits. The first piece of a turn has offset 0, or continues where the last one that was taken ended. */
  readonly take: () => ReadonlyArray<Delta | Output>
  readonly close: () => void
}

/** Which turn, of which run of the conversation. */
export interface TurnPosition {
  readonly run: RunId
  readonly ordinal: number
  readonly frame: FrameId
  readonly step: number
}

interface Turn extends TurnPosition {
  text: string
  reasoning: string
}

/** A conversation of one tenant. Another tenant's conversation of the same id is another channel. */
export type ChannelKey = Brand.Branded<string, "ChannelKey">

export const channelKey = (tenant: Tenant, conversation: ConversationId): ChannelKey =>
  `${tenant}/${conversation}` as ChannelKey

/** There while it is watched or has a turn in progress. */
class Channel {
  readonly watchers = new Set<ChannelWatcher>()
  /** Turns in progress, by run and frame. */
  readonly turns = new Map<string, Turn>()

  get isUnused(): boolean {
    return this.watchers.size === 0 && this.turns.size === 0
  }

  publish(piece: Delta | Output): void {
    for (const watcher of this.watchers) watcher.push(piece)
  }

  /** The turns in progress, each from its start. */
  get inProgress(): Array<Delta | Output> {
    return [...this.turns.values()].flatMap(wholeTurn)
  }
}

class ChannelWatcher implements Watcher {
  readonly #channel: Channel
  readonly #onClose: (watcher: ChannelWatcher) => void
  #waiting: Array<Delta | Output>
  wake: () => void

  constructor(channel: Channel, wake: () => void, onClose: (watcher: ChannelWatcher) => void) {
    this.#channel = channel
    this.#onClose = onClose
    this.#waiting = channel.inProgress
    this.wake = wake
  }

  push(piece: Delta | Output): void {
    if (this.#waiting.length <= pending_max) this.#waiting.push(piece)
    this.wake()
  }

  readonly take = (): ReadonlyArray<Delta | Output> => {
    const taken = this.#waiting
    this.#waiting = []
    return taken.length > pending_max ? this.#channel.inProgress : taken
  }

  readonly close = (): void => this.#onClose(this)
}

export class Feed {
  readonly #channels = new Map<ChannelKey, Channel>()

  /** Conversations that are watched or have a turn in progress. */
  get size(): number {
    return this.#channels.size
  }

  /** Calls `wake` from now on, until the watcher is closed. */
  watch(key: ChannelKey, wake: () => void): Watcher {
    const channel = this.#open(key)
    const watcher = new ChannelWatcher(channel, wake, (closed) => {
      channel.watchers.delete(closed)
      this.#closeIfUnused(key, channel)
    })
    channel.watchers.add(watcher)
    return watcher
  }

  /** The journal of the conversation may have more. */
  wake(key: ChannelKey): void {
    const channel = this.#channels.get(key)
    if (channel !== undefined) for (const watcher of channel.watchers) watcher.wake()
  }

  /** A piece of a turn in progress, or what a call shows. */
  delta(key: ChannelKey, position: TurnPosition, delta: ModelDelta | ToolOutput): void {
    if (delta.kind === "output") return this.#output(key, position, delta)
    const channel = this.#open(key)
    const id = `${position.run}/${position.frame}`
    let turn = channel.turns.get(id)
    if (turn === undefined || turn.step !== position.step) {
      turn = { ...position, text: "", reasoning: "" }
      channel.turns.set(id, turn)
    }
    turn[delta.kind] = turn[delta.kind].slice(0, delta.offset) + delta.text
    channel.publish({ _tag: "Delta", ...position, ...delta })
  }

  #output(key: ChannelKey, position: TurnPosition, { call, value }: ToolOutput): void {
    const channel = this.#channels.get(key)
    if (channel === undefined || channel.watchers.size === 0) return
    const text = outputText(value)
    if (text !== undefined) channel.publish({ _tag: "Output", ...position, call, text })
  }

  /** The frame's turn is journaled, or will not be. */
  endTurn(key: ChannelKey, run: RunId, frame: FrameId): void {
    const channel = this.#channels.get(key)
    if (channel?.turns.delete(`${run}/${frame}`) === true) this.#closeIfUnused(key, channel)
  }

  /** The run has ended, or has left this process. */
  endRun(key: ChannelKey, run: RunId): void {
    const channel = this.#channels.get(key)
    if (channel === undefined) return
    for (const id of channel.turns.keys()) if (id.startsWith(`${run}/`)) channel.turns.delete(id)
    this.#closeIfUnused(key, channel)
  }

  #open(key: ChannelKey): Channel {
    const found = this.#channels.get(key)
    if (found !== undefined) return found
    const channel = new Channel()
    this.#channels.set(key, channel)
    return channel
  }

  #closeIfUnused(key: ChannelKey, channel: Channel): void {
    if (channel.isUnused) this.#channels.delete(key)
  }
}

const wholeTurn = ({ reasoning, text, ...position }: Turn): ReadonlyArray<Delta> => {
  const pieces: Array<Delta> = []
  if (reasoning !== "") {
    pieces.push({ _tag: "Delta", ...position, kind: "reasoning", text: reasoning, offset: 0 })
  }
  if (text !== "") pieces.push({ _tag: "Delta", ...position, kind: "text", text, offset: 0 })
  return pieces
}

/** Undefined if it is no JSON. */
const outputText = (value: unknown): string | undefined => {
  const text = Result.try(() => JSON.stringify(value) as string | undefined)
  return Result.isSuccess(text) && text.success !== undefined
    ? capBytes(text.success, output_bytes_max)
    : undefined
}
