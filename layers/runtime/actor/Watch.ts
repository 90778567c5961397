/**
 * A conversation's events from a cursor on, then those to come. The journal is the source; a wakeup only says when to look,
 * and the pieces of the turn in progress come from the feed. A watcher that goes away cancels nothing.
 */
import { Effect, Stream } from "effect"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { ConversationId, Tenant } from "../../../src/Ids.ts"
import type { Cursor, FeedItem } from "../../../services/AgentRuntime.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { JournalError, RunJournal } from "../../../services/RunJournal.ts"
import type { StoreError, TaskStore } from "../../../services/TaskStore.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { Feed } from "../loop/Feed.ts"
import { placeOf } from "../loop/Feed.ts"

interface Services {
  readonly journal: RunJournal["Service"]
  readonly tasks: TaskStore["Service"]
  readonly deadlines: Deadlines
  readonly feed: Feed
  readonly watch_ms: number
}

/** Events that one look at the journal takes: few, because each may hold a result of several megabytes. */
const page_max = 16

export const watch = (
  services: Services,
  tenant: Tenant,
  conversation: ConversationId,
  after: Cursor
): Stream.Stream<FeedItem, RunQuarantined | StoreError | JournalError> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { deadlines, feed, journal, tasks, watch_ms } = services
      let cursor = after
      let woken = true
      let isCaughtUp = false
      let resume: (() => void) | undefined
      const watcher = yield* Effect.acquireRelease(
        Effect.sync(() =>
          feed.watch(placeOf(tenant, conversation), () => {
            woken = true
            const wake = resume
            resume = undefined
            wake?.()
          })
        ),
        (opened) => Effect.sync(() => opened.close())
      )
      /** The last step that was journaled, by run and frame: pieces of it and of older ones are stale. */
      const turned = new Map<string, number>()
      /** Calls of runs in progress that have their result: what they showed before it is stale. */
      const settled = new Set<string>()

      const wait: Effect.Effect<void> = Effect.callback((done) => {
        if (woken) return done(Effect.void)
        const cancel = deadlines.after(watch_ms, () => {
          resume = undefined
          done(Effect.void)
        })
        resume = () => {
          cancel()
          done(Effect.void)
        }
        return Effect.sync(() => {
          resume = undefined
          cancel()
        })
      })

      /** Whoever waits behind a run in quarantine is told so, instead of waiting until somebody releases it. */
      const unblocked = Effect.fnUntraced(function* (task: AgentTask) {
        const [first] = yield* journal.unfinished(tenant, task.address, 1)
        if (first?.quarantined !== true || first.ordinal >= task.ordinal) return
        yield* journal.read(first.run_id, first.length, 1)
      })

      const events = Effect.fnUntraced(function* () {
        const found: Array<FeedItem> = []
        const { ordinal } = cursor
        for (const task of yield* tasks.ofConversation(tenant, conversation, ordinal - 1, 100)) {
          if (task.ordinal > cursor.ordinal) cursor = { ordinal: task.ordinal, seq: -1 }
          const from = cursor.seq + 1
          const entries = yield* Effect.catchTag(
            journal.read(task.id, from, page_max),
            "RunQuarantined",
            (why) =>
              // What can be read is shown first.
              why.seq > from
                ? journal.read(task.id, from, Math.min(why.seq - from, page_max))
                : Effect.fail(why)
          )
          for (const entry of entries) {
            found.push({ _tag: "Event", run: task.id, ordinal: task.ordinal, entry })
            if (entry.event._tag === "ModelTurned")
              turned.set(`${task.id}/${entry.event.frame}`, entry.event.step)
            if (entry.event._tag === "CallSettled") settled.add(`${task.id}/${entry.event.call}`)
            if (entry.event._tag === "RunEnded") {
              for (const key of turned.keys()) if (key.startsWith(task.id)) turned.delete(key)
              for (const key of settled) if (key.startsWith(task.id)) settled.delete(key)
            }
          }
          if (entries.length > 0) cursor = { ordinal: task.ordinal, seq: entries.at(-1)!.seq }
          // What there is of it is shown first.
          if (task.status === "pending") {
            if (entries.length === 0) yield* unblocked(task)
            else woken = true
          }
          if (found.length >= page_max) return found
          // Runs of a conversation follow each other: the next has nothing to show before this one has ended.
          if (entries.length === 0 ? !over(task.status) : entries.at(-1)!.event._tag !== "RunEnded")
            break
        }
        return found
      })

      const next = Effect.fnUntraced(function* () {
        yield* wait
        woken = false
        const items = yield* events()
        if (!isCaughtUp && items.length < page_max) {
          isCaughtUp = true
          items.push({ _tag: "CaughtUp", ordinal: cursor.ordinal, seq: cursor.seq })
        }
        if (items.length >= page_max) woken = true
        for (const piece of watcher.take()) {
          const isStale =
            piece._tag === "Output"
              ? settled.has(`${piece.run}/${piece.call}`)
              : piece.step <= (turned.get(`${piece.run}/${piece.frame}`) ?? 0)
          if (!isStale) items.push(piece)
        }
        return items
      })
      return Stream.flattenIterable(Stream.fromEffectRepeat(next()))
    })
  )

const over = (status: string): boolean => status === "complete" || status === "failed"
