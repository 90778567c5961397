/**
 * Row security of every table that has rows of tenants. Its owner, which the runtime connects as, reads and writes them all;
 * any other role reads those of the tenant that its transaction has set as `troupe.tenant`, and none where it has set none.
 *
 * The policies name no role: roles are the whole server's, and a dump of this database is restored on others.
 */

const of_tenant = "tenant = current_setting('troupe.tenant', true)"

/** Those that have a column for it. */
const tables = [
  "access_tokens",
  "agent_tasks",
  "approvals",
  "authorizations",
  "blob_shares",
  "blob_totals",
  "blob_uses",
  "blobs",
  "call_records",
  "channel_bindings",
  "conversation_messages",
  "dead_letters",
  "digest_items",
  "erasures",
  "event_inbox",
  "idempotency_keys",
  "memory_canonical_texts",
  "memory_rows",
  "memory_scopes",
  "notice_preferences",
  "notices",
  "outbox",
  "outbox_keys",
  "quarantine",
  "run_details",
  "runs",
  "tool_messages",
  "tool_stops",
  "turn_costs",
  "unknown_calls"
]

const policies: ReadonlyArray<readonly [table: string, using: string]> = [
  ...tables.map((table) => [table, of_tenant] as const),
  // As the index of its lists has it.
  ["conversations", "tenant || '' = current_setting('troupe.tenant', true)"],
  // Those of a run or a scope of the tenant. OFFSET 0 keeps the planner from reading all of these for a few rows.
  [
    "run_pairs",
    `EXISTS (SELECT FROM troupe.runs r WHERE r.run_id = run_pairs.run_id
      AND r.tenant = current_setting('troupe.tenant', true) OFFSET 0)`
  ],
  [
    "memory_words",
    `EXISTS (SELECT FROM troupe.memory_scopes s WHERE s.id = memory_words.scope
      AND s.tenant = current_setting('troupe.tenant', true) OFFSET 0)`
  ]
]

export const statements: ReadonlyArray<string> = policies.flatMap(([table, using]) => [
  `ALTER TABLE troupe.${table} ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY of_tenant ON troupe.${table} FOR SELECT USING (${using})`
])
