/**
 * A conversation's events from a cursor on, then those to come. The journal is the source; a wakeup only says when to
 * read it, and the pieces of the turn in progress come from the feed. A watcher that goes away cancels nothing.
 */
import { Effect, Stream } from "effect"
import type { ConversationId, Tenant } from "../../../src/Ids.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { Cursor, FeedItem } from "../../../services/AgentRuntime.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Feed } from "../loop/Feed.ts"
import { channelKey } from "../loop/Feed.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import * as JournalTail from "./JournalTail.ts"

interface Services extends JournalTail.Services {
  readonly deadlines: Deadlines
  readonly feed: Feed
  /** How long a watcher waits without a wakeup. */
  readonly watch_ms: number
}

/** A wakeup that comes while the watcher does not wait is kept for its next wait. */
class WatchWakeup {
  #isPending = true
  #resume: (() => void) | undefined

  wake(): void {
    this.#isPending = true
    this.#resume?.()
  }

  /** Ends at a wakeup, or after `ms`, and takes the wakeups that have come until then. */
  wait(deadlines: Deadlines, ms: number): Effect.Effect<void> {
    const woken = Effect.callback<void>((done) => {
      if (this.#isPending) return done(Effect.void)
      const end = () => {
        this.#resume = undefined
        cancel()
        done(Effect.void)
      }
      const cancel = deadlines.after(ms, end)
      this.#resume = end
      return Effect.sync(end)
    })
    return Effect.map(woken, () => {
      this.#isPending = false
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
      const tail = JournalTail.make(services, tenant, conversation, after)
      const watcher = yield* Effect.acquireRelease(
        Effect.sync(() => feed.watch(channelKey(tenant, conversation), () => wakeup.wake())),
        (opened) => Effect.sync(() => opened.close())
      )
      let isCaughtUp = false
      const next = Effect.fnUntraced(function* () {
        yield* wakeup.wait(deadlines, watch_ms)
        const { isLast, isMoreDue, items } = yield* tail.next()
        const shown = [...items]
        if (!isCaughtUp && isLast) {
          isCaughtUp = true
          shown.push({ _tag: "CaughtUp", ...tail.cursor() })
        }
        if (isMoreDue || !isLast) wakeup.wake()
        for (const piece of watcher.take()) if (!tail.isStale(piece)) shown.push(piece)
        return shown
      })
      return Stream.flattenIterable(Stream.fromEffectRepeat(next()))
    })
  )
