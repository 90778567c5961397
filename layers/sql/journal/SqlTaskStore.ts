/**
 * Tasks in SQL. Accepting is one transaction behind two locks, always in this order: the idempotency key, so that the same
 * key sent twice at once is one task, and the conversation's row, under which ordinal and bounds are counted.
 */
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import { Outbox } from "../../../services/Outbox.ts"
import type { Accepted, NewTask } from "../../../services/TaskStore.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { dispatched_topic, TaskStore } from "../../../services/TaskStore.ts"
import {
  AddressConflict,
  AgentBusy,
  AgentTask,
  IdempotencyConflict,
  MailboxFull
} from "../../../src/delivery/AgentTask.ts"
import { addressKey, AgentName, ConversationId, RunId, Tenant } from "../../../src/Ids.ts"
import { Roles } from "../../../src/Principal.ts"
import { StoredTaskStatus } from "./Codes.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"
import { StoredText } from "../engine/StoredText.ts"

const page_max = 500

/** The column `by`: the sender's id alone where its roles are not known, else id and roles. */
const senderText = ({ by, roles }: NewTask): string =>
  JSON.stringify(roles === undefined ? by : { id: by, roles })

/** The column `trace_id`: the id of the trace alone where that is all that is known, else an object. */
const traceText = ({ sampled, span_id, trace_id }: NewTask): string =>
  JSON.stringify(
    span_id === undefined && sampled === undefined ? trace_id : { trace_id, span_id, sampled }
  )

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

/** The task that was accepted under this key before; undefined if the key is new. */
const known = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, task: NewTask, key: string) {
  const stored = JSON.stringify(key)
  yield* sql.unsafe(`SELECT pg_advisory_xact_lock(hashtextextended($1::text, 0))::text`, [
    `troupe task ${task.tenant} ${stored}`
  ])
  const [before] = yield* tasksOf(
    sql,
    `SELECT ${columns} FROM troupe.agent_tasks WHERE tenant = $1::text AND idempotency_key = $2::text`,
    [task.tenant, stored]
  )
  if (before === undefined) return undefined
  return before.message === task.message &&
    before.conversation === task.conversation &&
    before.address.agent === task.address.agent
    ? before
    : yield* new IdempotencyConflict({ key })
})

const decodeResidents = rowDecoder(
  Schema.Struct({ agent: Schema.String, address_key: Schema.String }),
  "addresses of conversations"
)
const decodeWaiting = rowDecoder(Schema.Struct({ n: Schema.Int }), "counts of waiting tasks")

/** The conversation's row, locked; made if it is new. */
const lock = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, task: NewTask, now: number) {
  yield* sql.unsafe(
    `INSERT INTO troupe.conversations (id, tenant, agent, address_key, initiated_by, trigger_event_id, created_at, begun_by)
     VALUES ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::int8, $8::text) ON CONFLICT DO NOTHING`,
    [
      task.conversation,
      task.tenant,
      task.address.agent,
      task.address.key,
      task.initiated_by,
      task.trigger_event_id === undefined ? null : JSON.stringify(task.trigger_event_id),
      now,
      JSON.stringify(task.by)
    ]
  )
  const rows = yield* sql.unsafe(
    `SELECT agent, address_key FROM troupe.conversations WHERE tenant = $1::text AND id = $2::text FOR UPDATE`,
    [task.tenant, task.conversation]
  )
  const [row] = yield* decodeResidents(rows)
  if (row === undefined) return yield* new StoreError({ message: "the conversation is gone" })
  if (row.agent === task.address.agent && row.address_key === task.address.key) return
  return yield* new AddressConflict({ conversation: task.conversation, agent: task.address.agent })
})

/** Counts no further than the bound. */
const checkMailbox = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, task: NewTask) {
  const { reject_when_busy, waiting_max } = task
  const rows = yield* sql.unsafe(
    `SELECT count(*)::int4 AS n FROM (SELECT 1 FROM troupe.agent_tasks
     WHERE tenant = $1::text AND agent = $2::text AND address_key = $3::text AND status < 2 LIMIT $4::int4) AS waiting`,
    [task.tenant, task.address.agent, task.address.key, reject_when_busy ? 1 : waiting_max]
  )
  const [row] = yield* decodeWaiting(rows)
  const waiting = row?.n ?? 0
  const address = addressKey(task.address)
  if (reject_when_busy && waiting > 0) return yield* new AgentBusy({ address })
  if (waiting >= waiting_max) return yield* new MailboxFull({ address, waiting_max })
})

const insert_statement = `WITH c AS (
  UPDATE troupe.conversations SET tasks = tasks + 1, messages = messages + 1
  WHERE tenant = $3::text AND id = $1::text RETURNING tasks, messages),
m AS (INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, run_id, created_at)
  SELECT $3::text, $1::text, c.messages - 1, 'user', $7::text, $10::text, $2::uuid, $11::int8 FROM c)
INSERT INTO troupe.agent_tasks
  (id, tenant, agent, address_key, conversation, ordinal, idempotency_key, message, by, trace_id, channel_origin, created_at, message_id)
SELECT $2::uuid, $3::text, $4::text, $5::text, $1::text, c.tasks, $6::text, $7::text, $8::text, $9::text, $10::text, $11::int8, $12::uuid FROM c
RETURNING ${columns}`

const insert = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, task: NewTask, now: number) {
  const [accepted] = yield* tasksOf(sql, insert_statement, [
    task.conversation,
    task.id,
    task.tenant,
    task.address.agent,
    task.address.key,
    task.idempotency_key === undefined ? null : JSON.stringify(task.idempotency_key),
    JSON.stringify(task.message),
    senderText(task),
    traceText(task),
    task.channel_origin,
    now,
    task.message_id
  ])
  return accepted ?? (yield* new StoreError({ message: "the conversation is gone" }))
})

const accepting = (sql: SqlClient.SqlClient, outbox: Outbox["Service"]) =>
  Effect.fn("TaskStore.accept")(function* (task: NewTask) {
    return yield* Effect.gen(function* () {
      const before =
        task.idempotency_key === undefined
          ? undefined
          : yield* known(sql, task, task.idempotency_key)
      if (before !== undefined) return { task: before, created: false } satisfies Accepted
      const now = yield* Clock.currentTimeMillis
      yield* lock(sql, task, now)
      yield* checkMailbox(sql, task)
      const accepted = yield* insert(sql, task, now)
      yield* outbox.enqueue([
        {
          id: task.message_id,
          tenant: task.tenant,
          key: addressKey(task.address),
          topic: dispatched_topic,
          agent: task.address.agent,
          payload: { task_id: task.id }
        }
      ])
      return { task: accepted, created: true } satisfies Accepted
    }).pipe(inTransaction(sql), Effect.mapError(orStoreError))
  })

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const outbox = yield* Outbox
  const tasks = (text: string, params: ReadonlyArray<unknown>) =>
    Effect.mapError(tasksOf(sql, text, params), orStoreError)
  return TaskStore.of({
    accept: accepting(sql, outbox),
    get: (id) =>
      Effect.map(
        tasks(`SELECT ${columns} FROM troupe.agent_tasks WHERE id = $1::uuid`, [id]),
        ([task]) => task
      ),
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

export const layer: Layer.Layer<TaskStore, never, SqlClient.SqlClient | Outbox> = Layer.effect(
  TaskStore,
  make
)
