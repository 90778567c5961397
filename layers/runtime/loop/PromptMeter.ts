/**
 * Counts the tokens of one run's prompts. Each entry is counted once, when it is new, and only where its number of characters
 * does not already show that the prompt fits: a step costs the same at message 10 and at message 1,000 (bench row `history`).
 */
import type { Chapter, Past, ShownPast } from "../../../src/conversation/Compaction.ts"
import { no_past, shownChapter, shownPast } from "../../../src/conversation/Compaction.ts"
import type { Prompt } from "../../../src/conversation/CompactionPlan.ts"
import { chapters_max } from "../../../src/conversation/CompactionPlan.ts"
import type { HistoryCut } from "../../../src/conversation/Cut.ts"
import type { Measure } from "../../../src/conversation/TokenEstimate.ts"
import { entryMost, entrySize, sizeOf } from "../../../src/conversation/PromptSize.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { FrameId } from "../../../src/value/Ids.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { FrameState, RunState } from "../../../src/run/RunState.ts"
import { memoryEntry } from "./PromptMemory.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { Tokenizer } from "../../../services/Tokenizer.ts"

/** What is the same at every turn of an agent. */
interface AgentWeights {
  readonly measure: Measure
  /** Tokens of its instructions and tools. */
  readonly fixed: number
}

/** Counts that all runs of a runtime share. */
export interface Weights {
  readonly of: (agent: ResolvedAgent) => AgentWeights
}

export const make = (tokenizer: Tokenizer): Weights => ({
  of: memoised((agent) => {
    const { instructions, model } = agent.spec
    const measure: Measure = (text) => tokenizer.count(text, model)
    const fixed = measure(instructions) + measure(JSON.stringify(agent.modelTools))
    return { measure, fixed }
  })
})

/** Tokens of an earlier run as a whole, counted once however many runs are shown it (bench row `http`). */
const chapterTokens = (chapter: Chapter, measure: Measure): number =>
  (chapter.tokens ??= sizeOf(chapter.entries, measure))

/** Of one transcript: the `tokens` of its first `counted` entries, and an upper bound `most` of those from there to `seen`. */
interface TranscriptCount {
  readonly of: ReadonlyArray<TranscriptEntry>
  tokens: number
  counted: number
  most: number
  seen: number
}

interface ShownHistory {
  readonly cut: HistoryCut | undefined
  readonly past: ShownPast
}

/** A prompt that the provider has refused as too long: the next one may have this share of its size. */
const of_refused = 0.9

/** What a prompt of the frame may have at most, in tokens. */
export const contextMax = (agent: ResolvedAgent, frame: FrameState): number =>
  frame.tokens_refused === undefined
    ? agent.spec.context_tokens_max
    : Math.min(agent.spec.context_tokens_max, Math.floor(frame.tokens_refused * of_refused))

const mostOf = (entry: TranscriptEntry | undefined): number =>
  entry === undefined ? 0 : entryMost(entry)

const nothing: ReadonlyArray<TranscriptEntry> = []
const unseen: TranscriptCount = { of: nothing, tokens: 0, counted: 0, most: 0, seen: 0 }

export class PromptMeter {
  readonly #weights: Weights
  readonly #past: Past
  #shown: ShownHistory | undefined
  /** Of the last turn. */
  #agent: ResolvedAgent | undefined
  #agentWeights: AgentWeights | undefined
  /** The history and what the run was told of memory. */
  #historyWithMemory: ReadonlyArray<TranscriptEntry> | undefined
  /** The supervisor's transcript, and those of specialists. */
  #root: TranscriptCount = unseen
  #others: Map<FrameId, TranscriptCount> | undefined

  constructor(weights: Weights, past: Past) {
    this.#weights = weights
    this.#past = past
  }

  /** What the supervisor's frame is shown of the conversation before the run and of memory: the same list until it is cut. */
  history(state: RunState, frame: FrameState): ReadonlyArray<TranscriptEntry> {
    if (frame.id !== rootFrame) return nothing
    const known = this.#shown
    const hasPast = this.#past !== no_past || state.past !== undefined
    const entries = hasPast ? this.#history(state).past.entries : nothing
    if (state.recalled === undefined) return entries
    if (this.#historyWithMemory === undefined || known !== this.#shown) {
      const memory = memoryEntry(state.recalled)
      this.#historyWithMemory = memory === undefined ? entries : [...entries, memory]
    }
    return this.#historyWithMemory
  }

  /** May the frame's prompt have files? */
  hasFiles(state: RunState, frame: FrameState): boolean {
    return state.hasFiles || (frame.id === rootFrame && this.#past.hasFiles === true)
  }

  #history(state: RunState): ShownHistory {
    const cut = state.past ?? this.#past.cut
    if (this.#shown === undefined || this.#shown.cut !== cut) {
      this.#shown = { cut, past: this.#shownPast(cut) }
    }
    return this.#shown
  }

