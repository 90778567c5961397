/**
 * A conversation's events from a cursor on, then those to come: read from the journal until it has caught up, from then on as
 * the feed has them, which is what this process commits and the pieces of turns in progress. A watcher that goes away cancels
 * nothing.
 */
import { Effect, Exit, Scope } from "effect"
import type { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import type { ConversationId, Tenant } from "../../../src/value/Ids.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { OpenFeed } from "../../../services/AgentRuntime.ts"
import type { Cursor, FeedItem, FeedItems } from "../../../src/run/FeedItem.ts"
import { ShuttingDown } from "../../../services/AgentRuntime.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Feed, Watcher } from "../feed/Feed.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import { Deadline } from "../tool/Deadlines.ts"
import type { Page, Services as TailServices } from "./JournalTail.ts"
import { isPage, JournalTail } from "./JournalTail.ts"

interface Services extends TailServices {
  readonly deadlines: Deadlines
  readonly feed: Feed
  /** After how long without a wakeup a watcher reads the journal. */
  readonly watch_ms: number
}

type Failure = InvalidInput | RunQuarantined | ShuttingDown | StoreError | JournalError

const hasItems = (items: ReadonlyArray<FeedItem>): items is FeedItems => items.length > 0

/**
 * One watcher: what is pulled, its deadline and what the feed wakes are one object, and what is there already is given without a
 * fiber of its own (bench row `send`). A wakeup that comes while nobody pulls is kept for the next pull. Its deadline stays
 * armed over many waits, because most of them end long before (bench row `send`, 1,000 runs).
 */
class FeedReader extends Deadline implements OpenFeed<Failure> {
  readonly #services: Services
  readonly #watcher: Watcher
  readonly #tail: JournalTail
  readonly isPatient: boolean
  #isPending = true
  /** The journal may have what the feed knows nothing of. */
  #isUnknown = true
  #isCaughtUp = false
  /** When the wait began, in ms of the monotonic clock. */
  #since = 0
  #callback: (() => void) | undefined

  constructor(
    services: Services,
    tenant: Tenant,
    conversation: ConversationId,
    after: Cursor,
    isPatient: boolean
  ) {
    super()
    this.#services = services
    this.isPatient = isPatient
    this.#watcher = services.feed.watch(tenant, conversation, this)
    this.#tail = new JournalTail(services, {
      tenant,
      conversation,
      after,
      watcher: this.#watcher,
      isTold: !isPatient
    })
  }

  /** Gives what there is, at least one item; where there is nothing it waits. */
  readonly pull: Effect.Effect<FeedItems, Failure> = Effect.suspend(() =>
    this.#isPending ? this.#next() : this.#nextWoken
  )

  wake(isUnknown: boolean): void {
    this.#isPending = true
    if (isUnknown) this.#isUnknown = true
    const callback = this.#callback
    if (callback === undefined) return
    this.#callback = undefined
    callback()
  }

  fire(): void {
    // Armed again by the next wait.
    if (this.#callback === undefined) return
    const { deadlines, watch_ms } = this.#services
    const left = this.#since + watch_ms - deadlines.now()
    if (left > 0) deadlines.arm(this, left)
    // What a patient watcher was not woken for shows that its run is at work here.
    else this.wake(!this.#tail.hasCommitted)
  }

  close(): void {
    this.#services.deadlines.disarm(this)
    this.#watcher.close()
  }

  takeAvailable(): FeedItems | "wait" | "pull" {
    if (this.#services.feed.isClosed) return "pull"
    while (this.#isPending) {
      const isUnknown = this.#isUnknown
      const page = this.#page()
      if (!isPage(page)) {
        // `pull` takes it.
        this.#isPending = true
        this.#isUnknown = isUnknown
        return "pull"
      }
      const items = this.#shown(page)
      if (items !== undefined) return items
    }
    return "wait"
  }

  /** Called at a wakeup, or after `watch_ms`. */
  whenAvailable(callback: () => void): void {
    if (this.#isPending) return callback()
    const { deadlines, watch_ms } = this.#services
    this.#callback = callback
    this.#since = deadlines.now()
    if (this.index === -1) deadlines.arm(this, watch_ms)
  }

  /** No cleanup, which each wait would allocate (bench row `send`, 1,000 runs): to resume an interrupted one does nothing. */
  readonly #woken = Effect.callback<void>((resume) => this.whenAvailable(() => resume(Exit.void)))

  readonly #nextWoken = Effect.flatMap(this.#woken, () => this.#next())

  #next(): Effect.Effect<FeedItems, Failure> {
    // The store closes next.
    if (this.#services.feed.isClosed) return Effect.fail(new ShuttingDown())
    const page = this.#page()
    const given = (read: Page): Effect.Effect<FeedItems, Failure> => {
      const items = this.#shown(read)
      return items === undefined ? this.pull : Exit.succeed(items)
    }
    return isPage(page) ? given(page) : Effect.flatMap(page, given)
  }

  #page() {
    const isUnknown = this.#isUnknown
    this.#isPending = false
    this.#isUnknown = false
    return this.#tail.next(isUnknown)
  }

  #shown({ isLast, isMoreDue, items }: Page): FeedItems | undefined {
    if (!this.#isCaughtUp && isLast) {
      this.#isCaughtUp = true
      items.push({ _tag: "CaughtUp", ...this.#tail.cursor })
    }
    if (isMoreDue || !isLast) this.wake(false)
    for (const piece of this.#watcher.take()) if (!this.#tail.isStale(piece)) items.push(piece)
    return hasItems(items) ? items : undefined
  }
}

/** Until the scope closes. Its release needs no services, for which `acquireRelease` would copy the caller's (bench row `send`). */
export const openFeed = (
  services: Services,
  tenant: Tenant,
  conversation: ConversationId,
  after: Cursor,
  isPatient = false
): Effect.Effect<OpenFeed<Failure>, never, Scope.Scope> =>
  Effect.flatMap(Effect.scope, (scope) =>
    Effect.uninterruptible(
      Effect.suspend(() => {
        const reader = new FeedReader(services, tenant, conversation, after, isPatient)
        return Effect.as(
          Scope.addFinalizerExit(scope, () => {
            reader.close()
            return Effect.void
          }),
          reader
        )
      })
    )
  )
