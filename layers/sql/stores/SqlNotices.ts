/**
 * Notices to people, in SQL.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection } from "effect/sql"
import type {
  DigestItem,
  NewNotices,
  NoticePage,
  NoticeRecipient
} from "../../../services/Notices.ts"
import { Notices } from "../../../services/Notices.ts"
import { Outbox } from "../../../services/Outbox.ts"
import { ChannelName } from "../../../src/conversation/ChannelBinding.ts"
import type { Notice } from "../../../src/delivery/Notice.ts"
import {
  NoticeContent,
  NoticeId,
  NoticePreferences,
  noPreferences
} from "../../../src/delivery/Notice.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import { readablePage, readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500
const unread_max = 1_000
const digest_max = 100
const forget_max = 1_000

const decodeNotices = readableRows(
  Schema.Struct({
    id: NoticeId,
    tenant: Tenant,
    recipient: StoredText,
    payload: Schema.fromJsonString(NoticeContent),
    created_at: Schema.Number,
    read_at: Schema.NullOr(Schema.Number)
  }),
  "notices"
)
const decodePreferences = rowDecoder(
  Schema.Struct({ payload: Schema.fromJsonString(NoticePreferences) }),
  "preferences"
)
/** An item that cannot be read is removed with the others and logged: a digest that waited for it would never be sent. */
const decodeItems = readableRows(
  Schema.Struct({
    tenant: Tenant,
    channel: ChannelName,
    address: StoredText,
    recipient: StoredText,
    payload: Schema.fromJsonString(NoticeContent)
  }),
  "items of a digest"
)
const decodeCounts = rowDecoder(Schema.Struct({ n: Schema.Int }), "counts of notices")

const putItems = (sql: SqlClient.SqlClient, items: ReadonlyArray<DigestItem>, at: number) =>
  items.length === 0
    ? Effect.void
    : sql.unsafe(
        `INSERT INTO troupe.digest_items (tenant, channel, address, recipient, payload, at)
         SELECT i.tenant, i.channel, i.address, i.recipient, i.payload, $6::int8
         FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) WITH ORDINALITY
           AS i(tenant, channel, address, recipient, payload, place) ORDER BY i.place`,
        [
          items.map(({ tenant }) => tenant),
          items.map(({ channel }) => channel),
          items.map(({ address }) => JSON.stringify(address)),
          items.map(({ recipient }) => JSON.stringify(recipient)),
          items.map(({ content }) => JSON.stringify(content)),
          at
        ]
      )

/**
 * Removes and gives items of one address: that of the oldest item that was added before `before`. Another process that takes
 * items at the same moment gets the next ones.
 */
const takeItems = (sql: SqlClient.SqlClient, before: number, limit: number) =>
  Effect.flatMap(
    sql.unsafe(
      `WITH oldest AS MATERIALIZED (
         SELECT i.tenant, i.channel, i.address FROM troupe.digest_items i WHERE i.at < $1::int8
         ORDER BY i.at, i.position LIMIT 1 FOR UPDATE SKIP LOCKED
       ), taken AS MATERIALIZED (
         SELECT i.position FROM troupe.digest_items i
         JOIN oldest o ON o.tenant = i.tenant AND o.channel = i.channel AND o.address = i.address
         ORDER BY i.position LIMIT $2::int4 FOR UPDATE OF i SKIP LOCKED
       ), gone AS (
         DELETE FROM troupe.digest_items i USING taken t WHERE i.position = t.position
         RETURNING i.position, i.tenant, i.channel, i.address, i.recipient, i.payload
       ) SELECT tenant, channel, address, recipient, payload FROM gone ORDER BY position`,
      [before, Math.min(limit, digest_max)]
    ),
    decodeItems
  )

/**
 * Notifies one person. The notice is inserted first, and only if it is new is the rest written. False = the person was notified
 * before.
 */
const telling = (sql: SqlClient.SqlClient, outbox: Outbox["Service"]) =>
  Effect.fnUntraced(function* (
    { about, content, tenant }: NewNotices,
    { digest, messages, recipient }: NoticeRecipient,
    now: number
  ) {
    const made = yield* sql.unsafe(
      `INSERT INTO troupe.notices (id, tenant, recipient, about, payload, created_at)
       VALUES (gen_random_uuid(), $1::text, $2::text, $3::text, $4::text, $5::int8) ON CONFLICT DO NOTHING RETURNING 1`,
      [tenant, JSON.stringify(recipient), about, JSON.stringify(content), now]
    )
    if (made.length === 0) return false
    yield* putItems(sql, digest, now)
    yield* outbox.enqueue(messages)
    return true
  })

