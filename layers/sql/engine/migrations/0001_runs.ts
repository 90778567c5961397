/**
 * Runs and their events, the leases of processes, tasks, conversations, approvals. Times are ms since 1970; statuses are
 * the numbers of `Codes.ts`; texts from outside are kept as JSON text, because PostgreSQL's text refuses a NUL.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `CREATE SCHEMA troupe`,
  // Every step rewrites this row: it stays narrow, and nothing that a step changes is indexed, so that updates are HOT.
  // The half-empty pages are for runs that share a page with parked ones.
  `CREATE TABLE troupe.runs (
    run_id uuid PRIMARY KEY,
    tenant text NOT NULL,
    epoch int4 NOT NULL DEFAULT 0,
    length int4 NOT NULL DEFAULT 0,
    status int2 NOT NULL DEFAULT 0
  ) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000)`,
  `CREATE INDEX runs_working ON troupe.runs (run_id) WHERE status < 3`,
  // What a step never changes. "open" falls once, with the run's last event.
  `CREATE TABLE troupe.run_details (
    run_id uuid PRIMARY KEY,
    agent text NOT NULL,
    address_key text NOT NULL,
    conversation text NOT NULL,
    ordinal int4 NOT NULL,
    owner text,
    open boolean NOT NULL DEFAULT true,
    created_at int8 NOT NULL
  )`,
  `CREATE INDEX run_details_open ON troupe.run_details (agent, address_key, ordinal) WHERE open`,
  // No foreign key: rows come only from the update of their head. Canonical JSON text, never jsonb, which reorders keys.
  `CREATE TABLE troupe.run_events (
    run_id uuid NOT NULL,
    seq int4 NOT NULL,
    at int8 NOT NULL,
    type text NOT NULL,
    payload text NOT NULL,
    PRIMARY KEY (run_id, seq)
  )`,
  // Leases belong to the process: a heartbeat per run would rewrite every head.
  `CREATE TABLE troupe.processes (
    owner text PRIMARY KEY,
    expires_at timestamptz NOT NULL
  )`,
  `CREATE TABLE troupe.conversations (
    id text PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    agent text NOT NULL,
    address_key text NOT NULL,
    initiated_by text NOT NULL,
    trigger_event_id text,
    created_at int8 NOT NULL,
    tasks int4 NOT NULL DEFAULT 0,
    messages int4 NOT NULL DEFAULT 0
  )`,
  `CREATE INDEX conversations_tenant ON troupe.conversations (tenant, created_at DESC, position DESC)`,
  `CREATE TABLE troupe.conversation_messages (
    conversation text NOT NULL,
    seq int4 NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    channel_origin text NOT NULL,
    tool_calls text,
    run_id uuid,
    created_at int8 NOT NULL,
    PRIMARY KEY (conversation, seq)
  )`,
  `CREATE TABLE troupe.agent_tasks (
    id uuid PRIMARY KEY,
    tenant text NOT NULL,
    agent text NOT NULL,
    address_key text NOT NULL,
    conversation text NOT NULL,
    ordinal int4 NOT NULL,
    status int2 NOT NULL DEFAULT 0,
    reason text,
    idempotency_key text,
    message_id uuid NOT NULL UNIQUE,
    message text NOT NULL,
    by text NOT NULL,
    trace_id text NOT NULL,
    channel_origin text NOT NULL,
    created_at int8 NOT NULL,
    UNIQUE (conversation, ordinal)
  )`,
  `CREATE UNIQUE INDEX agent_tasks_key ON troupe.agent_tasks (tenant, idempotency_key) WHERE idempotency_key IS NOT NULL`,
  `CREATE INDEX agent_tasks_waiting ON troupe.agent_tasks (agent, address_key) WHERE status < 2`,
  `CREATE TABLE troupe.approvals (
    id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    run_id uuid NOT NULL,
    status int2 NOT NULL DEFAULT 0,
    expires_at int8,
    payload text NOT NULL,
    answer text
  )`,
  `CREATE INDEX approvals_tenant ON troupe.approvals (tenant, position)`,
  `CREATE INDEX approvals_pending ON troupe.approvals (tenant, position) WHERE status = 0`,
  `CREATE INDEX approvals_run ON troupe.approvals (run_id)`,
  `CREATE INDEX approvals_due ON troupe.approvals (expires_at) WHERE status = 0 AND expires_at IS NOT NULL`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
