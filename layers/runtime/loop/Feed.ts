/**
 * Who watches which conversation in this process, and the turns in progress. A wakeup says that the journal has more; only
 * text of an unfinished turn travels here. Nothing is kept for a watcher that does not keep up: it is shown the turn
 * from its start again.
 */
import { Result } from "effect"
import type { Brand } from "effect"
import { capBytes } from "../../../src/conversation/Transcript.ts"
import type { CallId, ConversationId, FrameId, RunId, Tenant } from "../../../src/Ids.ts"
import type { FeedItem } from "../../../services/AgentRuntime.ts"
import type { ModelDelta } from "../../../services/ModelGateway.ts"

export type Delta = Extract<FeedItem, { _tag: "Delta" }>

type Output = Extract<FeedItem, { _tag: "Output" }>

/** What a call shows before it ends. Written as JSON only where somebody watches. */
export interface ToolOutput {
  readonly kind: "output"
  readonly call: CallId
  readonly value: unknown
}

const output_bytes_max = 16_384

/** Undefined if it is no JSON. */
const outputText = (value: unknown): string | undefined => {
  const text = Result.try(() => JSON.stringify(value) as string | undefined)
  return Result.isSuccess(text) && text.success !== undefined
    ? capBytes(text.success, output_bytes_max)
    : undefined
}

/** Pieces that wait for one watcher; beyond that it gets the turn anew. */
const pending_max = 256

export interface Watcher {
  /** Called when there is something to look at. */
  wake: () => void
  /** Takes what waits; each turn's first piece has offset 0, or goes on where the last one ended. */
  readonly take: () => ReadonlyArray<Delta | Output>
  readonly close: () => void
}

interface Turn {
  readonly run: RunId
  readonly ordinal: number
  readonly frame: FrameId
  readonly step: number
  text: string
  reasoning: string
}

interface Channel {
  readonly watchers: Set<(piece: Delta | Output | undefined) => void>
  /** Turns in progress, by run and frame. */
  readonly turns: Map<string, Turn>
}

/** A conversation of one tenant: what another has under the same id is another place. */
export type Place = Brand.Branded<string, "Place">

export const placeOf = (tenant: Tenant, conversation: ConversationId): Place =>
  `${tenant}/${conversation}` as Place

export interface Feed {
  readonly watch: (at: Place, wake: () => void) => Watcher
  readonly wake: (at: Place) => void
  readonly delta: (
    at: Place,
    place: Pick<Turn, "run" | "ordinal" | "frame" | "step">,
    delta: ModelDelta | ToolOutput
  ) => void
  /** The turn is journaled, or will not be: its pieces are over. */
  readonly turned: (at: Place, run: RunId, frame: FrameId) => void
  /** The run is over, or left this process. */
  readonly left: (at: Place, run: RunId) => void
  /** Conversations that are watched or have a turn in progress. */
  readonly size: () => number
}

const pieces = (turn: Turn): ReadonlyArray<Delta> => {
  const { reasoning, text, ...place } = turn
  const found: Array<Delta> = []
  if (reasoning !== "")
    found.push({ _tag: "Delta", ...place, kind: "reasoning", text: reasoning, offset: 0 })
  if (text !== "") found.push({ _tag: "Delta", ...place, kind: "text", text, offset: 0 })
  return found
}

export const make = (): Feed => {
  const channels = new Map<Place, Channel>()

  const open = (at: Place): Channel => {
    const found = channels.get(at)
    if (found !== undefined) return found
    const channel: Channel = { watchers: new Set(), turns: new Map() }
    channels.set(at, channel)
    return channel
  }

  const closeIfUnused = (at: Place, channel: Channel) => {
    if (channel.watchers.size === 0 && channel.turns.size === 0) channels.delete(at)
  }

  const shown = (
    at: Place,
    place: Pick<Turn, "run" | "ordinal" | "frame" | "step">,
    { call, value }: ToolOutput
  ): void => {
    const watchers = channels.get(at)?.watchers
    if (watchers === undefined || watchers.size === 0) return
    const text = outputText(value)
    if (text === undefined) return
    const item: Output = { _tag: "Output", ...place, call, text }
    for (const tell of watchers) tell(item)
  }

  return {
    size: () => channels.size,
    wake: (at) => {
      const channel = channels.get(at)
      if (channel !== undefined) for (const tell of channel.watchers) tell(undefined)
    },
    delta: (at, place, delta) => {
      if (delta.kind === "output") return shown(at, place, delta)
      const channel = open(at)
      const key = `${place.run}/${place.frame}`
      let turn = channel.turns.get(key)
      if (turn === undefined || turn.step !== place.step) {
        turn = { ...place, text: "", reasoning: "" }
        channel.turns.set(key, turn)
      }
      turn[delta.kind] = turn[delta.kind].slice(0, delta.offset) + delta.text
      const item: Delta = { _tag: "Delta", ...place, ...delta }
      for (const tell of channel.watchers) tell(item)
    },
    turned: (at, run, frame) => {
      const channel = channels.get(at)
      if (channel?.turns.delete(`${run}/${frame}`) === true) closeIfUnused(at, channel)
    },
    left: (at, run) => {
      const channel = channels.get(at)
      if (channel === undefined) return
      for (const key of channel.turns.keys())
        if (key.startsWith(`${run}/`)) channel.turns.delete(key)
      closeIfUnused(at, channel)
    },
    watch: (at, wake) => {
      const channel = open(at)
      const partial = () => [...channel.turns.values()].flatMap(pieces)
      let waiting: Array<Delta | Output> = partial()
      const watcher: Watcher = {
        wake,
        take: () => {
          const taken = waiting
          waiting = []
          return taken.length > pending_max ? partial() : taken
        },
        close: () => {
          channel.watchers.delete(tell)
          closeIfUnused(at, channel)
        }
      }
      const tell = (piece: Delta | Output | undefined) => {
        if (piece !== undefined && waiting.length <= pending_max) waiting.push(piece)
        watcher.wake()
      }
      channel.watchers.add(tell)
      return watcher
    }
  }
}