  #shownPast(cut: HistoryCut | undefined): ShownPast {
    const past = this.#past
    if (past === no_past || cut !== past.cut) return { entries: shownPast({ ...past, cut }) }
    return (past.shown ??= { entries: shownPast(past) })
  }

  #historyTokens({ cut, past }: ShownHistory, measure: Measure): number {
    return (past.tokens ??= this.#counted(cut, past, measure))
  }

  #counted(cut: HistoryCut | undefined, { without_newest }: ShownPast, measure: Measure): number {
    const { chapters } = this.#past
    const newest = chapters.at(-1)
    if (without_newest !== undefined && newest !== undefined) {
      return without_newest + chapterTokens(newest, measure)
    }
    let tokens = sizeOf(shownPast({ chapters: [], cut }), measure)
    for (const chapter of chapters) {
      if (cut === undefined || chapter.ordinal > cut.dropped) {
        const entries = shownChapter(chapter, cut)
        tokens +=
          entries === chapter.entries ? chapterTokens(chapter, measure) : sizeOf(entries, measure)
      }
    }
    return tokens
  }

  /** The prompt of the frame's next turn is beyond its agent's bounds. */
  isOver(state: RunState, agent: ResolvedAgent, frame: FrameState): boolean {
    const { fixed, measure } = this.#weightsOf(agent)
    const most = contextMax(agent, frame)
    let before = fixed + (frame.id === rootFrame ? (state.recalled?.tokens ?? 0) : 0)
    if (frame.id === rootFrame && this.#past !== no_past) {
      const shown = this.#history(state)
      const tokens = this.#historyTokens(shown, measure)
      if (tokens > agent.spec.history_tokens_max || this.#chapters(shown.cut) > chapters_max)
        return true
      before += tokens
    }
    return before + this.#transcriptTokens(frame, measure, most - before) > most
  }

  /** The tokens of the prompt of the frame's next turn. */
  tokens(state: RunState, agent: ResolvedAgent, frame: FrameState): number {
    const { fixed, measure } = this.#weightsOf(agent)
    const own = this.#transcriptTokens(frame, measure, -1)
    if (frame.id !== rootFrame) return fixed + own
    const past = this.#past === no_past ? 0 : this.#historyTokens(this.#history(state), measure)
    return fixed + (state.recalled?.tokens ?? 0) + past + own
  }

  #chapters(cut: HistoryCut | undefined): number {
    const { chapters } = this.#past
    return cut === undefined || chapters.length <= chapters_max
      ? chapters.length
      : chapters.filter((each) => each.ordinal > cut.dropped).length
  }

  /** At least the tokens of the frame's own transcript. Entries are counted one by one until this bound is within `room`. */
  #transcriptTokens(frame: FrameState, measure: Measure, room: number): number {
    const { transcript } = frame
    const own = this.#countOf(frame)
    for (; own.seen < transcript.length; own.seen++) own.most += mostOf(transcript[own.seen])
    for (; own.tokens + own.most > room && own.counted < own.seen; own.counted++) {
      const entry = transcript[own.counted]
      own.most -= mostOf(entry)
      if (entry !== undefined) own.tokens += entrySize(entry, measure)
    }
    return own.tokens + own.most
  }

  #countOf({ id, transcript }: FrameState): TranscriptCount {
    const known = id === rootFrame ? this.#root : this.#others?.get(id)
    if (known !== undefined && known.of === transcript) return known
    const own = { of: transcript, tokens: 0, counted: 0, most: 0, seen: 0 }
    if (id === rootFrame) this.#root = own
    else (this.#others ??= new Map()).set(id, own)
    return own
  }

  /** The prompt as a plan looks at it. */
  prompt(state: RunState, agent: ResolvedAgent, frame: FrameState): Prompt {
    const past: Past =
      frame.id === rootFrame
        ? { chapters: this.#past.chapters, cut: state.past ?? this.#past.cut }
        : { chapters: [], cut: undefined }
    return {
      fixed:
        this.#weightsOf(agent).fixed + (frame.id === rootFrame ? (state.recalled?.tokens ?? 0) : 0),
      past,
      transcript: frame.transcript,
      cut: frame.cut,
      step: frame.step
    }
  }

  #weightsOf(agent: ResolvedAgent): AgentWeights {
    if (this.#agentWeights !== undefined && this.#agent === agent) return this.#agentWeights
    this.#agent = agent
    return (this.#agentWeights = this.#weights.of(agent))
  }

  measure(agent: ResolvedAgent): Measure {
    return this.#weightsOf(agent).measure
  }
}
