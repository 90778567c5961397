/**
 * Who watches which conversation in this process, what this process has committed there, and the turns in progress. Watchers
 * get committed entries from here, and read the journal for what others wrote. A watcher that falls behind loses what waits
 * for it: it reads the journal, and gets the turns in progress from their start. Nothing is kept for a conversation that nobody
 * watches, except its turns in progress and the entries of a short run at work here.
 */
import { Result } from "effect"
import { capBytes } from "../../../src/conversation/Transcript.ts"
import type { CallId, ConversationId, FrameId, RunId, Tenant } from "../../../src/value/Ids.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import type { ModelDelta } from "../../../services/ModelGateway.ts"
import type { CommitListener, Committed } from "../../../services/RunNews.ts"
import { ShortRunCache } from "./ShortRunCache.ts"
import { CommittedQueue, waiting_bounds } from "./CommittedQueue.ts"
import { BufferQuota, boundsWithin } from "./BufferQuota.ts"
import type { ChannelKey } from "./ChannelKey.ts"
import { channelKey } from "./ChannelKey.ts"

export type Delta = Extract<FeedItem, { _tag: "Delta" }>

type Output = Extract<FeedItem, { _tag: "Output" }>

/** What a call shows before it ends. Encoded as JSON only where somebody watches. */
export interface ToolOutput {
  readonly kind: "output"
  readonly call: CallId
  readonly value: unknown
}

const output_bytes_max = 16_384

/** Pieces that wait for one watcher, and their UTF-16 units; beyond that it gets the turns in progress from their start. */
const pending_max = 256
const pending_units_max = 1_000_000
/** What a piece counts for beside its text. */
const piece_units = 200

/** Runs of a conversation that are followed: one is at work, and as many wait as its mailbox takes. */
const followed_max = 1_024

/** Woken when there is something to look at. `isUnknown`: the journal may have what the watcher's queue knows nothing of. */
export interface WakeWatcher {
  /** It waits for a run's outcome: not woken for other entries until 16 wait, and given no pieces of turns in progress. */
  readonly isPatient?: boolean
  wake(isUnknown: boolean): void
}

export interface Watcher {
  /** What was committed here, from the moment that its run is followed. */
  readonly committed: CommittedQueue
  /** All entries of the run with this ordinal, if it is at work here and they are few; undefined = read the journal. */
  readonly cachedRun: (ordinal: number) => ReturnType<ShortRunCache["get"]>
  /** From now on what this process appends to the run reaches the queues of all watchers of the conversation. */
  readonly follow: (run: RunId, ordinal: number) => void
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

/** There while it is watched or has a turn in progress. */
class Channel {
  readonly watchers = new Set<ChannelWatcher>()
  /** Runs that are followed; none while nobody watches. */
  readonly followed = new Set<RunId>()
  /** Turns in progress, by run and frame; undefined until the first one shows a piece. */
  turns: Map<string, Turn> | undefined

  get isUnused(): boolean {
    return this.watchers.size === 0 && (this.turns === undefined || this.turns.size === 0)
  }

  publish(piece: Delta | Output): void {
    for (const watcher of this.watchers) watcher.push(piece)
  }

  wake(isUnknown: boolean): void {
    for (const watcher of this.watchers) watcher.wake(isUnknown)
  }

  /** The turns in progress, each from its start. */
  get inProgress(): Array<Delta | Output> {
    return this.turns === undefined ? [] : [...this.turns.values()].flatMap(wholeTurn)
  }
}

class ChannelWatcher {
  readonly committed: CommittedQueue
  readonly #reader: WakeWatcher
  readonly #channel: Channel
  readonly #tenant: Tenant
  readonly #quota: BufferQuota
  #waiting: Array<Delta | Output>
  #units = 0
  /** What waited was dropped: the turns in progress are given from their start. */
  #isBehind = false

