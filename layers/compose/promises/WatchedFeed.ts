/**
 * The feed of a run or of a conversation as the service shows it: a run to its end, and to a customer only what customers may
 * see.
 */
import { Cause, Effect, Schema } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import * as Entries from "../../../src/entry/ArgumentReaders.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { loggingRefusals } from "../../../src/principal/RefusedActs.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { OpenFeed } from "../../../services/AgentRuntime.ts"
import type { Cursor, FeedItem, FeedItems } from "../../../src/run/FeedItem.ts"
import { AgentRuntime, feedStream } from "../../../services/AgentRuntime.ts"
import {
  conversationFor,
  customerItem,
  followedTask,
  isCustomer
} from "../../service/CustomerRules.ts"

const isRunId = Schema.is(RunId)

/** Picks the items of one run out of the feed of its conversation. */
class RunFilter {
  readonly #task: AgentTask
  readonly #isOver: boolean
  #cursor: Cursor
  #isCaughtUp = false
  /** Events of the run were shown, but not its end. */
  #isMidRun = false
  /** The run was shown to its end. */
  isDone = false

  constructor(task: AgentTask, from: Cursor) {
    this.#task = task
    this.#isOver = task.status === "complete" || task.status === "failed"
    this.#cursor = from
  }

  apply(items: FeedItems): ReadonlyArray<FeedItem> {
    if (this.#isAllShown(items)) return items
    const shown: Array<FeedItem> = []
    for (const item of items) {
      if (this.isDone) break
      this.#show(item, shown)
    }
    return shown
  }

  /** Whether all items are shown, as in the middle of a run: then no list is made (bench row `send`, 1,000 runs). */
  #isAllShown(items: FeedItems): boolean {
    let last: FeedItem | undefined
    for (const item of items) {
      if (item._tag === "CaughtUp" || item.run !== this.#task.id) return false
      if (item._tag !== "Event") continue
      if (item.entry.event._tag === "RunEnded") return false
      last = item
    }
    if (last?._tag === "Event") this.#move(last)
    return true
  }

  #move({ entry, ordinal }: Extract<FeedItem, { readonly _tag: "Event" }>): void {
    this.#cursor = { ordinal, seq: entry.seq }
    this.#isMidRun = entry.event._tag !== "RunEnded"
  }

  #show(item: FeedItem, shown: Array<FeedItem>): void {
    if (item._tag === "CaughtUp") {
      this.#isCaughtUp = true
      // The store may have reported the end before this process learned that it was stored.
      this.isDone = this.#isOver && !this.#isMidRun
      shown.push(item)
      return
    }
    // It says nothing of how far the feed is.
    if (item._tag === "Queued") {
      if (item.run === this.#task.id) shown.push(item)
      return
    }
    const isLater = item.ordinal > this.#task.ordinal
    if (!isLater && item.run !== this.#task.id) return
    if (!isLater) {
      shown.push(item)
      if (item._tag === "Event") this.#move(item)
    }
    const isEnd = item._tag === "Event" && item.entry.event._tag === "RunEnded"
    // What comes of later runs before its own end is of side runs.
    this.isDone = isLater ? this.#isOver : isEnd
    if (this.isDone && !this.#isCaughtUp) shown.push({ _tag: "CaughtUp", ...this.#cursor })
  }
}

const hasItems = (items: ReadonlyArray<FeedItem>): items is FeedItems => items.length > 0

/** A filter of a feed's items. */
interface FeedFilter {
  readonly apply: (items: FeedItems) => ReadonlyArray<FeedItem>
  /** Nothing more will be shown. */
  readonly isDone: boolean
}

/** A feed of the items that a filter shows of another feed. */
class FilteredFeed<E> implements OpenFeed<E> {
  readonly #feed: OpenFeed<E>
  readonly #filter: FeedFilter

  constructor(feed: OpenFeed<E>, filter: FeedFilter) {
    this.#feed = feed
    this.#filter = filter
  }

  readonly pull: OpenFeed<E>["pull"] = Effect.suspend(() =>
    this.#filter.isDone ? Cause.done() : this.#pulled
  )

  readonly #pulled: OpenFeed<E>["pull"] = Effect.flatMap(
    Effect.suspend(() => this.#feed.pull),
    (items) => {
      const shown = this.#filter.apply(items)
      return hasItems(shown) ? Effect.succeed(shown) : this.pull
    }
  )

  takeAvailable(): ReturnType<OpenFeed<E>["takeAvailable"]> {
    while (!this.#filter.isDone) {
      const items = this.#feed.takeAvailable()
      if (typeof items === "string") return items
      const shown = this.#filter.apply(items)
      if (hasItems(shown)) return shown
    }
    return "pull"
  }

  whenAvailable(callback: () => void): void {
    this.#feed.whenAvailable(callback)
  }
}

/**
 * A run from `from` to its end. `CaughtUp` also comes for a run that had ended before: after its last event, and before the
 * events of later runs.
 */
const runFeed = <E>(feed: OpenFeed<E>, task: AgentTask, from: Cursor): OpenFeed<E> =>
  new FilteredFeed(feed, new RunFilter(task, from))

const forCustomers: FeedFilter = {
  apply: (items) => items.flatMap((item) => customerItem(item) ?? []),
  isDone: false
}

/** The items that the principal may see; for a customer, those that `CustomerView` shows. */
const visibleTo = <E>(by: Principal, feed: OpenFeed<E>): OpenFeed<E> =>
  isCustomer(by) ? new FilteredFeed(feed, forCustomers) : feed

/**
 * A run from its start to its end, or a conversation from its start: whichever has this id in the principal's tenant. Fails with
 * ConversationNotFound if neither does. The generator function is created once, because V8 keeps what a generator function
 * references, if it is created for each watch, until a full collection (bench row `send`).
 */
export const openFeed = Effect.fnUntraced(function* (
  given: string,
  after: Cursor | undefined,
  who: Principal
) {
  const by = yield* Entries.entitled(who, "follow")
  const id = yield* Entries.conversationId(given, "conversation")
  const agents = yield* AgentRuntime
  // Looks for a run first, because most watchers want the run that they have just sent (bench row `send-durable`).
  const task = isRunId(id)
    ? yield* Effect.catchTag(followedTask(id, by), "RunNotFound", () => Effect.undefined)
    : undefined
  if (task !== undefined) {
    const from =
      after === undefined
        ? { ordinal: task.ordinal, seq: -1 }
        : yield* Entries.cursor(after, "after")
    const feed = yield* agents.openFeed(task.conversation, from, by)
    return visibleTo(by, runFeed(feed, task, from))
  }
  yield* loggingRefusals(by, "follow", conversationFor(by, "follow", id))
  return visibleTo(by, yield* agents.openFeed(id, after ?? { ordinal: 0, seq: -1 }, by))
})

/** The feed of `openFeed` as a stream. */
export const watchFeed = (...of: Parameters<typeof openFeed>) => feedStream(openFeed(...of))
