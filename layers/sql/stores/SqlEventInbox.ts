/**
 * Received events, in SQL. An event's row is inserted first, so that of two simultaneous deliveries the second waits for the
 * first.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { EventKey } from "../../../services/EventInbox.ts"
import { EventInbox } from "../../../services/EventInbox.ts"
import type { NewTask } from "../../../services/TaskStore.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import type { BindingTarget } from "../../../src/conversation/ChannelBinding.ts"
import { bindings_max } from "../../../src/conversation/ChannelBinding.ts"
import type { ReceivedEvent } from "../../../src/delivery/IncomingEvent.ts"
import { EventConflict } from "../../../src/delivery/IncomingEvent.ts"
import { ConversationId, RunId } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"

const forget_max = 1_000

const decodeSeen = rowDecoder(
  Schema.Struct({
    digest: Schema.String,
    task: Schema.NullOr(RunId),
    conversation: Schema.NullOr(ConversationId)
  }),
  "events"
)

/**
 * What the event caused when it came before; undefined = it is new. Fails with EventConflict where its content was another one.
 */
const seenBefore = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { digest, id, source, tenant }: EventKey
) {
  const [seen] = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT digest, task::text AS task, conversation FROM troupe.event_inbox
       WHERE tenant = $1::text AND source = $2::text AND event = $3::text`,
      [tenant, JSON.stringify(source), JSON.stringify(id)]
    ),
    decodeSeen
  )
  if (seen === undefined) return undefined
  if (seen.digest !== digest) return yield* new EventConflict({ source, id })
  const received: ReceivedEvent = {
    isNew: false,
    ...(seen.conversation === null ? undefined : { conversation: seen.conversation }),
    ...(seen.task === null ? undefined : { task: seen.task })
  }
  return received
})

/** As `seenBefore`, but records the event if it is new. */
const remembered = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  event: EventKey,
  task: Pick<NewTask, "id" | "conversation"> | undefined
) {
  const { digest, id, source, tenant } = event
  const now = yield* Clock.currentTimeMillis
  const made = yield* sql.unsafe(
    `INSERT INTO troupe.event_inbox (tenant, source, event, digest, task, conversation, at)
     VALUES ($1::text, $2::text, $3::text, $4::text, $5::uuid, $6::text, $7::int8) ON CONFLICT DO NOTHING RETURNING 1`,
    [
      tenant,
      JSON.stringify(source),
      JSON.stringify(id),
      digest,
      task?.id ?? null,
      task?.conversation ?? null,
      now
    ]
  )
  if (made.length > 0) return undefined
  // If the row was deleted between the two statements, the event is too old to be accepted.
  return (yield* seenBefore(sql, event)) ?? { isNew: false }
})

/**
 * Gives the task's message the role `system`. It is the last message of its conversation, whose row this transaction has locked.
 */
const asSystem = (sql: SqlClient.SqlClient, { conversation, id, tenant }: NewTask) =>
  sql.unsafe(
    `UPDATE troupe.conversation_messages m SET role = 'system'
     WHERE m.tenant = $1::text AND m.conversation = $2::text AND m.run_id = $3::uuid AND m.seq = (
       SELECT c.messages - 1 FROM troupe.conversations c WHERE c.id = $2::text AND c.tenant = $1::text)`,
    [tenant, conversation, id]
  )

const bound = (
  sql: SqlClient.SqlClient,
  { conversation, tenant }: NewTask,
  targets: ReadonlyArray<BindingTarget>
) =>
  sql.unsafe(
    `INSERT INTO troupe.channel_bindings (tenant, conversation, channel, address, recipient)
     SELECT $1::text, $2::text, t.channel, t.address, t.recipient
     FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS t(channel, address, recipient, place)
     ORDER BY t.place ON CONFLICT DO NOTHING`,
    [
      tenant,
      conversation,
      targets.map(({ channel }) => channel),
      targets.map(({ address }) => JSON.stringify(address)),
      targets.map(({ recipient }) => JSON.stringify(recipient))
    ]
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tasks = yield* TaskStore

  const accept = Effect.fnUntraced(function* (
    event: EventKey,
    task: NewTask,
    targets: ReadonlyArray<BindingTarget>
  ) {
    const before = yield* remembered(sql, event, task)
    if (before !== undefined) return before
    const { task: accepted } = yield* Effect.catchTag(
      tasks.accept(task),
      "IdempotencyConflict",
      Effect.die
    )
    yield* asSystem(sql, task)
    if (accepted.ordinal === 1 && targets.length > 0) {
      yield* bound(sql, task, targets.slice(0, bindings_max))
    }
    const received: ReceivedEvent = {
      isNew: true,
      conversation: task.conversation,
      task: task.id
    }
    return received
  })

  return EventInbox.of({
    accept: Effect.fn("EventInbox.accept")(
      (event, task, targets) => inTransaction(sql)(accept(event, task, targets)),
      Effect.mapError(orStoreError)
    ),
    known: Effect.fn("EventInbox.known")(
      (event) => seenBefore(sql, event),
      Effect.mapError(orStoreError)
    ),
    remember: Effect.fn("EventInbox.remember")(
      (event) => Effect.map(remembered(sql, event, undefined), (before) => before === undefined),
      Effect.mapError(orStoreError)
    ),
    forget: Effect.fn("EventInbox.forget")(
      (before, limit) =>
        Effect.map(
          sql.unsafe(
            `DELETE FROM troupe.event_inbox WHERE ctid = ANY (ARRAY (
               SELECT ctid FROM troupe.event_inbox WHERE at < $1::int8 ORDER BY at LIMIT $2::int4)) RETURNING 1`,
            [before, Math.min(limit, forget_max)]
          ),
          (rows) => rows.length
        ),
      Effect.mapError(orStoreError)
    )
  })
})

export const layer: Layer.Layer<EventInbox, never, SqlClient.SqlClient | TaskStore> = Layer.effect(
  EventInbox,
  make
)