const listed = (
  sql: SqlClient.SqlClient,
  { recipient, tenant, unread = false }: NoticePage,
  after: string | undefined,
  limit: number
) => {
  const params: Array<unknown> = [tenant, JSON.stringify(recipient), limit]
  const conditions = ["n.tenant = $1::text", "n.recipient = $2::text"]
  if (unread) conditions.push("n.read_at IS NULL")
  if (after !== undefined) {
    conditions.push(`n.position < (SELECT p.position FROM troupe.notices p
      WHERE p.id = $${params.push(after)}::uuid AND p.tenant = $1::text AND p.recipient = $2::text)`)
  }
  return sql.unsafe<SqlConnection.Row>(
    `SELECT n.id::text AS id, n.tenant, n.recipient, n.payload, n.created_at::float8 AS created_at,
       n.read_at::float8 AS read_at
     FROM troupe.notices n WHERE ${conditions.join(" AND ")} ORDER BY n.position DESC LIMIT $3::int4`,
    params
  )
}

/** The methods for people: their notices, and which channels they want. */
const ofPeople = (sql: SqlClient.SqlClient, reads: TenantReads["Service"]) =>
  ({
    list: Effect.fn("Notices.list")(function* (page: NoticePage) {
      const found = yield* readablePage({
        limit: Math.min(page.limit, page_max),
        after: page.after as string | undefined,
        rowsOf: (after, limit) => reads.of(page.tenant)(listed(sql, page, after, limit)),
        read: decodeNotices,
        keyOf: (row) => row["id"]
      })
      return found.map(({ payload, read_at, ...row }): Notice => ({
        ...row,
        ...payload,
        ...(read_at === null ? undefined : { read_at })
      }))
    }, Effect.mapError(orStoreError)),
    unread: (tenant: Tenant, recipient: string) =>
      reads
        .of(tenant)(
          sql.unsafe(
            `SELECT count(*)::int4 AS n FROM (SELECT FROM troupe.notices
             WHERE tenant = $1::text AND recipient = $2::text AND read_at IS NULL LIMIT ${unread_max}) x`,
            [tenant, JSON.stringify(recipient)]
          )
        )
        .pipe(
          Effect.flatMap(decodeCounts),
          Effect.mapBoth({ onSuccess: ([row]) => row?.n ?? 0, onFailure: orStoreError })
        ),
    read: Effect.fn("Notices.read")(function* (
      tenant: Tenant,
      recipient: string,
      ids: ReadonlyArray<NoticeId>
    ) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* sql.unsafe(
        `UPDATE troupe.notices SET read_at = $4::int8
         WHERE id = ANY ($3::text[]::uuid[]) AND tenant = $1::text AND recipient = $2::text AND read_at IS NULL RETURNING 1`,
        [tenant, JSON.stringify(recipient), ids.slice(0, page_max), now]
      )
      return rows.length
    }, Effect.mapError(orStoreError)),
    preferences: (tenant: Tenant, recipient: string) =>
      reads
        .of(tenant)(
          sql.unsafe(
            `SELECT payload FROM troupe.notice_preferences WHERE recipient = $1::text AND tenant = $2::text`,
            [JSON.stringify(recipient), tenant]
          )
        )
        .pipe(
          Effect.flatMap(decodePreferences),
          Effect.mapBoth({
            onSuccess: ([row]) => row?.payload ?? noPreferences,
            onFailure: orStoreError
          })
        ),
    prefer: Effect.fn("Notices.prefer")(
      (tenant: Tenant, recipient: string, preferences: NoticePreferences) =>
        Effect.asVoid(
          sql.unsafe(
            `INSERT INTO troupe.notice_preferences (recipient, tenant, payload) VALUES ($1::text, $2::text, $3::text)
             ON CONFLICT (recipient, tenant) DO UPDATE SET payload = excluded.payload`,
            [JSON.stringify(recipient), tenant, JSON.stringify(preferences)]
          )
        ),
      Effect.mapError(orStoreError)
    )
  }) satisfies Partial<Notices["Service"]>

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const tell = telling(sql, outbox)
  return Notices.of({
    ...ofPeople(sql, yield* TenantReads),
    record: Effect.fn("Notices.record")(function* (notices) {
      const now = yield* Clock.currentTimeMillis
      const told = yield* inTransaction(sql)(
        Effect.forEach(notices.recipients, (each) => tell(notices, each, now))
      )
      return told.filter((isTold) => isTold).length
    }, Effect.mapError(orStoreError)),
    digest: Effect.fn("Notices.digest")(
      (before, limit, messageOf) =>
        inTransaction(sql)(
          Effect.gen(function* () {
            const items = yield* takeItems(sql, before, limit)
            if (items.length === 0) return false
            yield* outbox.enqueue([
              messageOf(items.map(({ payload, ...item }) => ({ ...item, content: payload })))
            ])
            return true
          })
        ),
      Effect.mapError(orStoreError)
    ),
    forget: Effect.fn("Notices.forget")(
      (before, limit) =>
        Effect.map(
          sql.unsafe(
            `DELETE FROM troupe.notices WHERE id = ANY (ARRAY (
               SELECT id FROM troupe.notices WHERE created_at < $1::int8 ORDER BY created_at LIMIT $2::int4)) RETURNING 1`,
            [before, Math.min(limit, forget_max)]
          ),
          (rows) => rows.length
        ),
      Effect.mapError(orStoreError)
    )
  })
})

export const layer: Layer.Layer<Notices, never, SqlClient.SqlClient | Outbox | TenantReads> =
  Layer.effect(Notices, make)
