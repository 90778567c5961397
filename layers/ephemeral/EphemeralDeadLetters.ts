/**
 * The dead letters of one process: reading, replaying and discarding them, and which of them the store in memory keeps: the newest
 * 10,000, so that a receiver that is gone for good does not fill the process.
 */
import { Clock, Effect, Layer } from "effect"
import type { DeadLetterQuery, Undelivered } from "../../services/OutboxReader.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import type { DeadLetterResolution } from "../../services/OutboxReplayer.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { dispatched_topic } from "../../services/TaskStore.ts"
import type {
  DeadLetter,
  DeadLetterStatus,
  DeliveryFailure
} from "../../src/delivery/OutboxMessage.ts"
import { DeadLetterNotFound, DeadLetterResolved } from "../../src/delivery/OutboxMessage.ts"
import { bulk_max, counted_max } from "../../src/operation/Page.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import type { Store } from "./EphemeralStore.ts"
import { EphemeralStore, enqueueMessage } from "./EphemeralStore.ts"

const page_max = 500
/** One more than a bulk takes, which tells that there are more. */
const matching_max = bulk_max + 1

const matches = (letter: DeadLetter, query: DeadLetterQuery): boolean =>
  letter.tenant === query.tenant &&
  letter.status === (query.status ?? "dead") &&
  (query.handler_name === undefined || letter.handler_name === query.handler_name) &&
  (query.key === undefined || letter.key === query.key) &&
  (query.error === undefined || (letter.failures.at(-1)?.error.startsWith(query.error) ?? false)) &&
  letter.dead_at >= (query.dead_from ?? -Infinity) &&
  letter.dead_at <= (query.dead_to ?? Infinity)

/** The letters that come after the query's `after`, in the given order; none if that letter is unknown. */
const lettersBehind = (
  letters: ReadonlyArray<DeadLetter>,
  { after, tenant }: DeadLetterQuery
): ReadonlyArray<DeadLetter> => {
  if (after === undefined) return letters
  const at = letters.findIndex((letter) => letter.event_id === after && letter.tenant === tenant)
  return at === -1 ? [] : letters.slice(at + 1)
}

/** The letters that match, newest first. */
const found = (store: Store, query: DeadLetterQuery, most: number): ReadonlyArray<DeadLetter> =>
  lettersBehind(
    [...store.dead.values()].reverse().map((stored) => stored.letter),
    query
  )
    .filter((letter) => matches(letter, query))
    .slice(0, Math.min(query.limit, most))

/** What is counted of a message. */
interface Counted {
  readonly tenant: Tenant
  readonly topic: string
  readonly at: number
  readonly failures: ReadonlyArray<DeliveryFailure>
}

function* waiting({ messages }: Store): Iterable<Counted> {
  for (const { failures, message } of messages.values()) {
    yield { ...message, at: message.created_at, failures }
  }
}

function* dead(store: Store): Iterable<Counted> {
  for (const { letter } of [...store.dead.values()].reverse()) {
    const { dead_at: at, handler_name: topic, status } = letter
    if (status === "dead") yield { ...letter, topic, at }
  }
}

/** What of a tenant is counted, by topic. */
const undelivered = (tenant: Tenant, from: Iterable<Counted>): ReadonlyArray<Undelivered> => {
  const found = new Map<string, Undelivered>()
  let left = counted_max + 1
  for (const { at, failures, topic, ...message } of from) {
    if (message.tenant !== tenant) continue
    if (left-- === 0) break
    const known = found.get(topic)
    const [newest] = [failures.at(-1), known?.last_failure]
      .filter((each) => each !== undefined)
      .sort((a, b) => b.at - a.at)
    found.set(topic, {
      topic,
      count: (known?.count ?? 0) + 1,
      failed: (known?.failed ?? 0) + Math.min(failures.length, 1),
      oldest_at: Math.min(known?.oldest_at ?? at, at),
      last_failure: newest
    })
  }
  return [...found.values()].sort((a, b) => (a.topic < b.topic ? -1 : 1))
}

const reader = Effect.map(EphemeralStore, (store) =>
  OutboxReader.of({
    deadLetters: (query) => Effect.sync(() => found(store, query, page_max)),
    matching: (query) =>
      Effect.sync(() => found(store, query, matching_max).map(({ event_id }) => event_id)),
    undelivered: (tenant, which = "waiting") =>
      Effect.sync(() => undelivered(tenant, which === "dead" ? dead(store) : waiting(store))),
    deadLetter: Effect.fn("OutboxReader.deadLetter")(function* (tenant, event_id) {
      const letter = store.dead.get(event_id)?.letter
      if (letter?.tenant !== tenant) return yield* new DeadLetterNotFound({ event_id })
      return letter
    })
  })
)

const resolve = Effect.fnUntraced(function* (
  store: Store,
  { by, event_id, reason, tenant }: DeadLetterResolution,
  status: Exclude<DeadLetterStatus, "dead">
) {
  const now = yield* Clock.currentTimeMillis
  const stored = store.dead.get(event_id)
  if (stored?.letter.tenant !== tenant) return yield* new DeadLetterNotFound({ event_id })
  if (stored.letter.status !== "dead") {
    return yield* new DeadLetterResolved({ event_id, status: stored.letter.status })
  }
  stored.letter = {
    ...stored.letter,
    status,
    resolved_by: by,
    resolved_at: now,
    resolved_reason: reason
  }
  if (status === "replayed")
    enqueueMessage(store, stored.message, now, true, stored.letter.failures)
  return undefined
})

const replayer = Effect.map(EphemeralStore, (store) =>
  OutboxReplayer.of({
    replay: Effect.fn("OutboxReplayer.replay")(function* (resolution) {
      yield* resolve(store, resolution, "replayed")
      for (const listener of store.written) listener()
    }),
    discard: Effect.fn("OutboxReplayer.discard")(function* (resolution) {
      yield* resolve(store, resolution, "discarded")
    })
  })
)

const letters_max = 10_000
/** By how many letters the limit may be exceeded before the oldest are forgotten. */
const more_max = 500

type Letter = Store["dead"] extends Map<string, infer A> ? A : never

/**
 * Once there are more than 10,500, forgets replayed and discarded letters, the oldest first, and if that is not enough, the oldest
 * open ones. The dispatch of a task that is not over stays, however old it is: without it nobody could begin the task. Gives how
 * many of them were open.
 */
export const evictLetters = (store: Store): number => {
  if (store.dead.size <= letters_max + more_max) return 0
  evict(store, ({ letter }) => letter.status !== "dead")
  return evict(store, ({ message: { payload, topic } }) => {
    const { task_id } = payload as { readonly task_id?: RunId }
    const status = topic === dispatched_topic && task_id && store.tasks.get(task_id)?.task.status
    return status !== "pending" && status !== "processing"
  })
}

const evict = ({ dead }: Store, isEvictable: (letter: Letter) => boolean): number => {
  let forgotten = 0
  for (const [id, letter] of dead) {
    if (dead.size <= letters_max) break
    if (isEvictable(letter) && dead.delete(id)) forgotten++
  }
  return forgotten
}

export const layer: Layer.Layer<OutboxReader | OutboxReplayer, never, EphemeralStore> = Layer.merge(
  Layer.effect(OutboxReader, reader),
  Layer.effect(OutboxReplayer, replayer)
)
