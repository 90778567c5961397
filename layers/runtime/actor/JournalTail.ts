/**
 * A conversation's events behind a cursor, page by page: the runs of the conversation in their order, each to its end
 * before the next. It also knows which pieces of the feed are stale, because the journal has what they were pieces of.
 */
import { Effect } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { ConversationId, RunId, Tenant } from "../../../src/Ids.ts"
import type { JournalEntry, RunEvent } from "../../../src/run/RunEvent.ts"
import type { Cursor, FeedItem } from "../../../services/AgentRuntime.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"

export interface Services {
  readonly journal: RunJournal["Service"]
  readonly tasks: TaskStore["Service"]
}

/** Events of one page: few, because each may hold a result of several megabytes. */
const page_max = 16
/** Runs that one page looks at. */
const runs_max = 100

type Piece = Extract<FeedItem, { _tag: "Delta" | "Output" }>

/** What the journal has of the runs in progress that pieces of the feed may belong to. */
class JournaledProgress {
  /** The last step that was journaled, by run and frame. */
  readonly #steps = new Map<string, number>()
  /** Calls that have their result, by run and call. */
  readonly #settled = new Set<string>()

  note(run: RunId, event: RunEvent): void {
    if (event._tag === "ModelTurned") this.#steps.set(`${run}/${event.frame}`, event.step)
    else if (event._tag === "CallSettled") this.#settled.add(`${run}/${event.call}`)
    else if (event._tag === "RunEnded") {
      for (const key of this.#steps.keys()) if (key.startsWith(run)) this.#steps.delete(key)
      for (const key of this.#settled) if (key.startsWith(run)) this.#settled.delete(key)
    }
  }

  has(piece: Piece): boolean {
    return piece._tag === "Output"
      ? this.#settled.has(`${piece.run}/${piece.call}`)
      : piece.step <= (this.#steps.get(`${piece.run}/${piece.frame}`) ?? 0)
  }
}

interface Page {
  /** At most 16 events. */
  readonly items: ReadonlyArray<FeedItem>
  /** False: the page is full, and the journal may have more. */
  readonly isLast: boolean
  /** The next page is to be read without waiting. */
  readonly isMoreDue: boolean
}

export const make = (
  { journal, tasks }: Services,
  tenant: Tenant,
  conversation: ConversationId,
  after: Cursor
) => {
  let cursor = after
  const progress = new JournaledProgress()

  /** Of a run in quarantine the entries before the fault; then its failure. */
  const entriesOf = (run: RunId, from: number) =>
    Effect.catchTag(journal.read(run, from, page_max), "RunQuarantined", (fault) =>
      fault.seq > from
        ? journal.read(run, from, Math.min(fault.seq - from, page_max))
        : Effect.fail(fault)
    )

  /** Fails for a task that waits behind a run in quarantine, because only an operator ends that wait. */
  const failIfBlocked = Effect.fnUntraced(function* (task: AgentTask) {
    const [first] = yield* journal.unfinished(tenant, task.address, 1)
    if (first?.quarantined !== true || first.ordinal >= task.ordinal) return
    yield* journal.read(first.run_id, first.length, 1)
  })

  const next = Effect.fnUntraced(function* () {
    const items: Array<FeedItem> = []
    let isMoreDue = false
    const from = cursor.ordinal - 1
    for (const task of yield* tasks.ofConversation(tenant, conversation, from, runs_max)) {
      if (task.ordinal > cursor.ordinal) cursor = { ordinal: task.ordinal, seq: -1 }
      const entries = yield* entriesOf(task.id, cursor.seq + 1)
      for (const entry of entries) {
        items.push({ _tag: "Event", run: task.id, ordinal: task.ordinal, entry })
        progress.note(task.id, entry.event)
      }
      const last = entries.at(-1)
      if (last !== undefined) cursor = { ordinal: task.ordinal, seq: last.seq }
      if (task.status === "pending") {
        // What there is of it is shown first.
        if (last === undefined) yield* failIfBlocked(task)
        else isMoreDue = true
      }
      if (items.length >= page_max || !hasEnded(task, last)) break
    }
    const page: Page = { items, isLast: items.length < page_max, isMoreDue }
    return page
  })

  return {
    next,
    /** The last event that was given, or where the tail began. */
    cursor: () => cursor,
    isStale: (piece: Piece) => progress.has(piece)
  }
}

/** Has the run been given to its end? The next run of the conversation has nothing to show before that. */
const hasEnded = ({ status }: AgentTask, last: JournalEntry | undefined): boolean =>
  last === undefined ? status === "complete" || status === "failed" : last.event._tag === "RunEnded"
