/**
 * The queue of tool calls in PostgreSQL. Calls are claimed with SKIP LOCKED and a lease, tenants in turn. Waiters are woken by
 * NOTIFY, and also read again after a while, because a wakeup may be lost.
 */
import { Clock, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Statement } from "effect/sql"
import { truncateUnits } from "../../../src/value/CutText.ts"
import type { NewToolMessage } from "../../../services/ToolQueue.ts"
import {
  announced_length_max,
  announced_tools_max,
  ToolMessageConflict,
  ToolQueue,
  ToolQueueFull,
  unavailable_listed_ms,
  waiting_max
} from "../../../services/ToolQueue.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import { ResultMessage } from "../../../src/queue/CallMessage.ts"
import {
  call_length_max,
  isInconclusive,
  isMessageName,
  isSameCall,
  isShowable
} from "../../../src/queue/ToolMessage.ts"
import { readableRows, rowDecoder } from "../engine/DecodedRows.ts"
import { dueAt } from "../engine/DueTime.ts"
import { inTransaction, orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"
import type { SqlNotify } from "../engine/SqlNotify.ts"
import { offersOf } from "../../../src/queue/ToolOffer.ts"
import { encodeToolSpec, toolKeyOf, ToolSpec } from "../../../src/tool/ToolSpec.ts"
import { counted_max } from "../../../src/operation/Page.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { makeToolWakeups, tool_queue_channel } from "./ToolWakeups.ts"

const page_max = 500
const error_max = 500
const prune_max = 1_000
/** The most tools of which one look counts what is queued. */
const tools_max = 2_000

const StoredResult = Schema.NullOr(Schema.fromJsonString(ResultMessage))
const callFields = {
  id: Schema.String,
  tool: Schema.String,
  tenant: Tenant,
  payload: Schema.fromJsonString(Schema.Unknown),
  expires_at: Schema.Number,
  deliveries: Schema.Int
}
/** A call that cannot be read keeps its lease and does not prevent other calls from running. */
const decodeDeliveries = readableRows(
  Schema.Struct({ ...callFields, begun_at: Schema.NullOr(Schema.Number), result: StoredResult }),
  "claimed calls"
)
const decodeDead = readableRows(
  Schema.Struct({
    ...callFields,
    error: StoredText,
    dead_at: Schema.Number
  }),
  "dead calls"
)
const decodeResults = rowDecoder(
  Schema.Struct({ status: Schema.Literals([0, 1, 2]), result: StoredResult }),
  "recorded results of tools"
)
const decodeKnown = rowDecoder(
  Schema.Struct({
    tool: Schema.String,
    tenant: Tenant,
    payload: Schema.String,
    status: Schema.Literals([0, 1, 2]),
    result: StoredResult
  }),
  "sent calls"
)

/** `room`: whether the queue had room for the call. `put`: whether the call was inserted. */
const decodeTried = rowDecoder(
  Schema.Struct({ room: Schema.Boolean, put: Schema.Boolean }),
  "sent calls"
)
const decodeDue = rowDecoder(
  Schema.Struct({ due_at: Schema.NullOr(Schema.Number) }),
  "times of calls"
)

/** The statuses, indexed by their numbers in the table. */
const statuses = ["waiting", "over", "dead"] as const

const columns = `id, tool, tenant, payload, expires_at::float8 AS expires_at, deliveries,
  begun_at::float8 AS begun_at, result`

const put = (
  sql: SqlClient.SqlClient,
  message: NewToolMessage,
  payload: string,
  now: number
) => sql`
  WITH room AS MATERIALIZED (
    SELECT count(*) < ${waiting_max}::int4 AS room FROM (
      SELECT FROM troupe.tool_messages WHERE status = 0 AND tool = ${message.tool}::text AND tenant = ${message.tenant}::text
      LIMIT ${waiting_max}::int4
    ) w
  ), put AS (
    INSERT INTO troupe.tool_messages (id, tool, tenant, payload, expires_at, due_at)
    SELECT ${message.id}::text, ${message.tool}::text, ${message.tenant}::text, ${payload}::text,
      ${message.expires_at}::int8, ${dueAt(sql, now)}
    FROM room WHERE room.room
    ON CONFLICT (id) DO NOTHING
    RETURNING pg_notify(${tool_queue_channel}::text, '')
  )
  SELECT room.room, EXISTS (SELECT FROM put) AS put FROM room`

/**
 * Handles a call whose id is in the queue: gives its conclusive result, if there is one; otherwise it waits on, or is queued
 * again. Gives `"gone"` where there is no such call, and fails with ToolMessageConflict where the id names another call.
 */
const known = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  message: NewToolMessage,
  payload: string,
  now: number
) {
  const { expires_at, id, tenant, tool } = message
  const rows = yield* sql`
    SELECT tool, tenant, payload, status, result FROM troupe.tool_messages WHERE id = ${id}::text FOR UPDATE`
  const [row] = yield* decodeKnown(rows)
  if (row === undefined) return "gone" as const
  const result = row.result ?? undefined
  // A call that runs again may carry another approval.
  const again = result === undefined ? row.status !== 0 : isInconclusive(result)
  if (row.tool !== tool || row.tenant !== tenant || (!again && !isSameCall(row.payload, payload))) {
    return yield* new ToolMessageConflict({ id, message: `the id ${id} names another call` })
  }
  if (row.result === null && row.status === 0) {
    // The call still waits or runs: it expires no earlier than its newest sender wants.
    yield* sql`
      UPDATE troupe.tool_messages SET expires_at = greatest(expires_at, ${expires_at}::int8) WHERE id = ${id}::text`
    return undefined
  }
  if (result !== undefined && !isInconclusive(result)) return result
  yield* sql`
    UPDATE troupe.tool_messages SET status = 0, payload = ${payload}::text, due_at = ${dueAt(sql, now)},
      expires_at = ${expires_at}::int8, deliveries = 0, owner = NULL, begun_at = NULL, result = NULL, error = NULL, over_at = NULL
    WHERE id = ${id}::text`
  yield* sql`SELECT pg_notify(${tool_queue_channel}::text, '')`
  return undefined
})

