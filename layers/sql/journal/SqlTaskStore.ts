/**
 * Tasks in SQL. A task is accepted by one statement that takes two locks, always in this order: first the idempotency key, so
 * that the same key sent twice at once makes one task; then the conversation's row, under which ordinals and bounds are counted.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { TraceAndExtras } from "../../../src/delivery/AgentTask.ts"
import { AgentName, ConversationId, RunId, Tenant } from "../../../src/value/Ids.ts"
import { branches_max } from "../../../src/run/Branch.ts"
import { Roles } from "../../../src/principal/Principal.ts"
import { StoredTaskStatus } from "./Codes.ts"
import * as TaskAcceptance from "./TaskAcceptance.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import * as GroupedReads from "../engine/GroupedReads.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { is_branch, is_posted, posted_digest, StoredText } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500

/** What the column `by` says, as JSON: the sender's id, its roles where they are known, and who acted for it. */
export const Sender = Schema.Union([
  Schema.String,
  Schema.Struct({
    id: Schema.String,
    roles: Schema.optionalKey(Roles),
    via: Schema.optionalKey(Schema.String)
  })
])

/** The same as members of a record. */
export const senderOf = (
  by: typeof Sender.Type
): { readonly by: string; readonly roles?: Roles; readonly via?: string } => {
  if (typeof by === "string") return { by }
  const { id, ...more } = by
  return { by: id, ...more }
}

/** A row of a task. Other lists of this room use it too. */
export const TaskRow = Schema.Struct({
  id: RunId,
  tenant: Tenant,
  agent: AgentName,
  address_key: ConversationId,
  conversation: ConversationId,
  ordinal: Schema.Int,
  status: StoredTaskStatus,
  reason: Schema.NullOr(StoredText),
  message: StoredText,
  by: Schema.fromJsonString(Sender),
  trace_id: Schema.fromJsonString(Schema.Union([Schema.String, TraceAndExtras])),
  created_at: Schema.BigInt
})
const readTasks = rowReader(TaskRow, "tasks")
/** Task rows with the place, from 1, of the key that each belongs to. */
const readPlaced = rowReader(Schema.Struct({ place: Schema.Int, ...TaskRow.fields }), "tasks")

const columns =
  "id, tenant, agent, address_key, conversation, ordinal, status, reason, message, by, trace_id, created_at"

export const taskOf = (row: typeof TaskRow.Type): AgentTask => ({
  id: row.id,
  tenant: row.tenant,
  address: { agent: row.agent, key: row.address_key },
  conversation: row.conversation,
  ordinal: row.ordinal,
  message: row.message,
  ...senderOf(row.by),
  ...(typeof row.trace_id === "string" ? { trace_id: row.trace_id } : row.trace_id),
  status: row.status,
  ...(row.reason === null ? undefined : { reason: row.reason }),
  created_at: Number(row.created_at)
})

/** The tasks that a statement returns. */
const tasksOf = (
  sql: SqlClient.SqlClient,
  text: string,
  params: ReadonlyArray<unknown>
): Effect.Effect<ReadonlyArray<AgentTask>, StoreError | SqlError.SqlError> =>
  Effect.map(readTasks(sql, text, params), (rows) => rows.map(taskOf))

/** The tasks for each key of concurrent callers, in the order of the keys. */
const placed = (
  sql: SqlClient.SqlClient,
  text: string,
  params: readonly [keys: ReadonlyArray<unknown>, ...more: ReadonlyArray<unknown>]
) =>
  Effect.map(readPlaced(sql, text, params), (rows) => {
    const tasks: Array<Array<AgentTask>> = params[0].map(() => [])
    for (const row of rows) tasks[row.place - 1]?.push(taskOf(row))
    return tasks
  })

/** The most keys in one statement. */
const batch_max = 128

// Each row is found by an index probe for its key: as another kind of join, the whole table would be read.
const ofIds = (condition: string) =>
  `SELECT w.place::int4 AS place, t.* FROM unnest($1::text[]) WITH ORDINALITY AS w(id, place)
  CROSS JOIN LATERAL (SELECT ${columns} FROM troupe.agent_tasks WHERE id = w.id::uuid ${condition} OFFSET 0) t`
const of_ids = ofIds("")
const of_ids_of_tenant = ofIds("AND tenant = $2::text")

const getting = (sql: SqlClient.SqlClient) =>
  GroupedReads.make({
    sql,
    batch_max,
    read: (ids: ReadonlyArray<RunId>) =>
      Effect.map(placed(sql, of_ids, [ids]), (tasks) => tasks.map(([task]) => task))
  })

