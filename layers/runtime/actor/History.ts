/**
 * The past of a run's conversation: the root frames' transcripts of earlier runs, whole runs only, so that every call has
 * its result. It is read back to the last compaction of the conversation and no further.
 */
import { Effect } from "effect"
import type { Chapter, Past, ShownPast } from "../../../src/conversation/Compaction.ts"
import { no_past, pastUnits, shownChapter } from "../../../src/conversation/Compaction.ts"
import { chapters_max } from "../../../src/conversation/CompactionPlan.ts"
import type { HistoryCut } from "../../../src/conversation/Cut.ts"
import type { Measure } from "../../../src/conversation/TokenEstimate.ts"
import { heldUnits, sizeOf } from "../../../src/conversation/PromptSize.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import type { ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import { isErased } from "../../../src/replay/Erased.ts"
import type { JournalEntry, RunAccepted } from "../../../src/run/RunEvent.ts"
import type { Branch } from "../../../src/run/Branch.ts"
import { ordinalBefore } from "../../../src/run/Branch.ts"
import { emptyState } from "../../../src/run/RunState.ts"
import { evolve } from "../../../src/run/RunFold.ts"
import { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { FoldState } from "../../../src/run/RunState.ts"
import { judgedTranscript } from "../../../src/run/Guarding.ts"
import type { AgentGuards } from "../../../services/AgentDirectory.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import { forEachEntry } from "../../../services/RunReader.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"

const page_max = 10_000

/** The whole run, folded: of no events, if it has not been accepted. Fails where an event does not fit those before it. */
export const foldRun = Effect.fnUntraced(function* (
  reader: RunReader["Service"],
  run: RunId
): Effect.fn.Return<FoldState, JournalError | RunQuarantined> {
  const state = emptyState()
  let seq = 0
  const folded = forEachEntry(reader, run, page_max, (entry) => {
    seq = entry.seq
    evolve(state, entry.event)
  })
  yield* Effect.catchDefect(folded, () =>
    Effect.fail(new RunQuarantined({ run_id: run, reason: "unfoldable", seq }))
  )
  return state
})

/** The newest cut that a run has made in its conversation's past; undefined if it has made none. */
export const cutOf = (entries: ReadonlyArray<JournalEntry>): HistoryCut | undefined => {
  const newest = entries.findLast(
    ({ event }) => event._tag === "Compacted" && event.history !== undefined
  )?.event
  return newest?._tag === "Compacted" ? newest.history : undefined
}

/** How the run of these entries was accepted; undefined = its first one is not among them. */
export const acceptedIn = ([first]: ReadonlyArray<JournalEntry>): RunAccepted | undefined =>
  first?.event._tag === "RunAccepted" ? first.event : undefined

export const chapterOf = (ordinal: number, entries: ReadonlyArray<TranscriptEntry>): Chapter => ({
  ordinal,
  entries,
  units: heldUnits(entries)
})

/** What later runs are shown of an ended one, where these guards judge what they are shown. */
export const entriesOf = (
  { frames }: FoldState,
  guards: AgentGuards | undefined
): ReadonlyArray<TranscriptEntry> => {
  const frame = frames.get(rootFrame)
  return frame === undefined ? [] : judgedTranscript(frame, guards)
}

/** What a model is shown of the past and of one more chapter, where nothing of it is cut. */
const shownWith = ({ entries, tokens }: ShownPast, chapter: Chapter): ShownPast => ({
  entries: entries.concat(chapter.entries),
  ...(tokens === undefined ? undefined : { without_newest: tokens })
})

/**
 * The past for the next run: with the chapter of the run that has just ended, without what `cut` drops. Where that run has cut
 * nothing it goes on from what is known of the past, so that a message of a long conversation does not look at each of its
 * chapters (bench row `http`).
 */
export const withChapter = (
  past: Past,
  chapter: Chapter,
  cut: HistoryCut | undefined,
  hasFiles: boolean
): Past => {
  const had = hasFiles || past.hasFiles === true
  if (cut === undefined) {
    return {
      chapters: [...past.chapters, chapter],
      cut: past.cut,
      hasFiles: had,
      units: pastUnits(past) + chapter.units,
      ...(past.shown && { shown: shownWith(past.shown, chapter) })
    }
  }
  const kept = past.chapters.filter(({ ordinal }) => ordinal > cut.dropped)
  return { chapters: [...kept, chapter], cut, hasFiles: had }
}

export interface HistoryQuery {
  readonly tenant: Tenant
  readonly conversation: ConversationId
  /** Of the run whose past this is. */
  readonly ordinal: number
  /** Where that run stands in place of another. */
  readonly branch?: Branch | undefined
  /** Of the run that waits, for a side run: its past is not over. */
  readonly waiting?: number | undefined
  /** The cut that this run has made already. */
  readonly cut: HistoryCut | undefined
  /** Reading stops at so many tokens: older runs would be cut anyway. 0 = nothing is read. */
  readonly tokens_max: number
  readonly measure: Measure
  /** Those of the agent that is shown the past. Undefined = it has none. */
  readonly guards: AgentGuards | undefined
}

export const loadPast = Effect.fnUntraced(function* (
  stores: { readonly reader: RunReader["Service"]; readonly tasks: TaskStore["Service"] },
  query: HistoryQuery
): Effect.fn.Return<Past, JournalError | StoreError> {
  const { conversation, ordinal, tenant, tokens_max, waiting } = query
  if (ordinal <= 1 || tokens_max === 0) return no_past
  const chapters: Array<Chapter> = []
  let { cut } = query
  let tokens = 0
  let hasFiles = false
  // The newest run of the branch that is not read, and the newest of which it is not known yet.
  let before = ordinalBefore(query)
  let next = before
  const [waits] =
    waiting === undefined
      ? []
      : yield* stores.tasks.ofConversation(tenant, conversation, waiting - 1, 1)
  // One more than a prompt may hold: that one tells the compactor that there are too many.
  const room = () => (tokens > tokens_max ? 0 : chapters_max + 1 - chapters.length)
  for (let limit = room(); limit > 0;) {
    const ended = yield* stores.tasks.endedBefore(tenant, conversation, next + 1, limit)
    for (const task of ended) {
      // The run that waits has not ended.
      if (waits !== undefined && task.ordinal < waits.ordinal && waits.ordinal <= next)
        next = ordinalBefore(waits)
      if (task.ordinal > next) continue
      next = ordinalBefore(task)
      if (task.ordinal <= (cut?.dropped ?? 0) || room() === 0) break
      // A run in quarantine is left out. The journal has told operators of it.
      const state = yield* Effect.catchTag(foldRun(stores.reader, task.id), "RunQuarantined", () =>
        Effect.succeed(emptyState())
      )
      // What is left of it is of no use to a model.
      if (isErased(state.accepted?.message)) continue
      cut ??= state.past
      hasFiles ||= state.hasFiles
      const chapter = chapterOf(task.ordinal, entriesOf(state, query.guards))
      chapters.push(chapter)
      before = next
      tokens += sizeOf(shownChapter(chapter, cut), query.measure)
    }
    // A whole page may have had runs of other branches.
    limit = ended.length < limit || next <= (cut?.dropped ?? 0) ? 0 : room()
  }
  chapters.reverse()
  // What a side run is told of the run that waits stands in its instructions.
  const unread = before === waiting ? before - 1 : before
  if (unread <= (cut?.dropped ?? 0)) return { chapters, cut, hasFiles }
  return {
    chapters,
    hasFiles,
    cut: {
      ...(cut ?? { elided: unread }),
      dropped: unread,
      elided: Math.max(cut?.elided ?? 0, unread)
    }
  }
})
