/**
 * The transactional queue in PostgreSQL. A claim locks the key's row with SKIP LOCKED and takes only the key's first message. The
 * lease is the key's `due_at` and the message's `lease_owner`. A key's row has the topic and the agent of its first message, so
 * that a claim finds the messages that it may take, tenants in turn, without reading the others.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { truncateUnits } from "../../../src/value/CutText.ts"
import { Outbox } from "../../../services/Outbox.ts"
import type { OutboxClaim, OutboxRoutes } from "../../../services/Outbox.ts"
import { OutboxMessage } from "../../../src/delivery/OutboxMessage.ts"
import { AgentName, MessageId } from "../../../src/value/Ids.ts"
import { outbox_channel, put } from "./OutboxRows.ts"
import { readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import { dueAt } from "../engine/DueTime.ts"
import { inTransaction, orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"

const claim_max = 500
const error_max = 500
/** The most failures that are stored for one message: the newest ones. */
const failures_max = 100

/**
 * An empty agent means that the message is for no agent. A message that cannot be read keeps its lease, and blocks only its own
 * key.
 */
const decodeMessages = readableRows(
  OutboxMessage.mapFields(({ agent: _agent, ...fields }) => ({
    ...fields,
    agent: Schema.Union([Schema.Literal(""), AgentName]),
    payload: Schema.fromJsonString(Schema.Json)
  })),
  "claimed messages"
)

const decodeDepth = rowDecoder(Schema.Struct({ n: Schema.Int }), "counts of messages")
const decodeDue = rowDecoder(
  Schema.Struct({ due_at: Schema.NullOr(Schema.Number) }),
  "times of messages"
)

/** The agents whose messages a relay takes. The empty one stands for messages that are for no agent. */
const agentsOf = ({ agents = [] }: OutboxRoutes): ReadonlyArray<string> => ["", ...agents]

/**
 * Claims messages with one call of a database function. It reads only the messages that it takes, and the next turn of each
 * tenant that it asks, not everything that waits.
 */
const take = (sql: SqlClient.SqlClient, claim: OutboxClaim, now: number) => {
  const wanted = Math.max(0, Math.min(claim.limit, claim_max))
  const rooms = [...(claim.rooms ?? [])]
  return sql.unsafe(
    `SELECT id::text AS id, tenant, key, key_seq, topic, agent, payload, attempts, created_at::float8 AS created_at, replayed
     FROM troupe.claim_outbox($1::text, $2::int8, $3::int8, $4::text[], $5::text[], $6::int4, $7::text, $8::int4, $9::text[], $10::int4[])`,
    [
      claim.owner,
      now,
      now + claim.lease_ms,
      claim.topics,
      agentsOf(claim),
      wanted,
      claim.after ?? "",
      Math.min(claim.room ?? wanted, claim_max),
      rooms.map(([tenant]) => tenant),
      rooms.map(([, room]) => room)
    ]
  )
}

/**
 * The locked key of a message that this owner has claimed, with its count of messages as it is under the lock. `OutboxRows.ts`
 * says why it is written this way.
 */
const held = (sql: SqlClient.SqlClient, id: MessageId, owner: string) => sql`
  mine AS MATERIALIZED (
    SELECT o.tenant, o.key FROM troupe.outbox o WHERE o.id = ${id}::uuid AND o.lease_owner = ${owner}::text
  ), k AS MATERIALIZED (
    SELECT k.tenant, k.key, k.pending FROM troupe.outbox_keys k
    WHERE k.tenant = (SELECT m.tenant FROM mine m) AND k.key = (SELECT m.key FROM mine m)
    FOR UPDATE OF k
  )`

/** Deletes the message and frees its key: the key becomes due for its next message, or is deleted with its last one. */
const removed = (sql: SqlClient.SqlClient, id: MessageId, owner: string, now: number) => sql`
  gone AS (
    DELETE FROM troupe.outbox o USING k WHERE o.id = ${id}::uuid AND o.lease_owner = ${owner}::text
    RETURNING o.*, k.pending
  ), freed AS (
    UPDATE troupe.outbox_keys x SET
      pending = x.pending - 1,
      -- As old as it is: what waited behind another message of its key does not begin at the end of its tenant's line.
      due_at = coalesce(n.created_at, ${now}::int8),
      place = coalesce(n.place, x.place),
      topic = coalesce(n.topic, x.topic),
      agent = coalesce(n.agent, x.agent)
    FROM gone g LEFT JOIN LATERAL (
      SELECT o.created_at, o.place, o.topic, o.agent FROM troupe.outbox o
      WHERE o.tenant = g.tenant AND o.key = g.key AND o.key_seq > g.key_seq ORDER BY o.key_seq LIMIT 1
    ) n ON true
    WHERE x.tenant = (SELECT k.tenant FROM k) AND x.key = (SELECT k.key FROM k) AND g.pending > 1
  ), emptied AS (
    DELETE FROM troupe.outbox_keys x USING gone g
    WHERE x.tenant = (SELECT k.tenant FROM k) AND x.key = (SELECT k.key FROM k) AND g.pending = 1
  )`

/** A message's failures and a new one, as JSON texts; only the newest 100 are kept. The error is cut to 500 UTF-16 units. */
const failuresWith = (sql: SqlClient.SqlClient, error: string, now: number) => sql`
  (o.failures || concat(
    '{"at":', ${now}::int8, ',"attempt":', o.attempts, ',"error":', ${JSON.stringify(truncateUnits(error, error_max))}::text, '}'
  ))[greatest(1, cardinality(o.failures) + 2 - ${failures_max}::int4):]`

