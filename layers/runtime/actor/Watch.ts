/**
 * A conversation's events from a cursor on, then those to come: read from the journal until it has caught up, from then on as
 * the feed has them, which is what this process commits and the pieces of turns in progress. A watcher that goes away cancels
 * nothing.
 */
import { Channel, Effect, Exit, Scope, Stream } from "effect"
import type { ConversationId, Tenant } from "../../../src/Ids.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { Cursor, FeedItem } from "../../../services/AgentRuntime.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { isDone } from "../loop/DoneEffect.ts"
import type { Feed, Watcher } from "../loop/Feed.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import { Deadline } from "../tool/Deadlines.ts"
import type { Page, Services as TailServices } from "./JournalTail.ts"
import { JournalTail } from "./JournalTail.ts"

interface Services extends TailServices {
  readonly deadlines: Deadlines
  readonly feed: Feed
  /** After how long without a wakeup a watcher reads the journal. */
  readonly watch_ms: number
}

type Failure = RunQuarantined | StoreError | JournalError

type Items = readonly [FeedItem, ...Array<FeedItem>]

const hasItems = (items: ReadonlyArray<FeedItem>): items is Items => items.length > 0

/**
 * One watcher: what is pulled, its deadline and what the feed wakes are one object, and what is there already is given without a
 * fiber of its own (bench row `send`). A wakeup that comes while nobody pulls is kept for the next pull. Its deadline stays
 * armed over many waits, because most of them end long before (bench row `send`, 1,000 runs).
 */
class FeedReader extends Deadline {
  readonly #services: Services
  readonly #watcher: Watcher
  readonly #tail: JournalTail
  #isPending = true
  /** The journal may have what the feed knows nothing of. */
  #isUnknown = true
  #isCaughtUp = false
  /** When the wait began, in ms of the monotonic clock. */
  #since = 0
  #resume: ((woken: Effect.Effect<void>) => void) | undefined

  constructor(services: Services, tenant: Tenant, conversation: ConversationId, after: Cursor) {
    super()
    this.#services = services
    this.#watcher = services.feed.watch(tenant, conversation, this)
    this.#tail = new JournalTail(services, { tenant, conversation, after, watcher: this.#watcher })
  }

  /** Gives what there is, at least one item; where there is nothing it waits. */
  readonly pull: Effect.Effect<Items, Failure> = Effect.suspend(() =>
    this.#isPending ? this.#next() : this.#nextWoken
  )

  wake(isUnknown: boolean): void {
    this.#isPending = true
    if (isUnknown) this.#isUnknown = true
    const resume = this.#resume
    if (resume === undefined) return
    this.#resume = undefined
    resume(Exit.void)
  }

  fire(): void {
    // Armed again by the next wait.
    if (this.#resume === undefined) return
    const { deadlines, watch_ms } = this.#services
    const left = this.#since + watch_ms - deadlines.now()
    if (left > 0) deadlines.arm(this, left)
    else this.wake(true)
  }

  close(): void {
    this.#services.deadlines.disarm(this)
    this.#watcher.close()
  }

  /**
   * Ends at a wakeup, or after `watch_ms`. An interruption cleans nothing up: to resume an interrupted wait does nothing, and
   * what a wait leaves behind for that is allocated at each one (bench row `send`, 1,000 runs).
   */
  readonly #woken = Effect.callback<void>((resume) => {
    if (this.#isPending) return resume(Exit.void)
    const { deadlines, watch_ms } = this.#services
    this.#resume = resume
    this.#since = deadlines.now()
    if (this.index === -1) deadlines.arm(this, watch_ms)
  })

  readonly #nextWoken = Effect.flatMap(this.#woken, () => this.#next())

  #next(): Effect.Effect<Items, Failure> {
    const isUnknown = this.#isUnknown
    this.#isPending = false
    this.#isUnknown = false
    const page = this.#tail.next(isUnknown)
    if (!isDone(page)) return Effect.flatMap(page, (read) => this.#shown(read))
    return Exit.isSuccess(page) ? this.#shown(page.value) : Exit.failCause(page.cause)
  }

  #shown({ isLast, isMoreDue, items }: Page): Effect.Effect<Items, Failure> {
    if (!this.#isCaughtUp && isLast) {
      this.#isCaughtUp = true
      items.push({ _tag: "CaughtUp", ...this.#tail.cursor })
    }
    if (isMoreDue || !isLast) this.wake(false)
    for (const piece of this.#watcher.take()) if (!this.#tail.isStale(piece)) items.push(piece)
    return hasItems(items) ? Exit.succeed(items) : this.pull
  }
}

export const watch = (
  services: Services,
  tenant: Tenant,
  conversation: ConversationId,
  after: Cursor
): Stream.Stream<FeedItem, Failure> =>
  Stream.fromChannel(
    Channel.fromTransform((_, scope) => {
      let reader: FeedReader | undefined
      const close = Effect.sync(() => reader?.close())
      return Effect.map(Scope.addFinalizer(scope, close), () => {
        reader = new FeedReader(services, tenant, conversation, after)
        return reader.pull
      })
    })
  )
