/**
 * Received events, in one process. It keeps the newest 100,000 of those that are recent enough to be delivered again.
 */
import { Clock, Effect, Layer } from "effect"
import type { EventKey } from "../../services/EventInbox.ts"
import { EventInbox } from "../../services/EventInbox.ts"
import type { NewTask } from "../../services/TaskStore.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { bindings_max } from "../../src/conversation/ChannelBinding.ts"
import type { BindingTarget } from "../../src/conversation/ChannelBinding.ts"
import type { ReceivedEvent } from "../../src/delivery/IncomingEvent.ts"
import { EventConflict } from "../../src/delivery/IncomingEvent.ts"
import type { Store } from "./EphemeralStore.ts"
import { EphemeralStore, offerRows, tenantKey } from "./EphemeralStore.ts"

const forget_max = 1_000
const seen_max = 100_000

interface Seen {
  readonly digest: string
  readonly at: number
  /** The task and the conversation of the event; empty if the event caused no task. */
  done: Omit<ReceivedEvent, "isNew">
}

const nameOf = ({ id, source, tenant }: EventKey): string => tenantKey(tenant, `${source}\0${id}`)

/** Gives the task's message the role `system`, and binds the conversation to the targets if the task began it. */
const written = (store: Store, task: NewTask, targets: ReadonlyArray<BindingTarget>): void => {
  const { conversation, id, tenant } = task
  const stored = store.conversations.get(tenantKey(tenant, conversation))
  if (stored === undefined) return
  stored.messages = stored.messages.map((each) =>
    each.run_id === id && each.role === "user" ? { ...each, role: "system" } : each
  )
  if (stored.counts.tasks > stored.first || targets.length === 0) return
  stored.bindings = targets
    .slice(0, bindings_max)
    .map((target) => ({ tenant, conversation, ...target }))
}

/** Records an event and gives its key in the map. Removes the oldest event if there are too many. */
const keep = (seen: Map<string, Seen>, event: EventKey, at: number, done: Seen["done"]): string => {
  const name = nameOf(event)
  seen.set(name, { digest: event.digest, at, done })
  const [oldest] = seen.size > seen_max ? seen.keys() : []
  if (oldest !== undefined) seen.delete(oldest)
  return name
}

const make = Effect.gen(function* () {
  const store = yield* EphemeralStore
  const tasks = yield* TaskStore
  /** Oldest first. */
  const seen = new Map<string, Seen>()

  const known = (event: EventKey): Effect.Effect<Seen, EventConflict> | undefined => {
    const before = seen.get(nameOf(event))
    if (before === undefined) return undefined
    const { id, source } = event
    return before.digest === event.digest
      ? Effect.succeed(before)
      : Effect.fail(new EventConflict({ source, id }))
  }

  yield* offerRows("event_inbox", (tenant) =>
    [...seen].flatMap(([name, event]) => {
      const [whose, source, id] = name.split("\0")
      if (whose !== tenant) return []
      const replace = (marked: unknown) => {
        seen.delete(name)
        seen.set(tenantKey(tenant, (marked as ReadonlyArray<string>).join("\0")), event)
      }
      return [{ value: [source, id], remove: () => void seen.delete(name), replace }]
    })
  )

  return EventInbox.of({
    known: (event) =>
      Effect.suspend(() => {
        const before = known(event)
        return before === undefined
          ? Effect.succeed(undefined)
          : Effect.map(before, ({ done }): ReceivedEvent => ({ isNew: false, ...done }))
      }),
    accept: Effect.fn("EventInbox.accept")(function* (event, task, targets) {
      const before = known(event)
      if (before !== undefined) return { isNew: false, ...(yield* before).done }
      const done = { conversation: task.conversation, task: task.id }
      const at = yield* Clock.currentTimeMillis
      // The event is recorded before the task is accepted, so that a second delivery meanwhile queues no second task.
      const name = keep(seen, event, at, done)
      yield* tasks.accept(task).pipe(
        Effect.catchTag("IdempotencyConflict", Effect.die),
        Effect.onError(() => Effect.sync(() => seen.delete(name)))
      )
      written(store, task, targets)
      return { isNew: true, ...done }
    }, Effect.uninterruptible),
    remember: Effect.fn("EventInbox.remember")(function* (event) {
      const before = known(event)
      if (before !== undefined) return (yield* before) === undefined
      const at = yield* Clock.currentTimeMillis
      keep(seen, event, at, {})
      return true
    }),
    forget: (before, limit) =>
      Effect.sync(() => {
        let forgotten = 0
        for (const [name, { at }] of seen) {
          if (at >= before || forgotten >= Math.min(limit, forget_max)) break
          seen.delete(name)
          forgotten++
        }
        return forgotten
      })
  })
})

export const layer: Layer.Layer<EventInbox, never, EphemeralStore | TaskStore> = Layer.effect(
  EventInbox,
  make
)
