/**
 * Plans the cut that brings a prompt back within its bounds. Each cut goes down to half of the room, so cuts are rare and the
 * prompt only grows at its end between them, which providers' caches need.
 */
import type { Past } from "./Compaction.ts"
import {
  capped_units_min,
  cappedEntry,
  cutTranscript,
  withElidedResults,
  frameNote,
  historyNote,
  isCappable,
  shownChapter,
  shownPast,
  stepsOf
} from "./Compaction.ts"
import type { FrameCut, HistoryCut } from "./Cut.ts"
import type { Measure } from "./TokenEstimate.ts"
import { entrySize, sizeOf } from "./PromptSize.ts"
import type { TranscriptEntry } from "./Transcript.ts"
import { defined } from "../value/PlainObject.ts"

/** The greatest number of earlier runs in a prompt, however short they are. */
export const chapters_max = 100

/** The parts of a prompt before a turn. */
export interface Prompt {
  /** The tokens of the parts that are never cut: system text and tools. */
  readonly fixed: number
  readonly past: Past
  readonly transcript: ReadonlyArray<TranscriptEntry>
  readonly cut: FrameCut | undefined
  /** The number of steps that the frame has taken. */
  readonly step: number
}

export interface Bounds {
  /** The bound of the whole prompt, in tokens. */
  readonly context_tokens_max: number
  /** The bound of the conversation before the run, in tokens. */
  readonly history_tokens_max: number
  /**
   * The tokens reserved for a summary of everything that is dropped. 0 = there is no summary, and results are shortened before
   * whole runs and steps are dropped.
   */
  readonly summary_tokens_max: number
  /** True = the provider has refused the prompt as too long, so it is cut even if it is within the bounds. */
  readonly refused: boolean
}

export interface Plan {
  readonly history: HistoryCut | undefined
  readonly own: FrameCut | undefined
  readonly tokens_before: number
  readonly tokens_after: number
  /** The entries that this cut drops, oldest first, including the notes of earlier cuts. */
  readonly dropped: ReadonlyArray<TranscriptEntry>
}

/** One part that can be cut: a run of the past, or a step of the frame. */
interface Unit {
  readonly of: "history" | "own"
  readonly at: number
  readonly entries: ReadonlyArray<TranscriptEntry>
  tokens: number
  shown: "whole" | "elided" | "dropped"
}

/** The tokens reserved for the note on what was dropped. */
const note_tokens = 48

/** Tracks a prompt's units, and its size while units are elided and dropped. */
class Shrinking {
  readonly history: ReadonlyArray<Unit>
  readonly own: ReadonlyArray<Unit>
  readonly #measure: Measure
  /**
   * The size of everything outside the units and the history: the note of the frame's cut, the run's message, system text and
   * tools.
   */
  #rest: number
  historyTokens: number
  #ownTokens = 0

  constructor(prompt: Prompt, measure: Measure) {
    this.#measure = measure
    const { cut, chapters } = prompt.past
    const unit = (of: Unit["of"], at: number, entries: Unit["entries"]): Unit => ({
      of,
      at,
      entries,
      tokens: sizeOf(entries, measure),
      shown: "whole"
    })
    this.history = chapters
      .filter((each) => each.ordinal > (cut?.dropped ?? 0))
      .map((each) => unit("history", each.ordinal, shownChapter(each, cut)))
    this.own = stepsOf(prompt.transcript, prompt.step, prompt.cut).map((each) =>
      unit("own", each.step, each.entries)
    )
    const past = historyNote(cut)
    this.historyTokens = past === undefined ? 0 : entrySize(past, measure)
    for (const each of this.history) this.historyTokens += each.tokens
    const before = frameNote(prompt.cut)
    this.#rest = prompt.fixed
    for (const entry of prompt.transcript.slice(0, 1)) this.#rest += entrySize(entry, measure)
    if (before !== undefined) this.#rest += entrySize(before, measure)
    for (const each of this.own) this.#ownTokens += each.tokens
  }

  get tokens(): number {
    return this.#rest + this.historyTokens + this.#ownTokens
  }

  #less(unit: Unit, tokens: number) {
    if (unit.of === "history") this.historyTokens -= unit.tokens - tokens
    else this.#ownTokens -= unit.tokens - tokens
    unit.tokens = tokens
  }

  /** Replaces results by notes of their size, oldest first, until `enough()` is true. */
  elide(units: ReadonlyArray<Unit>, enough: () => boolean) {
    for (const unit of units) {
      if (enough()) return
      if (unit.shown !== "whole") continue
      const tokens = sizeOf(withElidedResults(unit.entries), this.#measure)
      // A unit without results counts as elided too: a cut is one number.
      unit.shown = "elided"
      this.#less(unit, tokens)
    }
  }

  /** Drops units, oldest first, until `enough()` is true. `note` is the tokens of the text that replaces them. */
  drop(units: ReadonlyArray<Unit>, note: number, enough: () => boolean) {
    let noted = false
    for (const unit of units) {
      if (unit.shown === "dropped") {
        noted = true
        continue
      }
      if (enough()) return
      if (!noted) this.#rest += note
      noted = true
      unit.shown = "dropped"
      this.#less(unit, 0)
    }
  }
}

/** The position of the last unit whose state is `shown`, or `before` if there is none. */
const through = (units: ReadonlyArray<Unit>, shown: Unit["shown"], before: number): number =>
  units.reduce((last, unit) => (unit.shown === shown ? unit.at : last), before)

/**
 * The length in UTF-16 units to which the last step's results are cut for the prompt to fit; undefined if a cut would change
 * nothing.
 */
