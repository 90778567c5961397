/**
 * What a run is shown of its conversation's past: the supervisor's transcripts of earlier runs, newest first until the
 * budget is spent, never half a run, so that no call stands without its result.
 */
import { Effect } from "effect"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import type { ConversationId, RunId } from "../../src/Ids.ts"
import { rootFrame } from "../../src/Ids.ts"
import { evolve, make as emptyState } from "../../src/run/RunState.ts"
import type { RunState } from "../../src/run/RunState.ts"
import type { JournalError, RunJournal } from "../../services/RunJournal.ts"
import type { StoreError, TaskStore } from "../../services/TaskStore.ts"

export interface Chapter {
  readonly ordinal: number
  readonly entries: ReadonlyArray<TranscriptEntry>
  readonly tokens: number
}

/** Earlier runs that are looked at, whatever the budget. */
const chapters_max = 100
const page_max = 10_000

/** Four characters a token: an estimate, on the safe side for English. */
const tokensOf = (entries: ReadonlyArray<TranscriptEntry>): number => {
  let characters = 0
  for (const entry of entries) {
    switch (entry.role) {
      case "user":
        characters += entry.text.length
        break
      case "assistant":
        characters += entry.text.length
        for (const call of entry.calls)
          characters += JSON.stringify(call.arguments).length + call.name.length
        break
      case "tool":
        characters +=
          entry.outcome._tag === "Value" ? Math.min(entry.outcome.json.length, 32_768) : 100
        break
    }
  }
  return Math.ceil(characters / 4)
}

export const chapter = (ordinal: number, entries: ReadonlyArray<TranscriptEntry>): Chapter => ({
  ordinal,
  entries,
  tokens: tokensOf(entries)
})

/** The newest chapters within the budget, oldest first. */
export const within = (
  chapters: ReadonlyArray<Chapter>,
  tokens_max: number
): ReadonlyArray<Chapter> => {
  let tokens = 0
  let first = chapters.length
  while (first > 0 && chapters.length - first < chapters_max) {
    tokens += chapters[first - 1]!.tokens
    if (tokens > tokens_max) break
    first--
  }
  return chapters.slice(first)
}

/** The whole run, folded. */
export const foldRun = Effect.fnUntraced(function* (
  journal: RunJournal["Service"],
  run: RunId
): Effect.fn.Return<RunState, JournalError> {
  const state = emptyState()
  for (;;) {
    const page = yield* journal.read(run, state.length, page_max)
    for (const entry of page) evolve(state, entry.event)
    if (page.length < page_max) return state
  }
})

export const load = Effect.fnUntraced(function* (
  stores: { readonly journal: RunJournal["Service"]; readonly tasks: TaskStore["Service"] },
  conversation: ConversationId,
  ordinal: number,
  tokens_max: number
): Effect.fn.Return<ReadonlyArray<Chapter>, JournalError | StoreError> {
  const found: Array<Chapter> = []
  if (ordinal <= 1 || tokens_max === 0) return found
  let tokens = 0
  for (const task of yield* stores.tasks.before(conversation, ordinal, chapters_max)) {
    const state = yield* foldRun(stores.journal, task.id)
    const next = chapter(task.ordinal, state.frames.get(rootFrame)?.transcript ?? [])
    tokens += next.tokens
    if (tokens > tokens_max) break
    found.push(next)
  }
  return found.reverse()
})