  constructor(
    channel: Channel,
    reader: WakeWatcher,
    committed: CommittedQueue,
    tenant: Tenant,
    quota: BufferQuota
  ) {
    this.#channel = channel
    this.#reader = reader
    this.#waiting = this.#isPatient ? [] : channel.inProgress
    this.committed = committed
    this.#tenant = tenant
    this.#quota = quota
  }

  wake(isUnknown: boolean): void {
    this.#reader.wake(isUnknown)
  }

  get #isPatient(): boolean {
    return this.#reader.isPatient === true
  }

  push(piece: Delta | Output): void {
    if (this.#isPatient) return
    this.#hold(piece)
    this.wake(false)
  }

  pushCommitted(ordinal: number, committed: Committed): void {
    this.committed.push(ordinal, committed)
    if (!this.#isPatient || committed.mayEndWait || this.committed.isPressing) this.wake(false)
  }

  take(): ReadonlyArray<Delta | Output> {
    if (this.#isBehind) {
      this.#isBehind = false
      return this.#channel.inProgress
    }
    const taken = this.#waiting
    if (taken.length > 0) this.drop()
    return taken
  }

  /** What waits is dropped. */
  drop(): void {
    this.#quota.release(this.#tenant, this.#units)
    this.#units = 0
    this.#waiting = []
  }

  #hold(piece: Delta | Output): void {
    if (this.#isBehind) return
    const units = piece.text.length + piece_units
    const hasRoom = this.#waiting.length < pending_max && this.#units + units <= pending_units_max
    if (hasRoom && this.#quota.reserve(this.#tenant, units) === undefined) {
      this.#units += units
      this.#waiting.push(piece)
    } else {
      this.drop()
      this.#isBehind = true
    }
  }
}

interface FollowedRun {
  readonly channel: Channel
  readonly ordinal: number
}

export class Feed {
  readonly #channels = new Map<ChannelKey, Channel>()
  readonly #followed = new Map<RunId, FollowedRun>()
  readonly #quota: BufferQuota
  readonly #shortRuns: ShortRunCache

  #isClosed = false

  /** `bytes_max`: what the runs at work may take. What waits for watchers may have an eighth as many units. */
  constructor(bytes_max = Infinity) {
    this.#quota = new BufferQuota(boundsWithin(waiting_bounds, bytes_max / 8))
    this.#shortRuns = new ShortRunCache(bytes_max / 32)
  }

  /** Nothing more is given. */
  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Conversations that are watched or have a turn in progress. */
  get size(): number {
    return this.#channels.size
  }

  /** Runs that are followed because somebody watches their conversation. */
  get followed(): number {
    return this.#followed.size
  }

  /** Tenants for whose watchers something waits. */
  get waiting(): number {
    return this.#quota.tenants
  }

  /** For the journal: queues what it has made durable, and wakes those who watch. */
  readonly listener: CommitListener = {
    accepts: (run) => this.#followed.has(run) || this.#shortRuns.has(run),
    onCommitted: (committed) => {
      this.#shortRuns.add(committed)
      this.#queue(committed)
    }
  }

  /** Wakes the reader from now on, until the watcher is closed. */
  watch(tenant: Tenant, conversation: ConversationId, reader: WakeWatcher): Watcher {
    const key = channelKey(tenant, conversation)
    const channel = this.#open(key)
    const committed = new CommittedQueue(tenant, this.#quota)
    const watcher = new ChannelWatcher(channel, reader, committed, tenant, this.#quota)
    channel.watchers.add(watcher)
    return {
      committed,
      cachedRun: (ordinal) => this.#shortRuns.get(key, ordinal),
      follow: (run, ordinal) => this.#follow(channel, run, ordinal),
      take: () => watcher.take(),
      close: () => {
        channel.watchers.delete(watcher)
        committed.close()
        watcher.drop()
        if (channel.watchers.size > 0) return
        for (const run of channel.followed) this.#unfollow(channel, run)
        this.#closeIfUnused(key, channel)
      }
    }
  }

  /** If the conversation is watched: what is appended to the run from now on is queued for its watchers. */
  follow(key: ChannelKey, run: RunId, ordinal: number): void {
    const channel = this.#channels.get(key)
    if (channel !== undefined && channel.watchers.size > 0) this.#follow(channel, run, ordinal)
  }

  /** Do watchers of the run's conversation get what this process appends to it? */
  follows(run: RunId): boolean {
    return this.#followed.has(run)
  }

  /** Keeps all entries of a run that is at work here, for those who begin to watch it. */
  cacheRun(key: ChannelKey, ordinal: number, committed: Committed): void {
    this.#shortRuns.set(key, ordinal, committed)
  }

  /** Not any more: the run waits for people, and another process may know of their answer first. */
  uncacheRun(run: RunId): void {
    this.#shortRuns.delete(run)
  }

  /** The run's journal has at least so many entries. Whoever has not got them takes them, or reads the journal. */
  reached(key: ChannelKey, ordinal: number, length: number): void {
    const channel = this.#channels.get(key)
    if (channel === undefined) return
    for (const watcher of channel.watchers) {
      if (watcher.committed.reached(ordinal, length)) watcher.wake(false)
    }
  }

  /** The journal of the conversation may have what was not committed here, or does not fold: all its watchers read it. */
  wake(key: ChannelKey): void {
    this.#channels.get(key)?.wake(true)
  }

  /** Wakes all watchers, for the last time. */
  close(): void {
    this.#isClosed = true
    for (const channel of this.#channels.values()) channel.wake(false)
  }

  /** What waits for watchers of the conversation, or of all, was written over: they read the journal. */
  forget(key: ChannelKey | undefined): void {
    this.#shortRuns.deleteAll(key)
    for (const [each, channel] of this.#channels) {
      if (key !== undefined && each !== key) continue
      for (const { committed } of channel.watchers) committed.drop()
      channel.wake(true)
    }
  }

  /** A piece of a turn in progress, or what a call shows. */
  delta(key: ChannelKey, position: TurnPosition, delta: ModelDelta | ToolOutput): void {
    if (delta.kind === "output") return this.#output(key, position, delta)
    const channel = this.#open(key)
    const id = `${position.run}/${position.frame}`
    const turns = (channel.turns ??= new Map<string, Turn>())
    let turn = turns.get(id)
    if (turn === undefined || turn.step !== position.step) {
      turn = { ...position, text: "", reasoning: "" }
      turns.set(id, turn)
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
    if (channel?.turns?.delete(`${run}/${frame}`) === true) this.#closeIfUnused(key, channel)
  }

  /** The run has ended, or has left this process. */
  endRun(key: ChannelKey, run: RunId): void {
    this.#shortRuns.delete(run)
    const channel = this.#channels.get(key)
    if (channel === undefined) return
    const { turns } = channel
    for (const id of turns?.keys() ?? []) if (id.startsWith(`${run}/`)) turns?.delete(id)
    this.#closeIfUnused(key, channel)
  }

  #follow(channel: Channel, run: RunId, ordinal: number): void {
    const [oldest] = channel.followed
    if (channel.followed.size >= followed_max && oldest !== undefined) {
      this.#unfollow(channel, oldest)
    }
    channel.followed.add(run)
    this.#followed.set(run, { channel, ordinal })
  }

  #unfollow(channel: Channel, run: RunId): void {
    if (channel.followed.delete(run)) this.#followed.delete(run)
  }

  #queue(committed: Committed): void {
    const followed = this.#followed.get(committed.run)
    if (followed === undefined) return
    const { channel, ordinal } = followed
    for (const watcher of channel.watchers) watcher.pushCommitted(ordinal, committed)
    // Not sooner: who has read the end in the journal may be ahead of what others are given here.
    if (committed.isEnd) this.#unfollow(channel, committed.run)
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
