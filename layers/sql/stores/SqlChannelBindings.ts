/**
 * The channels to which conversations are bound, in SQL. Those who bind channels to a conversation are serialised by the lock of
 * its row.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { ChannelBindings } from "../../../services/ChannelBindings.ts"
import type { BindingTarget, ChannelBinding } from "../../../src/conversation/ChannelBinding.ts"
import {
  BindingsFull,
  bindings_max,
  ChannelName
} from "../../../src/conversation/ChannelBinding.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import { ConversationId, Tenant } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const decodeBindings = rowDecoder(
  Schema.Struct({
    tenant: Tenant,
    conversation: ConversationId,
    channel: ChannelName,
    address: StoredText,
    recipient: StoredText,
    thread: Schema.NullOr(StoredText)
  }),
  "channels of a conversation"
)
const decodeCounts = rowDecoder(
  Schema.Struct({ bound: Schema.Int, is_there: Schema.Boolean }),
  "counts of channels"
)

const columns = "tenant, conversation, channel, address, recipient, thread"

const reading = (sql: SqlClient.SqlClient) => (text: string, params: ReadonlyArray<unknown>) =>
  sql.unsafe(text, params).pipe(
    Effect.flatMap(decodeBindings),
    Effect.mapBoth({
      onSuccess: (rows) =>
        rows.map(({ thread, ...row }): ChannelBinding =>
          thread === null ? row : { ...row, thread }
        ),
      onFailure: orStoreError
    })
  )

/** Binds a channel. It counts under the conversation's lock, so that two who bind at once cannot exceed the limit together. */
const bind = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  conversation: ConversationId,
  { address, channel, recipient }: BindingTarget
) {
  const locked = yield* sql.unsafe(
    `SELECT 1 FROM troupe.conversations WHERE id = $1::text AND tenant = $2::text FOR UPDATE`,
    [conversation, tenant]
  )
  if (locked.length === 0) return yield* new ConversationNotFound({ id: conversation })
  const place = [conversation, tenant, channel, JSON.stringify(address)]
  const [counted] = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT count(*)::int4 AS bound, coalesce(bool_or(channel = $3::text AND address = $4::text), false) AS is_there
       FROM troupe.channel_bindings WHERE conversation = $1::text AND tenant = $2::text`,
      place
    ),
    decodeCounts
  )
  if (counted?.is_there === true) return
  if ((counted?.bound ?? 0) >= bindings_max) return yield* new BindingsFull({ conversation })
  yield* sql.unsafe(
    `INSERT INTO troupe.channel_bindings (conversation, tenant, channel, address, recipient)
     VALUES ($1::text, $2::text, $3::text, $4::text, $5::text)`,
    [...place, JSON.stringify(recipient)]
  )
})

/**
 * Begins a thread. The unique index of threads decides between two that begin the same thread at once; the NOT EXISTS finds one
 * that existed before.
 */
const beginThread = (sql: SqlClient.SqlClient, binding: ChannelBinding, thread: string) => {
  const { address, channel, conversation, tenant } = binding
  return sql.unsafe(
    `UPDATE troupe.channel_bindings b SET thread = $5::text
     WHERE b.conversation = $1::text AND b.tenant = $2::text AND b.channel = $3::text AND b.address = $4::text
       AND b.thread IS NULL AND NOT EXISTS (SELECT FROM troupe.channel_bindings o
         WHERE o.thread = $5::text AND o.address = $4::text AND o.channel = $3::text AND o.tenant = $2::text)
     RETURNING 1`,
    [conversation, tenant, channel, JSON.stringify(address), JSON.stringify(thread)]
  )
}

const isAny = (rows: ReadonlyArray<unknown>): boolean => rows.length > 0

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  const read = reading(sql)
  return ChannelBindings.of({
    bind: Effect.fn("ChannelBindings.bind")(
      (tenant, conversation, target) => inTransaction(sql)(bind(sql, tenant, conversation, target)),
      Effect.mapError(orStoreError)
    ),
    unbind: Effect.fn("ChannelBindings.unbind")(
      (tenant, conversation, channel, address) =>
        Effect.map(
          sql.unsafe(
            `DELETE FROM troupe.channel_bindings
             WHERE conversation = $1::text AND tenant = $2::text AND channel = $3::text AND address = $4::text RETURNING 1`,
            [conversation, tenant, channel, JSON.stringify(address)]
          ),
          isAny
        ),
      Effect.mapError(orStoreError)
    ),
    of: (tenant, conversation) =>
      Effect.mapError(
        reads.of(tenant)(
          read(
            `SELECT ${columns} FROM troupe.channel_bindings WHERE conversation = $1::text AND tenant = $2::text
             ORDER BY position`,
            [conversation, tenant]
          )
        ),
        orStoreError
      ),
    setThread: Effect.fn("ChannelBindings.setThread")(
      (binding, thread) => Effect.map(beginThread(sql, binding, thread), isAny),
      Effect.mapError(orStoreError)
    ),
    byThread: (tenant, channel, address, thread) =>
      Effect.map(
        read(
          `SELECT ${columns} FROM troupe.channel_bindings
           WHERE thread = $1::text AND address = $2::text AND channel = $3::text AND tenant = $4::text`,
          [JSON.stringify(thread), JSON.stringify(address), channel, tenant]
        ),
        ([found]) => found
      )
  })
})

export const layer: Layer.Layer<ChannelBindings, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(ChannelBindings, make)