const send = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, message: NewToolMessage) {
  const payload = canonical(message.payload)
  if (
    !isMessageName(message.id) ||
    !isMessageName(message.tool) ||
    payload.length > call_length_max
  ) {
    return yield* Effect.die(new RangeError("a call's id, tool or payload is too long"))
  }
  const now = yield* Clock.currentTimeMillis
  for (;;) {
    const [tried] = yield* decodeTried(yield* put(sql, message, payload, now))
    if (tried?.put === true) return undefined
    const found = yield* inTransaction(sql)(known(sql, message, payload, now))
    if (found !== "gone") return found
    if (tried?.room !== true) return yield* new ToolQueueFull({ tool: message.tool, waiting_max })
  }
})

const resultRow = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, id: string) {
  const rows = yield* sql`SELECT status, result FROM troupe.tool_messages WHERE id = ${id}::text`
  const [row] = yield* decodeResults(rows)
  return row
})

const resultOf = (sql: SqlClient.SqlClient, id: string) =>
  Effect.mapBoth(resultRow(sql, id), {
    onSuccess: (row) => row?.result ?? undefined,
    onFailure: orStoreError
  })

/** Whether the statement changed a row. */
const changes = <E>(statement: Effect.Effect<ReadonlyArray<unknown>, E>) =>
  Effect.map(statement, (rows) => rows.length > 0)

type Methods<K extends keyof ToolQueue["Service"]> = Pick<ToolQueue["Service"], K>
type Wakeups = Effect.Success<typeof makeToolWakeups>