const retry = (
  sql: SqlClient.SqlClient,
  id: MessageId,
  owner: string,
  error: string,
  retry_at: number,
  now: number
) => sql`
  WITH ${held(sql, id, owner)}, kept AS (
    UPDATE troupe.outbox o SET lease_owner = NULL, failures = ${failuresWith(sql, error, now)}
    FROM k WHERE o.id = ${id}::uuid AND o.lease_owner = ${owner}::text
    RETURNING o.tenant, o.key
  ), freed AS (
    UPDATE troupe.outbox_keys x SET due_at = ${retry_at}::int8
    FROM kept g WHERE x.tenant = (SELECT k.tenant FROM k) AND x.key = (SELECT k.key FROM k)
  )
  SELECT 1 AS held FROM kept`

const moveToDeadLetters = (
  sql: SqlClient.SqlClient,
  id: MessageId,
  owner: string,
  error: string,
  now: number
) => sql`
  WITH ${held(sql, id, owner)}, ${removed(sql, id, owner, now)}
  INSERT INTO troupe.dead_letters
    (event_id, tenant, handler_name, agent, key, payload, attempts, failures, dead_at, place)
  SELECT o.id, o.tenant, o.topic, o.agent, o.key, o.payload, o.attempts, ${failuresWith(sql, error, now)}, ${now}::int8,
    nextval('troupe.outbox_place')
  FROM gone o
  -- One that died before is the newest again, and open.
  ON CONFLICT (event_id) DO UPDATE SET
    attempts = excluded.attempts, failures = excluded.failures, dead_at = excluded.dead_at, place = excluded.place,
    status = 0, resolved_by = NULL, resolved_at = NULL, resolved_reason = NULL
  RETURNING 1 AS held`

/** Makes the messages of these claims due again. Their attempts do not count. */
const release = (sql: SqlClient.SqlClient, owners: ReadonlyArray<string>, now: number) =>
  inTransaction(sql)(
    // Key rows are locked before messages and in the order of the keys, as everywhere.
    Effect.andThen(
      sql`
        WITH locked AS MATERIALIZED (
          SELECT k.tenant, k.key FROM troupe.outbox_keys k JOIN troupe.outbox o ON o.tenant = k.tenant AND o.key = k.key
          WHERE o.lease_owner = ANY(${owners}::text[]) ORDER BY k.tenant, k.key FOR UPDATE OF k
        )
        UPDATE troupe.outbox_keys k SET due_at = least(k.due_at, ${dueAt(sql, now)}) FROM locked l
        WHERE k.tenant = l.tenant AND k.key = l.key`,
      sql`
        UPDATE troupe.outbox SET lease_owner = NULL, attempts = greatest(attempts - 1, 0)
        WHERE lease_owner = ANY(${owners}::text[]) RETURNING pg_notify(${outbox_channel}::text, '')`
    )
  )

/** The earliest due time of all routes, in ms since 1970: the earliest of each pair of topic and agent is found by an index. */
const nextDue = (sql: SqlClient.SqlClient, routes: OutboxRoutes) => sql`
  SELECT min(x.due_at)::float8 AS due_at
  FROM unnest(${routes.topics}::text[]) t(topic) CROSS JOIN unnest(${agentsOf(routes)}::text[]) a(agent) CROSS JOIN LATERAL (
    SELECT k.due_at FROM troupe.outbox_keys k WHERE k.topic = t.topic AND k.agent = a.agent ORDER BY k.due_at LIMIT 1
  ) x`

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const notify = yield* SqlNotify
  return Outbox.of({
    enqueue: Effect.fn("Outbox.enqueue")(
      (messages) => inTransaction(sql)(put(sql, messages, false)),
      Effect.mapError(toStoreError)
    ),
    claim: Effect.fn("Outbox.claim")(function* (claim) {
      const now = yield* Clock.currentTimeMillis
      const claimed = yield* decodeMessages(yield* take(sql, claim, now))
      return claimed.map(({ agent, ...message }) =>
        agent === "" ? message : { ...message, agent }
      )
    }, Effect.mapError(orStoreError)),
    release: Effect.fn("Outbox.release")(function* (owners) {
      yield* release(sql, owners, yield* Clock.currentTimeMillis)
    }, Effect.mapError(toStoreError)),
    delivered: Effect.fn("Outbox.delivered")(function* (id, owner) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* sql`
        WITH ${held(sql, id, owner)}, ${removed(sql, id, owner, now)} SELECT 1 AS held FROM gone`
      return rows.length > 0
    }, Effect.mapError(toStoreError)),
    failed: Effect.fn("Outbox.failed")(function* (id, owner, error, retry_at) {
      const now = yield* Clock.currentTimeMillis
      const rows = yield* retry_at === undefined
        ? moveToDeadLetters(sql, id, owner, error, now)
        : retry(sql, id, owner, error, retry_at, now)
      return rows.length > 0
    }, Effect.mapError(toStoreError)),
    depth: sql`SELECT count(*)::int4 AS n FROM troupe.outbox`.pipe(
      Effect.flatMap(decodeDepth),
      Effect.mapBoth({ onSuccess: ([row]) => row?.n ?? 0, onFailure: orStoreError })
    ),
    nextDueAt: (routes) =>
      nextDue(sql, routes).pipe(
        Effect.flatMap(decodeDue),
        Effect.mapBoth({ onSuccess: ([row]) => row?.due_at ?? undefined, onFailure: orStoreError })
      ),
    onWritten: (listener) =>
      Effect.mapError(
        notify.listen(outbox_channel, () => listener()),
        toStoreError
      )
  })
})

export const layer: Layer.Layer<Outbox, never, SqlClient.SqlClient | SqlNotify> = Layer.effect(
  Outbox,
  make
)
