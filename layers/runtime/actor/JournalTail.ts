/**
 * A conversation's events behind a cursor, page by page: the runs of the conversation in their order, each to its end
 * before the next. Pages come from the journal until the cursor has caught up with it, then from what this process has
 * committed, without a statement; from the journal again where others have written. It also knows which pieces of the feed are
 * stale, because the journal has what they were pieces of.
 */
import { Effect } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { ConversationId, RunId, Tenant } from "../../../src/Ids.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { Cursor, FeedItem } from "../../../services/AgentRuntime.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import type { TakenEntry } from "../loop/CommittedQueue.ts"
import type { Watcher } from "../loop/Feed.ts"

export interface Services {
  readonly journal: RunJournal["Service"]
  readonly tasks: TaskStore["Service"]
}

/** What is watched, from where on, and what the feed has of it. */
interface Watched {
  readonly tenant: Tenant
  readonly conversation: ConversationId
  readonly after: Cursor
  readonly watcher: Watcher
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
  /** The next page is to be taken without waiting. */
  readonly isMoreDue: boolean
}

const isOver = ({ status }: AgentTask): boolean => status === "complete" || status === "failed"

/** At most 16 entries. Of a run in quarantine those before the fault; then its failure. */
const entriesOf = (journal: RunJournal["Service"], run: RunId, from: number) =>
  Effect.catchTag(journal.read(run, from, page_max), "RunQuarantined", (fault) =>
    fault.seq > from
      ? journal.read(run, from, Math.min(fault.seq - from, page_max))
      : Effect.fail(fault)
  )

/** Fails for a task that waits behind a run in quarantine, because only an operator ends that wait. */
const failIfBlocked = Effect.fnUntraced(function* (
  journal: RunJournal["Service"],
  { address, ordinal, tenant }: AgentTask
) {
  const [first] = yield* journal.unfinished(tenant, address, 1)
  if (first?.quarantined !== true || first.ordinal >= ordinal) return
  yield* journal.read(first.run_id, first.length, 1)
})

export const make = (
  { journal, tasks }: Services,
  { after, conversation, tenant, watcher }: Watched
) => {
  let cursor = after
  /** The run at the cursor was given to its end. */
  let isEnded = after.ordinal === 0
  /** All runs that were accepted before the last read are known; those accepted since are followed when they begin. */
  let isListed = false
  /** The journal is to be read, whatever this process has committed. */
  let isUnread = true
  const progress = new JournaledProgress()

  const given = ({ entry, ordinal, run }: TakenEntry): FeedItem => {
    cursor = { ordinal, seq: entry.seq }
    isEnded = entry.event._tag === "RunEnded"
    progress.note(run, entry.event)
    return { _tag: "Event", run, ordinal, entry }
  }

  const read = Effect.fnUntraced(function* () {
    const items: Array<FeedItem> = []
    let isMoreDue = false
    const from = cursor.ordinal - 1
    const listed = yield* tasks.ofConversation(tenant, conversation, from, runs_max)
    isListed = listed.length < runs_max
    // Before the reads, so that what is committed meanwhile is read or queued; and all of them, because later runs may begin or
    // end before this one is given to its end.
    for (const task of listed) {
      if (!isOver(task)) watcher.follow(task.id, task.ordinal)
      if (task.status !== "pending") watcher.committed.reached(task.ordinal, 1)
    }
    for (const task of listed) {
      const { id: run, ordinal } = task
      if (ordinal > cursor.ordinal) cursor = { ordinal, seq: -1 }
      const entries = yield* entriesOf(journal, run, cursor.seq + 1)
      for (const entry of entries) items.push(given({ run, ordinal, entry }))
      if (entries.length === 0) isEnded = isOver(task)
      if (task.status === "pending") {
        // What there is of it is shown first.
        if (entries.length === 0) yield* failIfBlocked(journal, task)
        else isMoreDue = true
      }
      if (items.length >= page_max || !isEnded) break
    }
    const isLast = items.length < page_max
    isUnread = !isLast || isMoreDue
    const page: Page = { items, isLast, isMoreDue }
    return page
  })

  return {
    /** `isUnknown`: the journal may have what was not committed here. */
    next: (isUnknown: boolean) =>
      Effect.suspend(() => {
        if (isUnknown || isUnread) return read()
        const { entries, isBehind, isMore } = watcher.committed.take({ ...cursor, isEnded })
        if (entries.length === 0 && (isBehind || (isEnded && !isListed))) return read()
        isUnread = isBehind
        return Effect.succeed<Page>({
          items: entries.map(given),
          isLast: true,
          isMoreDue: isMore || isBehind
        })
      }),
    /** The last event that was given, or where the tail began. */
    cursor: () => cursor,
    isStale: (piece: Piece) => progress.has(piece)
  }
}