/** The methods for senders of calls. */
const sending = (
  sql: SqlClient.SqlClient,
  wakeups: Wakeups
): Methods<"send" | "awaited" | "status" | "withdraw" | "onShown"> => ({
  send: Effect.fn("ToolQueue.send")((message) => send(sql, message), Effect.mapError(orStoreError)),
  awaited: Effect.fn("ToolQueue.awaited")((id) => wakeups.until(id, resultOf(sql, id))),
  status: Effect.fnUntraced(function* (id) {
    const row = yield* resultRow(sql, id)
    return row && { status: statuses[row.status], result: row.result ?? undefined }
  }, Effect.mapError(orStoreError)),
  withdraw: (id) =>
    Effect.mapError(
      changes(sql`
        DELETE FROM troupe.tool_messages WHERE id = ${id}::text AND status = 0 AND deliveries = 0 RETURNING 1`),
      toStoreError
    ),
  onShown: wakeups.onShown
})

/** The methods for the loop that claims calls for workers. */
const claiming = (
  sql: SqlClient.SqlClient,
  wakeups: Wakeups
): Methods<"claim" | "release" | "nextDueAt" | "onSent"> => ({
  claim: Effect.fn("ToolQueue.claim")(function* ({ after, lease_ms, limit, owner, tools }) {
    const now = yield* Clock.currentTimeMillis
    const wanted = Math.max(0, Math.min(limit, page_max))
    const rows = yield* sql`
      SELECT ${sql.literal(columns)} FROM troupe.claim_tool_messages(${owner}::text, ${now}::int8, ${now + lease_ms}::int8,
        ${tools}::text[], ${wanted}::int4, ${after ?? ""}::text)`
    const claimed = yield* decodeDeliveries(rows)
    return claimed.map(({ begun_at, result, ...call }) => ({
      ...call,
      begun_at: begun_at ?? undefined,
      result: result ?? undefined
    }))
  }, Effect.mapError(orStoreError)),
  release: Effect.fn("ToolQueue.release")(function* (owners) {
    const now = yield* Clock.currentTimeMillis
    yield* sql`
      UPDATE troupe.tool_messages SET owner = NULL, due_at = ${dueAt(sql, now)}, deliveries = greatest(deliveries - 1, 0)
      WHERE status = 0 AND owner = ANY(${owners}::text[]) RETURNING pg_notify(${tool_queue_channel}::text, '')`
  }, Effect.mapError(toStoreError)),
  nextDueAt: (tools) =>
    sql`
      SELECT min(x.due_at)::float8 AS due_at FROM unnest(${tools}::text[]) t(tool) CROSS JOIN LATERAL (
        SELECT m.due_at FROM troupe.tool_messages m WHERE m.status = 0 AND m.tool = t.tool ORDER BY m.due_at LIMIT 1) x`.pipe(
      Effect.flatMap(decodeDue),
      Effect.mapBoth({ onSuccess: ([row]) => row?.due_at ?? undefined, onFailure: orStoreError })
    ),
  onSent: wakeups.onSent
})

const decodeQueued = rowDecoder(
  Schema.Struct({
    tool: Schema.String,
    waiting: Schema.Int,
    claimed: Schema.Int,
    due_at: Schema.NullOr(Schema.Number)
  }),
  "counts of calls"
)

/** The calls of each tool are behind each other in an index. */
const queued = (sql: SqlClient.SqlClient, tenant: Tenant, tools: ReadonlyArray<string>) => sql`
  SELECT t.tool, x.waiting, x.claimed, x.due_at FROM (SELECT DISTINCT unnest(${tools}::text[]) AS tool) t CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE w.owner IS NULL)::int4 AS waiting, count(w.owner)::int4 AS claimed,
      min(w.due_at) FILTER (WHERE w.owner IS NULL)::float8 AS due_at
    FROM (SELECT m.owner, m.due_at FROM troupe.tool_messages m
      WHERE m.status = 0 AND m.tool = t.tool AND m.tenant = ${tenant}::text
      ORDER BY m.due_at, m.place LIMIT ${counted_max + 1}::int4) w) x
  WHERE x.waiting + x.claimed > 0 ORDER BY t.tool COLLATE "C"`