const capOf = (
  last: ReadonlyArray<TranscriptEntry>,
  allowed: number,
  measure: Measure
): number | undefined => {
  const longest = Math.max(
    0,
    ...last.map((entry) =>
      isCappable(entry) && entry.outcome._tag === "Value" ? entry.outcome.json.length : 0
    )
  )
  if (longest === 0 || sizeOf(last, measure) <= allowed) return undefined
  for (let most = longest; ; most = Math.floor(most / 2)) {
    const units_max = Math.max(capped_units_min, most)
    const cut = last.map((entry) => cappedEntry(entry, units_max))
    if (units_max === capped_units_min || sizeOf(cut, measure) <= allowed) return units_max
  }
}

/** The cut for a prompt; undefined if nothing has to be left out, or nothing can be. */
export const planCompaction = (
  prompt: Prompt,
  bounds: Bounds,
  measure: Measure
): Plan | undefined => {
  const all = new Shrinking(prompt, measure)
  const tokens_before = all.tokens
  const summarised = bounds.summary_tokens_max > 0
  const noted = summarised ? bounds.summary_tokens_max + note_tokens : note_tokens
  const shown = () => all.history.filter((unit) => unit.shown !== "dropped").length

  if (all.historyTokens > bounds.history_tokens_max || shown() > chapters_max) {
    const goal = Math.floor(bounds.history_tokens_max / 2) - (summarised ? noted : 0)
    const light = () => all.historyTokens <= goal
    if (!summarised) all.elide(all.history, light)
    all.drop(all.history, noted, () => light() && shown() <= chapters_max / 2)
  }

  const most = bounds.refused
    ? Math.min(tokens_before, bounds.context_tokens_max)
    : bounds.context_tokens_max
  const goal = prompt.fixed + Math.floor(Math.max(0, most - prompt.fixed) / 2)
  let capped: number | undefined
  if (all.tokens > bounds.context_tokens_max || (bounds.refused && all.tokens > goal)) {
    const old = [...all.history, ...all.own.slice(0, -1)]
    const light = () => all.tokens <= goal
    if (!summarised) all.elide(old, light)
    all.drop(old, noted, light)
    const allowed = bounds.refused ? goal : bounds.context_tokens_max
    const last = all.own.at(-1)
    if (last !== undefined && all.tokens > allowed) {
      capped = capOf(last.entries, allowed - (all.tokens - last.tokens), measure)
    }
  }
  return planned(prompt, all, capped, tokens_before, measure)
}

const planned = (
  prompt: Prompt,
  all: Shrinking,
  capped: number | undefined,
  tokens_before: number,
  measure: Measure
): Plan | undefined => {
  const history: HistoryCut | undefined = nextCut(all.history, prompt.past.cut)
  const own = nextCut(all.own, prompt.cut, capped)
  if (history === undefined && own === undefined) return undefined
  const tokens_after = tokensAfter(prompt, { history, own }, measure)
  return { history, own, tokens_before, tokens_after, dropped: droppedOf(prompt, all) }
}

const droppedEntries = (units: ReadonlyArray<Unit>): ReadonlyArray<TranscriptEntry> =>
  units.flatMap((unit) => (unit.shown === "dropped" ? unit.entries : []))

const listOf = <A>(each: A | undefined): ReadonlyArray<A> => (each === undefined ? [] : [each])

const droppedOf = (prompt: Prompt, all: Shrinking): ReadonlyArray<TranscriptEntry> => {
  const history = droppedEntries(all.history)
  const own = droppedEntries(all.own)
  if (history.length === 0 && own.length === 0) return []
  const past = listOf(historyNote(prompt.past.cut))
  return own.length === 0
    ? [...past, ...history]
    : [
        ...past,
        ...history,
        ...prompt.transcript.slice(0, 1),
        ...listOf(frameNote(prompt.cut)),
        ...own
      ]
}

/**
 * The plan with a summary of everything that it drops: of the conversation, or of the conversation and the frame's steps
 * together.
 */
export const summarisedBy = (plan: Plan, text: string, prompt: Prompt, measure: Measure): Plan => {
  const { history, own } = plan
  const isOfOwn = own !== undefined && own.dropped > (prompt.cut?.dropped ?? 0)
  const summed: Pick<Plan, "history" | "own"> = {
    history: history && {
      dropped: history.dropped,
      elided: history.elided,
      ...(isOfOwn ? undefined : { summary: { through: history.dropped, text } })
    },
    own: isOfOwn ? { ...own, summary: { through: own.dropped, text } } : own
  }
  return { ...plan, ...summed, tokens_after: tokensAfter(prompt, summed, measure) }
}

const tokensAfter = (
  prompt: Prompt,
  { history, own }: Pick<Plan, "history" | "own">,
  measure: Measure
): number => {
  const past = history === undefined ? prompt.past : { ...prompt.past, cut: history }
  const transcript =
    own === undefined
      ? prompt.transcript
      : cutTranscript(prompt.transcript, prompt.step, prompt.cut, own)
  return prompt.fixed + sizeOf(shownPast(past), measure) + sizeOf(transcript, measure)
}

/** The next cut of these units; undefined = it leaves out no more than the one before. */
const nextCut = (
  units: ReadonlyArray<Unit>,
  cut: HistoryCut | FrameCut | undefined,
  capped?: number
): FrameCut | undefined => {
  const { dropped: dropped_before = 0, elided: elided_before = 0, summary } = cut ?? {}
  const dropped = through(units, "dropped", dropped_before)
  const elided = Math.max(through(units, "elided", elided_before), dropped)
  return dropped === dropped_before && elided === elided_before && capped === undefined
    ? undefined
    : { dropped, elided, ...defined({ capped, summary }) }
}
