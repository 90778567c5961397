/**
 * Tasks in SQL. Accepting is one statement behind two locks, always in this order: the idempotency key, so that the same
 * key sent twice at once is one task, and the conversation's row, under which ordinal and bounds are counted.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { StoreError } from "../../../services/StoreError.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { AgentName, ConversationId, RunId, Tenant } from "../../../src/Ids.ts"
import { Roles } from "../../../src/Principal.ts"
import { StoredTaskStatus } from "./Codes.ts"
import * as TaskAcceptance from "./TaskAcceptance.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"

const page_max = 500

const Sender = Schema.Struct({ id: Schema.String, roles: Roles })
const Trace = AgentTask.mapFields(({ sampled, span_id, trace_id }) => ({
  sampled,
  span_id,
  trace_id
}))

/** A row of tasks, for the lists of this room too. */
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
  by: Schema.fromJsonString(Schema.Union([Schema.String, Sender])),
  trace_id: Schema.fromJsonString(Schema.Union([Schema.String, Trace])),
  created_at: Schema.BigInt
})
const decodeTasks = rowDecoder(TaskRow, "tasks")

const columns =
  "id, tenant, agent, address_key, conversation, ordinal, status, reason, message, by, trace_id, created_at"

export const taskOf = (row: typeof TaskRow.Type): AgentTask => ({
  id: row.id,
  tenant: row.tenant,
  address: { agent: row.agent, key: row.address_key },
  conversation: row.conversation,
  ordinal: row.ordinal,
  message: row.message,
  ...(typeof row.by === "string" ? { by: row.by } : { by: row.by.id, roles: row.by.roles }),
  ...(typeof row.trace_id === "string" ? { trace_id: row.trace_id } : row.trace_id),
  status: row.status,
  ...(row.reason === null ? undefined : { reason: row.reason }),
  created_at: Number(row.created_at)
})

/** The tasks that a statement gives. */
const tasksOf = (
  sql: SqlClient.SqlClient,
  text: string,
  params: ReadonlyArray<unknown>
): Effect.Effect<ReadonlyArray<AgentTask>, StoreError | SqlError.SqlError> =>
  Effect.map(Effect.flatMap(sql.unsafe(text, params), decodeTasks), (rows) => rows.map(taskOf))

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const tasks = (text: string, params: ReadonlyArray<unknown>) =>
    Effect.mapError(tasksOf(sql, text, params), orStoreError)
  const get = (id: RunId) =>
    Effect.map(
      tasks(`SELECT ${columns} FROM troupe.agent_tasks WHERE id = $1::uuid`, [id]),
      ([task]) => task
    )
  return TaskStore.of({
    accept: yield* TaskAcceptance.make(sql, get),
    get,
    ofConversation: (tenant, conversation, after, limit) =>
      tasks(
        `SELECT ${columns} FROM troupe.agent_tasks
         WHERE tenant = $1::text AND conversation = $2::text AND ordinal > $3::int4 ORDER BY ordinal LIMIT $4::int4`,
        [tenant, conversation, after, Math.min(limit, page_max)]
      ),
    before: (tenant, conversation, ordinal, limit) =>
      tasks(
        `SELECT ${columns} FROM troupe.agent_tasks
         WHERE tenant = $1::text AND conversation = $2::text AND ordinal < $3::int4 AND status >= 2
         ORDER BY ordinal DESC LIMIT $4::int4`,
        [tenant, conversation, ordinal, Math.min(limit, page_max)]
      )
  })
})

export const layer: Layer.Layer<TaskStore, never, SqlClient.SqlClient> = Layer.effect(
  TaskStore,
  make
)