/** Sets columns of a call, by a statement's part, if this owner still holds it. Gives whether it does. */
const setHeld = (
  sql: SqlClient.SqlClient,
  id: string,
  owner: string,
  columnsAt: (now: number) => Statement.Fragment
) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    changes(sql`
      UPDATE troupe.tool_messages SET ${columnsAt(now)}
      WHERE id = ${id}::text AND owner = ${owner}::text AND status = 0 RETURNING 1`)
  ).pipe(Effect.mapError(toStoreError))

/** The methods for a worker that runs a call. */
const running = (
  sql: SqlClient.SqlClient
): Methods<"begin" | "extend" | "publish" | "acknowledge" | "failed" | "show"> => ({
  begin: (id, owner) => setHeld(sql, id, owner, (now) => sql`begun_at = ${now}::int8`),
  extend: (id, owner, lease_ms) =>
    setHeld(sql, id, owner, (now) => sql`due_at = ${now + lease_ms}::int8`),
  publish: Effect.fn("ToolQueue.publish")(function* (id, result) {
    const rows = yield* sql`
      UPDATE troupe.tool_messages SET result = ${JSON.stringify(result)}::text
      WHERE id = ${id}::text AND result IS NULL RETURNING pg_notify(${tool_queue_channel}::text, id)`
    return rows.length > 0 ? result : yield* resultOf(sql, id)
  }, Effect.mapError(orStoreError)),
  acknowledge: Effect.fn("ToolQueue.acknowledge")((id, owner) =>
    setHeld(sql, id, owner, (now) => sql`status = 1, owner = NULL, over_at = ${now}::int8`)
  ),
  failed: Effect.fn("ToolQueue.failed")((id, owner, error, retry_at) => {
    const text = JSON.stringify(truncateUnits(error, error_max))
    return setHeld(sql, id, owner, (now) =>
      retry_at === undefined
        ? sql`status = 2, owner = NULL, error = ${text}::text, over_at = ${now}::int8`
        : sql`owner = NULL, error = ${text}::text, due_at = ${retry_at}::int8`
    )
  }),
  show: (id, json) =>
    isShowable(json)
      ? sql`SELECT pg_notify(${tool_queue_channel}::text, ${`${id}\n${json}`}::text)`.pipe(
          Effect.asVoid,
          Effect.mapError(toStoreError)
        )
      : Effect.void
})

/** The methods for operators, on calls that are dead or over. */
const operating = (sql: SqlClient.SqlClient): Methods<"dead" | "replay" | "discard" | "prune"> => ({
  dead: (limit) =>
    sql`
      SELECT ${sql.literal(columns)}, error, over_at::float8 AS dead_at FROM troupe.tool_messages
      WHERE status = 2 ORDER BY over_at DESC, place DESC LIMIT ${Math.min(limit, page_max)}::int4`.pipe(
      Effect.flatMap(decodeDead),
      Effect.mapError(orStoreError)
    ),
  replay: Effect.fn("ToolQueue.replay")(function* (id, expires_at) {
    const now = yield* Clock.currentTimeMillis
    return yield* changes(sql`
      UPDATE troupe.tool_messages SET status = 0, due_at = ${dueAt(sql, now)}, expires_at = ${expires_at}::int8,
        deliveries = 0, begun_at = NULL, result = NULL, error = NULL, over_at = NULL
      WHERE id = ${id}::text AND status = 2 RETURNING pg_notify(${tool_queue_channel}::text, '')`)
  }, Effect.mapError(toStoreError)),
  discard: Effect.fnUntraced(function* (id) {
    const now = yield* Clock.currentTimeMillis
    return yield* changes(sql`
      UPDATE troupe.tool_messages SET status = 1, over_at = ${now}::int8
      WHERE id = ${id}::text AND status = 2 RETURNING 1`)
  }, Effect.mapError(toStoreError)),
  prune: (before) =>
    Effect.mapBoth(
      sql`
        DELETE FROM troupe.tool_messages WHERE id IN (
          SELECT id FROM troupe.tool_messages WHERE status = 1 AND over_at < ${before}::int8
          ORDER BY over_at LIMIT ${prune_max}::int4 FOR UPDATE SKIP LOCKED
        ) RETURNING 1`,
      { onSuccess: (rows) => rows.length, onFailure: toStoreError }
    )
})

