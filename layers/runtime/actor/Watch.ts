/**
 * A conversation's events from a cursor on, then those to come: read from the journal until it has caught up, from then on as
 * the feed has them, which is what this process commits and the pieces of turns in progress. A watcher that goes away cancels
 * nothing.
 */
import { Effect, Stream } from "effect"
import type { ConversationId, Tenant } from "../../../src/Ids.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { Cursor, FeedItem } from "../../../services/AgentRuntime.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Feed } from "../loop/Feed.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import * as JournalTail from "./JournalTail.ts"

interface Services extends JournalTail.Services {
  readonly deadlines: Deadlines
  readonly feed: Feed
  /** After how long without a wakeup a watcher reads the journal. */
  readonly watch_ms: number
}

/** A wakeup that comes while the watcher does not wait is kept for its next wait. */
class WatchWakeup {
  #isPending = true
  #isUnknown = true
  #resume: (() => void) | undefined

  wake(isUnknown: boolean): void {
    this.#isPending = true
    if (isUnknown) this.#isUnknown = true
    this.#resume?.()
  }

  /**
   * Ends at a wakeup, or after `ms`, and takes the wakeups that have come until then. True = the journal may have what the feed
   * knows nothing of.
   */
  wait(deadlines: Deadlines, ms: number): Effect.Effect<boolean> {
    const woken = Effect.callback<void>((done) => {
      if (this.#isPending) return done(Effect.void)
      const end = () => {
        this.#resume = undefined
        cancel()
        done(Effect.void)
      }
      const cancel = deadlines.after(ms, () => {
        this.#isUnknown = true
        end()
      })
      this.#resume = end
      return Effect.sync(end)
    })
    return Effect.map(woken, () => {
      const isUnknown = this.#isUnknown
      this.#isPending = false
      this.#isUnknown = false
      return isUnknown
    })
  }
}

export const watch = (
  services: Services,
  tenant: Tenant,
  conversation: ConversationId,
  after: Cursor
): Stream.Stream<FeedItem, RunQuarantined | StoreError | JournalError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { deadlines, feed, watch_ms } = services
      const wakeup = new WatchWakeup()
      const watcher = yield* Effect.acquireRelease(
        Effect.sync(() => feed.watch(tenant, conversation, (isUnknown) => wakeup.wake(isUnknown))),
        (opened) => Effect.sync(() => opened.close())
      )
      const tail = JournalTail.make(services, { tenant, conversation, after, watcher })
      let isCaughtUp = false
      const next = Effect.fnUntraced(function* () {
        const { isLast, isMoreDue, items } = yield* tail.next(
          yield* wakeup.wait(deadlines, watch_ms)
        )
        const shown = [...items]
        if (!isCaughtUp && isLast) {
          isCaughtUp = true
          shown.push({ _tag: "CaughtUp", ...tail.cursor() })
        }
        if (isMoreDue || !isLast) wakeup.wake(false)
        for (const piece of watcher.take()) if (!tail.isStale(piece)) shown.push(piece)
        return shown
      })
      return Stream.flattenIterable(Stream.fromEffectRepeat(next()))
    })
  )
