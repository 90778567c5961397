/**
 * Replays or discards dead letters in PostgreSQL. A letter's new status and its new message commit together, in the ambient
 * transaction where there is one.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { DeadLetterResolution } from "../../../services/OutboxReplayer.ts"
import { OutboxReplayer } from "../../../services/OutboxReplayer.ts"
import type { DeadLetterStatus, NewOutboxMessage } from "../../../src/delivery/OutboxMessage.ts"
import { DeadLetterNotFound, DeadLetterResolved } from "../../../src/delivery/OutboxMessage.ts"
import { AgentName, MessageId } from "../../../src/value/Ids.ts"
import { letterCode, StoredLetterStatus } from "../engine/StoredStatus.ts"
import { isEventId, put } from "./OutboxRows.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"

const decodeLetters = rowDecoder(
  Schema.Struct({
    key: Schema.String,
    topic: Schema.String,
    /** Empty: the message is for no agent. */
    agent: Schema.Union([Schema.Literal(""), AgentName]),
    payload: Schema.fromJsonString(Schema.Json),
    status: StoredLetterStatus
  }),
  "dead letters"
)

/**
 * Sets the status of an open letter and gives its message. If two do so at once, the second waits for the row and then fails with
 * DeadLetterResolved.
 */
const resolve = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { by, event_id, reason, tenant }: DeadLetterResolution,
  status: Exclude<DeadLetterStatus, "dead">
) {
  if (!isEventId(event_id)) return yield* new DeadLetterNotFound({ event_id })
  const now = yield* Clock.currentTimeMillis
  const rows = yield* sql`
    SELECT d.key, d.handler_name AS topic, d.agent, d.payload, d.status FROM troupe.dead_letters d
    WHERE d.event_id = ${event_id}::uuid AND d.tenant = ${tenant}::text FOR UPDATE`
  const [row] = yield* decodeLetters(rows)
  if (row === undefined) return yield* new DeadLetterNotFound({ event_id })
  if (row.status !== "dead") {
    return yield* new DeadLetterResolved({ event_id, status: row.status })
  }
  yield* sql`
    UPDATE troupe.dead_letters SET status = ${letterCode(status)}::int2, resolved_by = ${JSON.stringify(by)}::text,
      resolved_at = ${now}::int8, resolved_reason = ${JSON.stringify(reason)}::text
    WHERE event_id = ${event_id}::uuid`
  const message: NewOutboxMessage = {
    id: MessageId.make(event_id),
    tenant,
    key: row.key,
    topic: row.topic,
    ...(row.agent === "" ? undefined : { agent: row.agent }),
    payload: row.payload
  }
  return message
})

const make = Effect.map(SqlClient.SqlClient, (sql) =>
  OutboxReplayer.of({
    replay: Effect.fn("OutboxReplayer.replay")(
      (resolution) =>
        inTransaction(sql)(
          Effect.flatMap(resolve(sql, resolution, "replayed"), (message) =>
            put(sql, [message], true)
          )
        ),
      Effect.mapError(orStoreError)
    ),
    discard: Effect.fn("OutboxReplayer.discard")(
      (resolution) => inTransaction(sql)(Effect.asVoid(resolve(sql, resolution, "discarded"))),
      Effect.mapError(orStoreError)
    )
  })
)

export const layer: Layer.Layer<OutboxReplayer, never, SqlClient.SqlClient> = Layer.effect(
  OutboxReplayer,
  make
)
