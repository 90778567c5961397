/**
 * Received events. An event's row is added first, so that of two simultaneous deliveries the second waits for the first. A store that
 * is lost with its process keeps the newest 100,000.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { ConversationStore } from "../../services/ConversationStore.ts"
import type { EventKey } from "../../services/EventInbox.ts"
import { EventInbox } from "../../services/EventInbox.ts"
import { Rows } from "../../services/Rows.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { bindings_max } from "../../src/conversation/ChannelBinding.ts"
import { EventConflict } from "../../src/delivery/IncomingEvent.ts"
import { ConversationId, RunId, Tenant } from "../../src/value/Ids.ts"
import { channelBindings } from "./StoredChannelBindings.ts"
import { anyTenant, int8, optional, said, table, tableRows, text, uuid } from "./TypedRows.ts"

const forget_max = 1_000

export const eventInbox = table({
  name: "event_inbox",
  what: "events",
  key: ["event", "source", "tenant"],
  columns: {
    tenant: text(Tenant),
    source: said,
    event: said,
    digest: text(Schema.String),
    task: optional(uuid(RunId)),
    conversation: optional(text(ConversationId)),
    at: int8
  },
  erased: { marked: { source: "text", event: "text" } },
  group: [],
  kept: { rows_max: 100_000 }
})

/** What an event caused that queued this task; none = it queued none. */
type Cause = { readonly task: RunId; readonly conversation: ConversationId } | undefined

const make = Effect.gen(function* () {
  const driver = yield* Rows
  const conversations = yield* ConversationStore
  const tasks = yield* TaskStore
  const rows = tableRows(driver, eventInbox)
  const bindings = tableRows(driver, channelBindings)

  const known = Effect.fn("EventInbox.known")(function* ({ digest, id, source, tenant }: EventKey) {
    const seen = yield* rows.one({ tenant, source, event: id })
    if (seen === undefined) return undefined
    if (seen.digest !== digest) return yield* new EventConflict({ source, id })
    const { conversation, task } = seen
    return {
      isNew: false,
      ...(conversation === undefined ? undefined : { conversation }),
      ...(task === undefined ? undefined : { task })
    }
  })

  /** As `known`, but records the event if it is new. */
  const remembered = Effect.fnUntraced(function* (event: EventKey, caused: Cause) {
    const { id, ...key } = event
    const at = yield* Clock.currentTimeMillis
    if ((yield* rows.add([{ ...key, event: id, ...caused, at }])) > 0) return undefined
    // If the row was removed between the two, the event is too old to be accepted.
    return (yield* known(event)) ?? { isNew: false }
  })

  return EventInbox.of({
    known,
    accept: Effect.fn("EventInbox.accept")(function* (event, task, targets) {
      const { conversation, id, tenant } = task
      const caused = { conversation, task: id }
      const before = yield* remembered(event, caused)
      if (before !== undefined) return before
      const isNew = (yield* conversations.get(tenant, conversation)) === undefined
      yield* Effect.catchTag(tasks.accept(task), "IdempotencyConflict", Effect.die)
      const bound = isNew ? targets.slice(0, bindings_max) : []
      yield* bindings.add(bound.map((target) => ({ tenant, conversation, ...target })))
      return { isNew: true, ...caused }
    }, driver.transaction),
    remember: Effect.fn("EventInbox.remember")((event) =>
      Effect.map(remembered(event, undefined), (before) => before === undefined)
    ),
    forget: (before, limit) =>
      rows.remove({
        where: { tenant: anyTenant, at: ["<", before] },
        order: ["at"],
        limit: Math.min(limit, forget_max)
      })
  })
})

export const layer: Layer.Layer<EventInbox, never, ConversationStore | Rows | TaskStore> =
  Layer.effect(EventInbox, make)