/** Reads a task for principals of a tenant, with the tenant's database rights. */
const reading = (sql: SqlClient.SqlClient, reads: TenantReads["Service"]) =>
  GroupedReads.makeForTenants({
    sql,
    batch_max,
    reads,
    read: (tenant, keys: ReadonlyArray<{ readonly tenant: Tenant; readonly id: RunId }>) =>
      Effect.map(placed(sql, of_ids_of_tenant, [keys.map(({ id }) => id), tenant]), (tasks) =>
        tasks.map(([task]) => task)
      )
  })

interface Stretch {
  readonly tenant: Tenant
  readonly conversation: ConversationId
  readonly after: number
  readonly limit: number
}

/** The most tasks of one conversation that a shared statement reads; there may be more after them. */
const few_max = 3

const of_conversations = `SELECT w.place::int4 AS place, t.*
  FROM unnest($1::text[], $2::text[], $3::int4[], $4::int4[]) WITH ORDINALITY AS w(tenant, conversation, after, n, place)
  CROSS JOIN LATERAL (SELECT ${columns} FROM troupe.agent_tasks
    WHERE tenant = w.tenant AND conversation = w.conversation AND ordinal > w.after ORDER BY ordinal LIMIT w.n) t
  ORDER BY w.place, t.ordinal`

/**
 * Makes the function that lists tasks of a conversation. A shared statement reads the first few, which mostly are all that a
 * watcher asks for. Where there may be more, a statement of its own reads the whole list.
 */
const listing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const few = yield* GroupedReads.make({
    sql,
    batch_max,
    read: (of: ReadonlyArray<Stretch>) =>
      placed(sql, of_conversations, [
        of.map(({ tenant }) => tenant),
        of.map(({ conversation }) => conversation),
        of.map(({ after }) => after),
        of.map(({ limit }) => Math.min(limit, few_max))
      ])
  })
  const all = ({ after, conversation, limit, tenant }: Stretch) =>
    tasksOf(
      sql,
      `SELECT ${columns} FROM troupe.agent_tasks
       WHERE tenant = $1::text AND conversation = $2::text AND ordinal > $3::int4 ORDER BY ordinal LIMIT $4::int4`,
      [tenant, conversation, after, Math.min(limit, page_max)]
    )
  return (of: Stretch) =>
    Effect.flatMap(few(of), (tasks) =>
      tasks.length < few_max || of.limit <= few_max ? Effect.succeed(tasks) : all(of)
    )
})

const readCounts = rowReader(Schema.Struct({ tasks: Schema.Int }), "conversations")

const newestOrdinal = (sql: SqlClient.SqlClient, tenant: Tenant, conversation: ConversationId) =>
  Effect.mapBoth(
    readCounts(
      sql,
      "SELECT tasks FROM troupe.conversations WHERE id = $2::text AND tenant = $1::text",
      [tenant, conversation]
    ),
    { onSuccess: ([row]) => row?.tasks ?? 0, onFailure: orStoreError }
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const byId = yield* getting(sql)
  const get = (id: RunId) => Effect.mapError(byId(id), orStoreError)
  const reads = yield* TenantReads
  const read = yield* reading(sql, reads)
  const list = yield* listing(sql)
  return TaskStore.of({
    accept: yield* TaskAcceptance.make(sql, get),
    get,
    read: (tenant, id) => Effect.mapError(read({ tenant, id }), orStoreError),
    ofConversation: (tenant, conversation, after, limit) =>
      Effect.mapError(list({ tenant, conversation, after, limit }), orStoreError),
    newestOrdinal: (tenant, conversation) => newestOrdinal(sql, tenant, conversation),
    branches: (tenant, conversation) =>
      Effect.mapError(
        reads.of(tenant)(
          tasksOf(
            sql,
            `SELECT ${columns} FROM troupe.agent_tasks
             WHERE tenant = $1::text AND conversation = $2::text AND ${is_branch} ORDER BY ordinal DESC LIMIT $3::int4`,
            [tenant, conversation, branches_max]
          )
        ),
        orStoreError
      ),
    posted: (tenant, digest, limit) =>
      Effect.mapError(
        tasksOf(
          sql,
          `SELECT ${columns} FROM troupe.agent_tasks
           WHERE tenant = $1::text AND ${posted_digest} = $2::text AND ${is_posted}
           ORDER BY created_at DESC, id DESC LIMIT $3::int4`,
          [tenant, digest, Math.min(limit, page_max)]
        ),
        orStoreError
      ),
    endedBefore: (tenant, conversation, ordinal, limit) =>
      Effect.mapError(
        tasksOf(
          sql,
          `SELECT ${columns} FROM troupe.agent_tasks
           WHERE tenant = $1::text AND conversation = $2::text AND ordinal < $3::int4 AND status >= 2
           ORDER BY ordinal DESC LIMIT $4::int4`,
          [tenant, conversation, ordinal, Math.min(limit, page_max)]
        ),
        orStoreError
      )
  })
})

export const layer: Layer.Layer<TaskStore, never, SqlClient.SqlClient | TenantReads> = Layer.effect(
  TaskStore,
  make
)
