/**
 * What tenants have beside conversations and runs: files, tokens, authorizations and erasures; and the row security of every table
 * that has rows of tenants.
 */

/**
 * The bytes of files, and what names them. Whoever changes either locks the row of the tenant's total first, so that the bytes are
 * not removed while somebody is about to name them.
 */
const files = [
  `CREATE TABLE troupe.blob_totals (
    tenant text PRIMARY KEY,
    bytes int8 NOT NULL
  )`,
  // How much of its tenant's room for files each customer takes. The customer '' stands for all of them together.
  `CREATE TABLE troupe.blob_shares (
    tenant text NOT NULL,
    customer text NOT NULL,
    bytes int8 NOT NULL,
    PRIMARY KEY (customer, tenant)
  )`,
  `CREATE TABLE troupe.blobs (
    tenant text NOT NULL,
    -- SHA-256 of the bytes, in hex.
    digest text NOT NULL,
    size int8 NOT NULL,
    bytes bytea NOT NULL,
    -- The SHA-256 of the id of the customer that brought the file, in hex. Null = it counts for the tenant alone.
    charged_to text,
    PRIMARY KEY (digest, tenant)
  )`,
  // Pictures and audio are compressed already, and a piece of bytes that are not is read without the rest.
  `ALTER TABLE troupe.blobs ALTER COLUMN bytes SET STORAGE EXTERNAL`,
  `CREATE TABLE troupe.blob_uses (
    tenant text NOT NULL,
    digest text NOT NULL,
    -- An uploader as a JSON string, or the run and what of it names the file.
    holder text NOT NULL,
    run uuid,
    conversation text,
    held_as text NOT NULL,
    media_type text NOT NULL,
    name text,
    at int8 NOT NULL,
    -- An upload, or a run that may not have been accepted.
    unsure boolean NOT NULL DEFAULT true,
    PRIMARY KEY (digest, holder, tenant),
    FOREIGN KEY (digest, tenant) REFERENCES troupe.blobs (digest, tenant)
  )`,
  // What is looked at by the collection.
  `CREATE INDEX blob_uses_unsure ON troupe.blob_uses (at) WHERE unsure`,
  // The files of a run, for its erasure.
  `CREATE INDEX blob_uses_run ON troupe.blob_uses (run) WHERE run IS NOT NULL`
]

/** Tokens that admins gave. Of a token's text only the SHA-256 is kept. */
const tokens = [
  `CREATE TABLE troupe.access_tokens (
    -- Lists are in this order.
    position int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    token_id uuid NOT NULL UNIQUE,
    -- In hex.
    sha256 text NOT NULL UNIQUE,
    tenant text NOT NULL,
    -- The whole of it but what changes, as JSON.
    token text NOT NULL,
    expires_at int8 NOT NULL,
    last_used_at int8,
    -- A JSON string.
    revoked_by text,
    revoked_at int8
  )`,
  // A tenant's list.
  `CREATE INDEX access_tokens_tenant ON troupe.access_tokens (tenant, position)`
]

/** What workspaces authorised in advance. Names of people are JSON texts, because PostgreSQL keeps no NUL. */
const authorizations = [
  `CREATE TABLE troupe.authorizations (
    authorization_id uuid PRIMARY KEY,
    position int8 NOT NULL GENERATED ALWAYS AS IDENTITY,
    tenant text NOT NULL,
    agent text NOT NULL,
    action text NOT NULL,
    tool_key text NOT NULL,
    tool_digest text NOT NULL,
    granted_by text NOT NULL,
    granted_at int8 NOT NULL,
    expires_at int8 NOT NULL,
    uses_max int4,
    uses int4 NOT NULL DEFAULT 0,
    last_used_at int8,
    revoked_by text,
    revoked_at int8
  )`,
  // Of one action of one agent one stands, so that a revocation leaves none.
  `CREATE UNIQUE INDEX authorizations_standing ON troupe.authorizations (tenant, agent, action) WHERE revoked_at IS NULL`,
  // A tenant's list, newest first.
  `CREATE INDEX authorizations_newest ON troupe.authorizations (tenant, position)`
]

/** Which erasures there were, and what one does in the tables of features. Of whom is kept as a digest only, whose key is not. */
const erasures = [
  `CREATE TABLE troupe.erasures (
    -- Lists are in this order.
    position int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    tenant text NOT NULL,
    -- The keyed digest of the subject, or of the id of a conversation, in hex.
    subject text NOT NULL,
    -- 'conversation'. Null = a subject.
    of_what text,
    -- A JSON string.
    by text NOT NULL,
    -- Who acted for it, as a JSON string. Null = it acted itself.
    via text,
    at int8 NOT NULL,
    -- Null = it did not come to its end.
    ended_at int8,
    -- Rows by table, as JSON.
    erased text NOT NULL DEFAULT '{}'
  )`,
  // The tables of features.
  `CREATE TABLE troupe.feature_tables (
    name text COLLATE "C" PRIMARY KEY,
    feature text NOT NULL,
    -- What an erasure does with its rows, as JSON.
    erased text NOT NULL
  )`,
  // A tenant's list.
  `CREATE INDEX erasures_tenant ON troupe.erasures (tenant, position)`
]

/**
 * The owner of the tables, which the runtime connects as, reads and writes all rows; any other role reads those of the tenant that
 * its transaction has set as `troupe.tenant`, and none where it has set none. The policies name no role: roles are the whole
 * server's, and a dump of this database is restored on others.
 */
const of_tenant = "tenant = current_setting('troupe.tenant', true)"

/** The tables that have a column for it. */
const tables = [
  "access_tokens",
  "agent_tasks",
  "approvals",
  "authorizations",
  "blob_shares",
  "blob_totals",
  "blob_uses",
  "blobs",
  "budget_accounts",
  "budget_holds",
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
  "question_posts",
  "run_details",
  "runs",
  "tool_messages",
  "tool_stops",
  "turn_costs",
  "unknown_calls",
  "webhook_deliveries",
  "webhooks"
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

const security = policies.flatMap(([table, using]) => [
  `ALTER TABLE troupe.${table} ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY of_tenant ON troupe.${table} FOR SELECT USING (${using})`
])

export const statements: ReadonlyArray<string> = [
  ...files,
  ...tokens,
  ...authorizations,
  ...erasures,
  ...security
]