const decodeWorkers = readableRows(
  Schema.Struct({
    worker: Schema.String,
    provider: StoredText,
    tools: Schema.String,
    expires_at: Schema.Number
  }),
  "workers of tools"
)

const workers_max = 1_000

/** Specs that cannot be read, such as those of another release, are not listed. */
const readSpec = Schema.decodeUnknownOption(ToolSpec)
const readSpecs = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Array(Schema.Unknown)))

const specsIn = (tools: string): ReadonlyArray<ToolSpec> =>
  Option.getOrElse(readSpecs(tools), () => []).flatMap((each) => Option.toArray(readSpec(each)))

/** The methods for workers that offer tools: one row for each worker, so that a renewal is a small write. */
const offering = (sql: SqlClient.SqlClient): Methods<"announce" | "renew" | "list"> => ({
  announce: Effect.fn("ToolQueue.announce")(function* ({ lease_ms, provider, tools, worker }) {
    const encoded = yield* Effect.orDie(Effect.forEach(tools, (spec) => encodeToolSpec(spec)))
    const text = JSON.stringify(encoded)
    if (tools.length > announced_tools_max || text.length > announced_length_max) {
      return yield* Effect.die(new RangeError("a worker offers too many tools"))
    }
    const now = yield* Clock.currentTimeMillis
    const keys = tools.map(toolKeyOf)
    yield* sql`
      WITH gone AS (
        DELETE FROM troupe.tool_workers
        WHERE worker <> ${worker}::text AND expires_at <= ${now}::int8
          AND (keys <@ ${keys}::text[] OR expires_at <= ${now - unavailable_listed_ms}::int8)
      )
      INSERT INTO troupe.tool_workers (worker, provider, keys, tools, expires_at)
      VALUES (${worker}::text, ${JSON.stringify(provider)}::text, ${keys}::text[], ${text}::text,
        ${now + lease_ms}::int8)
      ON CONFLICT (worker) DO UPDATE SET provider = EXCLUDED.provider, keys = EXCLUDED.keys,
        tools = EXCLUDED.tools, expires_at = EXCLUDED.expires_at`
  }, Effect.mapError(toStoreError)),
  renew: Effect.fnUntraced(function* (worker, lease_ms) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`
      UPDATE troupe.tool_workers SET expires_at = ${now + lease_ms}::int8
      WHERE worker = ${worker}::text RETURNING 1`
    return rows.length > 0
  }, Effect.mapError(toStoreError)),
  list: Effect.fn("ToolQueue.list")(function* (keys) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* sql`
      SELECT worker, provider, tools, expires_at::float8 AS expires_at FROM troupe.tool_workers
      WHERE ${keys === undefined}::boolean OR keys && ${keys ?? []}::text[]
      ORDER BY expires_at DESC LIMIT ${workers_max}::int4`
    const workers = yield* decodeWorkers(rows)
    return offersOf(
      workers.map(({ tools, ...worker }) => ({ ...worker, tools: specsIn(tools) })),
      now,
      keys
    )
  }, Effect.mapError(toStoreError))
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  const wakeups = yield* makeToolWakeups
  return ToolQueue.of({
    ...sending(sql, wakeups),
    ...claiming(sql, wakeups),
    ...running(sql),
    ...operating(sql),
    ...offering(sql),
    queued: Effect.fn("ToolQueue.queued")(function* (tenant, tools) {
      const asked = tools.slice(0, tools_max)
      const rows = yield* decodeQueued(yield* reads.of(tenant)(queued(sql, tenant, asked)))
      return rows.map((row) => ({ ...row, due_at: row.due_at ?? undefined }))
    }, Effect.mapError(orStoreError))
  })
})

export const layer: Layer.Layer<ToolQueue, never, SqlClient.SqlClient | SqlNotify | TenantReads> =
  Layer.effect(ToolQueue, make)
