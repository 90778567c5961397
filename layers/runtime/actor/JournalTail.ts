/**
 * A conversation's events behind a cursor, page by page: the runs of the conversation in their order, each to its end
 * before the next, but for side runs, which are given while the run before them waits for people, with cursors that have both places.
 * Pages come from the journal until the cursor has caught up with it, then from what this process has committed, without a statement; from the journal again where others have written. A short run at work here is shown
 * from its start on without the journal. The tail also knows which pieces of the feed are stale, because the journal has the
 * whole by now.
 */
import { Effect } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { CallId, ConversationId, FrameId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { JournalEntry, RunEvent } from "../../../src/run/RunEvent.ts"
import { mayEndWait } from "../../../src/run/RunEvent.ts"
import type { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { Cursor, FeedItem } from "../../../src/run/FeedItem.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { RunReader } from "../../../services/RunReader.ts"
import { entriesAfter } from "../../../services/RunReader.ts"
import { StoreError } from "../../../services/StoreError.ts"
import type { TaskStore } from "../../../services/TaskStore.ts"
import type { EventItem, Position } from "../feed/CommittedQueue.ts"
import type { Watcher } from "../feed/Feed.ts"
import { QueueNotices } from "./QueuedMessages.ts"

export interface Services {
  readonly directory: AgentDirectory["Service"]
  readonly reader: RunReader["Service"]
  readonly tasks: TaskStore["Service"]
}

/** What is watched, from where on, and what the feed has of it. */
interface Watched {
  readonly tenant: Tenant
  readonly conversation: ConversationId
  readonly after: Cursor
  readonly watcher: Watcher
  /** It is told of messages that wait behind a question. */
  readonly isTold: boolean
}

/** Events of one page: few, because each may hold a result of several megabytes. */
const page_max = 16
/** The place of a cursor behind all events of a run. */
const whole = 999_999_999
/** Runs that one page looks at. */
const runs_max = 100

/** A question of a run, or an outcome that an operator has to settle. */
const isQuestion = ({ _tag }: RunEvent): boolean => _tag !== "RunEnded" && mayEndWait(_tag)

type Piece = Extract<FeedItem, { _tag: "Delta" | "Output" }>

/** What was given of the run in progress, which pieces of the feed may belong to. */
class JournaledProgress {
  #run: RunId | undefined
  /** The last step that was journaled: of the supervisor's frame, and of the others. */
  #step = 0
  #others: Map<FrameId, number> | undefined
  /** Calls that have their result. */
  readonly #settled = new Set<CallId>()

  note(run: RunId, event: RunEvent): void {
    if (event._tag === "ModelTurned") {
      this.#enter(run)
      if (event.frame === rootFrame) this.#step = event.step
      else (this.#others ??= new Map()).set(event.frame, event.step)
    } else if (event._tag === "CallSettled") {
      this.#enter(run)
      this.#settled.add(event.call)
    } else if (event._tag === "RunEnded") this.#enter(undefined)
  }

  has(piece: Piece): boolean {
    if (piece.run !== this.#run) return false
    if (piece._tag === "Output") return this.#settled.has(piece.call)
    const step = piece.frame === rootFrame ? this.#step : this.#others?.get(piece.frame)
    return step !== undefined && piece.step <= step
  }

  #enter(run: RunId | undefined): void {
    if (run === this.#run) return
    this.#run = run
    this.#step = 0
    this.#others = undefined
    this.#settled.clear()
  }
}

export interface Page {
  /** At most 16 events. The list is the caller's. */
  readonly items: Array<FeedItem>
  /** False: the page is full, and the journal may have more. */
  readonly isLast: boolean
  /** The next page is to be taken without waiting. */
  readonly isMoreDue: boolean
}

/** Is it a page, and not an Effect that reads one? */
export const isPage = <E>(page: Page | Effect.Effect<Page, E>): page is Page => "items" in page

const isOver = ({ status }: AgentTask): boolean => status === "complete" || status === "failed"

/** At most `limit` entries. Of a run in quarantine those before the fault; then its failure. */
const entriesOf = (reader: RunReader["Service"], run: RunId, from: number, limit: number) =>
  Effect.catchTag(reader.read(run, from, limit), "RunQuarantined", (fault) =>
    fault.seq > from
      ? reader.read(run, from, Math.min(fault.seq - from, limit))
      : Effect.fail(fault)
  )

/**
 * What is behind the fault of a run in quarantine. Of one that is over nothing, for a cursor that has the place of the fault: its
 * watcher was told, and the runs after it follow.
 */
const entriesAfterFault = (
  { reason, run_id, seq }: RunQuarantined,
  { ordinal }: AgentTask,
  cursor: number
): Effect.Effect<ReadonlyArray<JournalEntry>, RunQuarantined> =>
  cursor >= seq
    ? Effect.succeed([])
    : Effect.fail(new RunQuarantined({ run_id, reason, seq, ordinal }))

/** Fails for a task that waits behind a run in quarantine, because only an operator ends that wait. */
const failIfBlocked = Effect.fnUntraced(function* (
  reader: RunReader["Service"],
  { address, ordinal, tenant }: AgentTask
) {
  const [first] = yield* reader.unfinished(tenant, address, 1)
  if (first?.quarantined !== true || first.ordinal >= ordinal) return
  yield* reader.read(first.run_id, first.length, 1)
})

const removed = Effect.suspend(
  () => new StoreError({ message: "the run was removed while it was watched" })
)

type ReadFailure = InvalidInput | RunQuarantined | StoreError | JournalError

/** Fails for a cursor in a run that was not accepted yet: its watcher would miss all runs before that one. */
const failIfAhead = Effect.fnUntraced(function* (
  tasks: TaskStore["Service"],
  { conversation, tenant }: Watched,
  ordinal: number
) {
  const newest = yield* tasks.newestOrdinal(tenant, conversation)
  if (ordinal <= newest) return
  return yield* new InvalidInput({
    field: "after",
    reason: `it is in run ${ordinal} of a conversation whose newest run is ${newest}`
  })
})

export class JournalTail {
  readonly #services: Services
  readonly #watched: Watched
  /** The last event that was given, or where the tail began. */
  #ordinal: number
  #seq: number
  /** The run at the cursor was given to its end. */
  #isEnded: boolean
  /** Entries that are read at once: fewer where they are long. */
  #limit = page_max
  /** Events of the run at the cursor were given, and not its end. */
  #isMidRun = false
  /** Nothing has shown yet that the conversation has what is before the cursor. */
  #isCursorUnverified = true
  /** All runs that were accepted before the last read are known; those accepted since are followed when they begin. */
  #isListed = false
  /** The journal is to be read, whatever this process has committed. */
  #isUnread = true
  readonly #progress = new JournaledProgress()
  readonly #besideProgress = new JournaledProgress()
  /** Undefined for a watcher that is not told. */
  readonly #notices: QueueNotices | undefined
  /** What was known of the runs behind the cursor when they were last looked at; -1: they are to be looked at. */
  #news = -1
  /** The last event of side runs that was given; those before it were given whole. Undefined = the cursor is behind all. */
  #beside: Position | undefined
  /** Nothing has shown yet that the conversation has the side runs of the cursor. */
  #isBesideUnverified: boolean

  constructor(services: Services, watched: Watched) {
    if (watched.isTold) this.#notices = new QueueNotices(services.reader, services.directory)
    this.#services = services
    this.#watched = watched
    this.#ordinal = watched.after.ordinal
    this.#seq = watched.after.seq
    this.#isEnded = watched.after.ordinal === 0
    const { beside } = watched.after
    this.#isBesideUnverified = beside !== undefined
    if (beside !== undefined) this.#beside = { ...beside, isEnded: false }
  }

  /** The last event that was given, or where the tail began. */
  get cursor(): Cursor {
    const at = { ordinal: this.#ordinal, seq: this.#seq }
    if (this.#beside === undefined) return at
    const { ordinal, seq } = this.#beside
    return { ...at, beside: { ordinal, seq } }
  }

  /** Whether the next entry is one that this process has committed, and waits to be taken. */
  get hasCommitted(): boolean {
    return this.#watched.watcher.committed.canTake(this.#position)
  }

  isStale(piece: Piece): boolean {
    return this.#progress.has(piece) || this.#besideProgress.has(piece)
  }

  /**
   * The next page. Not as an Effect where it is in memory, because that would cost more than the page (bench row `send`, 1,000
   * runs). `isUnknown`: the journal may have entries that this process has not committed.
   */
  next(isUnknown: boolean): Page | Effect.Effect<Page, ReadFailure> {
    const whole = this.#cachedRun()
    if (whole !== undefined) return whole
    if (isUnknown || this.#isUnread || this.#hasNews) return JournalTail.#read(this)
    // Its queue goes on with the next run from its start.
    if (this.#beside !== undefined) return { items: [], isLast: true, isMoreDue: false }
    const { committed } = this.#watched.watcher
    const { entries, isBehind, isMore } = committed.take(this.#position)
    if (entries.length === 0 && (isBehind || (this.#isEnded && !this.#isListed))) {
      return JournalTail.#read(this)
    }
    this.#isUnread = isBehind
    for (const taken of entries) this.#advanceTo(taken)
    return { items: entries, isLast: true, isMoreDue: isMore || isBehind || this.#hasNews }
  }

  /** There is more of a side run, or of a message that waits, than the watcher was told of. */
  get #hasNews(): boolean {
    if (this.#notices === undefined || (!this.#isMidRun && this.#beside === undefined)) return false
    const news = this.#newsBehind()
    return news > 0 && news !== this.#news
  }

  #newsBehind(): number {
    const from = this.#beside === undefined ? this.#ordinal + 1 : this.#ordinal
    return this.#watched.watcher.committed.newsFrom(from)
  }

  get #position(): Position {
    return { ordinal: this.#ordinal, seq: this.#seq, isEnded: this.#isEnded }
  }

  /** All entries of the run that the tail begins with, where that is at work here and short. */
  #cachedRun(): Page | undefined {
    const ordinal = this.#ordinal
    if (this.#seq !== -1 || this.#isEnded) return undefined
    const { watcher } = this.#watched
    const whole = watcher.cachedRun(ordinal)
    if (whole === undefined) return undefined
    const { entries, run } = whole
    watcher.follow(run, ordinal)
    watcher.committed.reached(ordinal, entries.length)
    const items: Array<FeedItem> = []
    for (const entry of entries) this.#give(items, { _tag: "Event", run, ordinal, entry })
    this.#isUnread = false
    return { items, isLast: true, isMoreDue: false }
  }

  #give(items: Array<FeedItem>, item: EventItem): void {
    this.#advanceTo(item)
    items.push(this.#beside === undefined ? item : { ...item, cursor: this.cursor })
  }

  #advanceTo({ entry, ordinal, run }: EventItem): void {
    this.#ordinal = ordinal
    this.#seq = entry.seq
    this.#isEnded = entry.event._tag === "RunEnded"
    this.#isMidRun = !this.#isEnded
    if (isQuestion(entry.event)) this.#news = -1
    this.#progress.note(run, entry.event)
  }

  /**
   * The entries behind the cursor. Of a run that is not over and has no event at the cursor: all entries, because a watcher
   * that waited for the cursor would miss those up to it. Such a cursor comes from a server that lost what it had acknowledged.
   */
  static readonly #entries = Effect.fnUntraced(function* (self: JournalTail, task: AgentTask) {
    const { reader } = self.#services
    const entries = yield* entriesOf(reader, task.id, self.#seq + 1, self.#limit)
    const isUnproven = self.#isCursorUnverified && self.#seq >= 0
    self.#isCursorUnverified = false
    if (entries.length > 0 || !isUnproven || isOver(task)) return entries
    const seen = yield* reader.read(task.id, self.#seq, 1)
    if (seen.length > 0) return entries
    self.#seq = -1
    return yield* entriesOf(reader, task.id, 0, self.#limit)
  })

  /** The next run of the conversation, of which side runs may have been given already. */
  #enter(ordinal: number): void {
    const given = this.#beside
    this.#ordinal = ordinal
    if (given === undefined || ordinal > given.ordinal) this.#seq = -1
    else this.#seq = ordinal < given.ordinal ? whole : given.seq
    if (given !== undefined && ordinal >= given.ordinal) this.#beside = undefined
  }

  /** Of a place in side runs that the server has lost, the side runs are given again. */
  static readonly #checkBeside = Effect.fnUntraced(function* (self: JournalTail) {
    const { reader, tasks } = self.#services
    const { after, conversation, tenant } = self.#watched
    self.#isBesideUnverified = false
    if (after.beside === undefined) return
    const { ordinal, seq } = after.beside
    if (ordinal <= after.ordinal) {
      const reason = `run ${ordinal} does not answer beside run ${after.ordinal}, which is not before it`
      return yield* new InvalidInput({ field: "after", reason })
    }
    const [task] = yield* tasks.ofConversation(tenant, conversation, ordinal - 1, 1)
    if (task === undefined) return yield* failIfAhead(tasks, self.#watched, ordinal)
    if (task.ordinal !== ordinal || isOver(task)) return
    if ((yield* reader.read(task.id, seq, 1)).length === 0) self.#beside = undefined
  })

  /**
   * Side runs of the run at the cursor, which is not over, in their order and each to its end. True: there may be more of them at
   * once.
   */
  static readonly #readBeside = Effect.fnUntraced(function* (
    self: JournalTail,
    listed: ReadonlyArray<AgentTask>,
    items: Array<FeedItem>
  ) {
    const { reader, tasks } = self.#services
    const { conversation, tenant, watcher } = self.#watched
    const isBegun = (task: AgentTask) => task.ordinal > self.#ordinal && task.status !== "pending"
    if (self.#beside === undefined && !listed.some(isBegun)) return false
    let { isEnded, ordinal, seq } = self.#beside ?? { ...self.#position, isEnded: true }
    const after = isEnded ? ordinal : ordinal - 1
    for (const task of yield* tasks.ofConversation(tenant, conversation, after, runs_max)) {
      if (task.status === "pending") return false
      if (!isOver(task)) watcher.follow(task.id, task.ordinal)
      const from = task.ordinal === ordinal ? seq + 1 : 0
      const entries = yield* Effect.catchTag(
        reader.read(task.id, from, page_max),
        "RunQuarantined",
        () => Effect.succeed([])
      )
      // One that was cancelled before it began comes in its turn.
      if (from === 0 && !entries.some(({ event }) => event._tag === "RunBeside")) return false
      for (const entry of entries) {
        self.#beside = { ordinal: task.ordinal, seq: entry.seq, isEnded: false }
        const { cursor } = self
        items.push({ _tag: "Event", run: task.id, ordinal: task.ordinal, entry, cursor })
        self.#besideProgress.note(task.id, entry.event)
      }
      ordinal = task.ordinal
      seq = from + entries.length - 1
      isEnded = entries.length === 0 ? isOver(task) : entries.at(-1)?.event._tag === "RunEnded"
      self.#beside = { ordinal, seq, isEnded }
      if (!isEnded || items.length >= page_max) return entries.length >= page_max || isEnded
    }
    return false
  })

  // Made once: a generator function for each watcher costs more than what it reads (bench row `send`).
  static readonly #read = Effect.fnUntraced(function* (
    self: JournalTail
  ): Effect.fn.Return<Page, ReadFailure> {
    const { reader, tasks } = self.#services
    const { after, conversation, tenant, watcher } = self.#watched
    const items: Array<FeedItem> = []
    let isMoreDue = false
    let isFull = false
    if (self.#isBesideUnverified) yield* JournalTail.#checkBeside(self)
    // Before the reads: what comes meanwhile is looked at again.
    self.#news = self.#newsBehind()
    const from = self.#ordinal - 1
    const listed = yield* tasks.ofConversation(tenant, conversation, from, runs_max)
    // Only what is over is removed: its end does not come any more.
    if (self.#isMidRun && listed[0]?.ordinal !== self.#ordinal) return yield* removed
    if (listed.length === 0) {
      if (self.#isCursorUnverified && after.ordinal > 0)
        yield* failIfAhead(tasks, self.#watched, after.ordinal)
      self.#isCursorUnverified = false
      // The run at the cursor, where there is one, was removed.
      self.#isEnded = true
    }
    self.#isListed = listed.length < runs_max
    // Before the reads, so that what is committed meanwhile is read or queued; and all of them, because later runs may begin or
    // end before this one is given to its end.
    for (const task of listed) {
      if (!isOver(task)) watcher.follow(task.id, task.ordinal)
      if (task.status !== "pending") watcher.committed.reached(task.ordinal, 1)
    }
    for (const task of listed) {
      const { id: run, ordinal } = task
      if (ordinal > self.#ordinal) self.#enter(ordinal)
      const entries = yield* Effect.catchTag(
        JournalTail.#entries(self, task),
        "RunQuarantined",
        (fault) => (isOver(task) ? entriesAfterFault(fault, task, self.#seq) : Effect.fail(fault))
      )
      for (const entry of entries) self.#give(items, { _tag: "Event", run, ordinal, entry })
      if (entries.length === 0) self.#isEnded = isOver(task)
      if (task.status === "pending") {
        // What there is of it is shown first.
        if (entries.length === 0) yield* failIfBlocked(reader, task)
        else isMoreDue = true
      }
      isFull ||= entries.length >= self.#limit || items.length >= page_max
      self.#limit = entriesAfter(entries, self.#limit, page_max)
      if (isFull || !self.#isEnded) break
    }
    const isLast = !isFull
    if (isLast && self.#notices !== undefined) {
      if (!self.#isEnded)
        isMoreDue = (yield* JournalTail.#readBeside(self, listed, items)) || isMoreDue
      for (const notice of yield* self.#notices.of(listed)) items.push(notice)
    }
    self.#isUnread = !isLast || isMoreDue
    return { items, isLast, isMoreDue }
  })
}
