/**
 * The outbox in one process. It has no transactions: a message that is enqueued can be claimed at once.
 */
import { Clock, Effect, Layer } from "effect"
import type { OutboxClaim, OutboxRoutes } from "../../services/Outbox.ts"
import { Outbox } from "../../services/Outbox.ts"
import type { OutboxMessage } from "../../src/delivery/OutboxMessage.ts"
import type { MessageId } from "../../src/value/Ids.ts"
import type { Store, StoredMessage } from "./EphemeralStore.ts"
import { EphemeralStore, enqueueMessage, leaseMessage, removeMessage } from "./EphemeralStore.ts"
import { evictLetters } from "./EphemeralDeadLetters.ts"
import { groupByTenant, roundRobin } from "./RoundRobin.ts"

const claim_max = 500
const error_max = 500
/** The most failures that are kept for one message; older ones are dropped. */
const failures_max = 100

/** The first message of each key. */
function* heads(store: Store): Iterable<StoredMessage> {
  for (const key of store.keys.values()) {
    for (const head of key.waiting) {
      yield head
      break
    }
  }
}

const isOnRoutes =
  ({ agents = [], topics }: OutboxRoutes) =>
  ({ message: { agent, topic } }: StoredMessage): boolean =>
    topics.includes(topic) && (agent === undefined || agents.includes(agent))

/** The due messages of each tenant, oldest first. Tenants are sorted by name, starting with the first one after `after`. */
const dueByTenant = (store: Store, claim: OutboxClaim, now: number) => {
  const matches = isOnRoutes(claim)
  const due = [...heads(store)].filter(
    (head) => head.due_at <= now && head.leased_until <= now && matches(head)
  )
  return groupByTenant(due, ({ message }) => message.tenant, claim.after).map(([tenant, those]) =>
    those
      .sort((a, b) => a.due_at - b.due_at || a.place - b.place)
      .slice(0, Math.max(0, claim.rooms?.get(tenant) ?? claim.room ?? claim_max))
  )
}

const take = (store: Store, claim: OutboxClaim, now: number): ReadonlyArray<OutboxMessage> => {
  const picked = [...roundRobin(dueByTenant(store, claim, now))]
  return picked.slice(0, Math.max(0, Math.min(claim.limit, claim_max))).map((stored) => {
    leaseMessage(stored, claim, now)
    return stored.message
  })
}

/** The message, if this owner was the last to claim it; otherwise undefined. */
const owned = (store: Store, id: MessageId, owner: string): StoredMessage | undefined => {
  const stored = store.messages.get(id)
  return stored?.owner === owner ? stored : undefined
}

const moveToDeadLetters = (store: Store, stored: StoredMessage, now: number) => {
  const { message } = stored
  removeMessage(store, stored)
  // A message that was a dead letter before moves to the end of the list.
  store.dead.delete(message.id)
  store.dead.set(message.id, {
    message,
    letter: {
      event_id: message.id,
      tenant: message.tenant,
      handler_name: message.topic,
      key: message.key,
      payload: message.payload,
      attempts: message.attempts,
      failures: stored.failures,
      dead_at: now,
      status: "dead"
    }
  })
}

const nextDueAt = (store: Store, routes: OutboxRoutes): number | undefined => {
  const matches = isOnRoutes(routes)
  let next: number | undefined
  for (const head of heads(store)) {
    if (!matches(head)) continue
    const due = Math.max(head.due_at, head.leased_until)
    if (next === undefined || due < next) next = due
  }
  return next
}

const make = Effect.map(EphemeralStore, (store) =>
  Outbox.of({
    enqueue: Effect.fn("Outbox.enqueue")(function* (messages) {
      const now = yield* Clock.currentTimeMillis
      for (const message of messages) {
        if (store.messages.has(message.id) || store.dead.has(message.id)) continue
        enqueueMessage(store, message, now, false)
      }
      for (const listener of store.written) listener()
    }),
    claim: (claim) => Effect.map(Clock.currentTimeMillis, (now) => take(store, claim, now)),
    release: (owners) =>
      Effect.sync(() => {
        let found = false
        for (const stored of store.messages.values()) {
          if (stored.owner === undefined || !owners.includes(stored.owner)) continue
          found = true
          const attempts = Math.max(0, stored.message.attempts - 1)
          stored.message = { ...stored.message, attempts }
          stored.owner = undefined
          stored.leased_until = 0
        }
        // A release that finds no message wakes nobody: a relay that releases before each claim would otherwise wake itself
        // forever.
        if (found) for (const listener of store.written) listener()
      }),
    delivered: (id, owner) =>
      Effect.sync(() => {
        const stored = owned(store, id, owner)
        if (stored !== undefined) removeMessage(store, stored)
        return stored !== undefined
      }),
    failed: Effect.fn("Outbox.failed")(function* (id, owner, error, retry_at) {
      const at = yield* Clock.currentTimeMillis
      const stored = owned(store, id, owner)
      if (stored === undefined) return false
      const attempt = stored.message.attempts
      stored.failures.push({ at, attempt, error: error.slice(0, error_max) })
      if (stored.failures.length > failures_max) stored.failures.shift()
      stored.owner = undefined
      stored.leased_until = 0
      if (retry_at === undefined) {
        moveToDeadLetters(store, stored, at)
        const forgotten = evictLetters(store)
        if (forgotten > 0) {
          yield* Effect.logWarning(`${forgotten} dead letters that nobody settled were forgotten`)
        }
      } else stored.due_at = retry_at
      return true
    }),
    depth: Effect.sync(() => store.messages.size),
    nextDueAt: (routes) => Effect.sync(() => nextDueAt(store, routes)),
    onWritten: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void store.written.add(listener)),
        () => Effect.sync(() => void store.written.delete(listener))
      )
  })
)

export const layer: Layer.Layer<Outbox, never, EphemeralStore> = Layer.effect(Outbox, make)
