/** Row security: which tables have it, what a statement without its tenant finds, and what a server may refuse. */
import { randomUUID } from "node:crypto"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as TenantReadsLayer from "../../layers/sql/engine/TenantReads.ts"
import { ServerSession } from "../../layers/sql/engine/ServerSession.ts"
import { TenantReads } from "../../layers/sql/engine/TenantReads.ts"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import * as StoredPlatform from "../../layers/stores/spectral/platform/StoredPlatform.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { ChannelBindings } from "../../services/ChannelBindings.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import { Notices } from "../../services/Notices.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { ChangesetStore } from "../../services/spectral/platform/contracts/ChangesetStore.ts"
import { DraftStore } from "../../services/spectral/platform/contracts/DraftStore.ts"
import { FailureClusterReader } from "../../services/spectral/platform/contracts/FailureClusterReader.ts"
import { ScanReader } from "../../services/spectral/platform/contracts/ScanReader.ts"
import { WorkspaceReader } from "../../services/spectral/platform/WorkspaceReader.ts"
import { WorldViews } from "../../services/spectral/platform/WorldViews.ts"
import { FlowState } from "../../services/semstreams/FlowState.ts"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { RuleProposals } from "../../services/spectral/worlds/RuleProposals.ts"
import { WorldReader } from "../../services/spectral/worlds/WorldReader.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import { RunList } from "../../services/RunList.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { AuthorizationId, ConversationId } from "../../src/value/Ids.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import { completionKey } from "../../src/semstreams/LoopRecord.ts"
import { MemoryId } from "../../src/memory/MemoryRow.ts"
import * as Samples from "../contracts/Samples.ts"
import { credit } from "../worlds/Worlds.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { onEngines } from "./Engines.ts"
import { inLongForm } from "../InLongForm.ts"

/** What belongs to no tenant: processes, what workers offer, and what is configured. A tenant's role may not read it. */
const of_no_tenant = [
  "components",
  "feature_tables",
  "mcp_pin_changes",
  "mcp_pins",
  "migrations",
  "migrations_semstreams",
  "migrations_spectral",
  "processes",
  "tool_workers",
  "webhook_secrets"
]

const accept = (tenant: Tenant) =>
  Effect.map(
    TaskStore.use((tasks) => tasks.accept(Samples.newTask({ tenant }))),
    ({ task }) => task.id
  )

/** The statement that forgot its tenant. */
const everyTask = SqlClient.SqlClient.use((sql) =>
  Effect.map(sql.unsafe<{ readonly id: string }>("SELECT id FROM troupe.agent_tasks"), (rows) =>
    rows.map(({ id }) => id)
  )
)

const currentRole = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql.unsafe<{ readonly role: string; readonly tenant: string | null }>(
      "SELECT current_user::text AS role, current_setting('troupe.tenant', true) AS tenant"
    ),
    ([row]) => row!
  )
)

const withReads = <A, E, R>(use: (reads: TenantReads["Service"]) => Effect.Effect<A, E, R>) =>
  Effect.provide(TenantReads.use(use), Layer.fresh(TenantReadsLayer.layer))

/** Of what the database refuses. */
const refused = ["StoreError", "JournalError"]

interface Failure {
  readonly _tag: string
  readonly message: string
}

/** The reads that agents and their tools make: of memories, of what tools store, and of worlds. */
const agentReads = Effect.fnUntraced(function* (tenant: Tenant) {
  const limit = 10
  const missing = Samples.runId()
  const memories = yield* MemoryStore
  const loops = yield* LoopStore
  const worlds = yield* WorldReader
  const world = credit.world.world_id
  const agent = Samples.operations
  const scope = { tenant, agent, tier: "session", anchor: "c1" } as const
  // A recall that finds nothing reads no row.
  yield* memories.add({
    ...scope,
    place: "workspace/acme",
    session: "c1",
    typology: "episodic",
    text: "The walrus likes tea",
    provenance: { source: "tool_call", author: "model", run: missing },
    at: 0
  })
  const reads: Record<string, Effect.Effect<unknown, Failure>> = {
    memory: memories.get({ tenant, agent, id: MemoryId.make(missing) }),
    memories: memories.list(scope, { limit }),
    recalled: memories.candidates([scope], ["walrus"]),
    canonicals: memories.canonicals(tenant, "workspace/acme"),
    interactions: memories.interactions(scope),
    flow: (yield* FlowState).get(tenant, "flow"),
    loop: loops.get(tenant, completionKey(missing)),
    loops: loops.scan(tenant, "flow", undefined, limit),
    "more loops": loops.scan(tenant, "flow", "a", limit),
    facts: (yield* TriplePublisher).about(tenant, "entity", limit),
    worlds: worlds.worlds(tenant),
    "one world": worlds.world(tenant, world),
    rules: worlds.rules(tenant, world),
    "page of rules": worlds.rulePage(tenant, world, { limit }),
    rule: worlds.rule(tenant, world, "rule"),
    "sets of a world": worlds.evalSets(tenant, world),
    candidates: (yield* RuleProposals).open(tenant, world, limit)
  }
  return reads
})

/** The reads that HTTP and the facade make for a principal. */
const principalReads = Effect.fnUntraced(function* (tenant: Tenant) {
  const limit = 10
  const who = "ada"
  const missing = Samples.runId()
  const conversation = ConversationId.make("nowhere")
  const runs = yield* RunList
  const tasks = yield* TaskStore
  const reader = yield* RunReader
  const quarantine = yield* RunQuarantine
  const calls = yield* CallRecords
  const blobs = yield* BlobStore
  const digest = "a".repeat(64)
  const conversations = yield* ConversationStore
  const authorizations = yield* AuthorizationRecords
  const letters = yield* OutboxReader
  const notices = yield* Notices
  const scans = yield* ScanReader
  const changesets = yield* ChangesetStore
  const clusters = yield* FailureClusterReader
  const workspaces = yield* WorkspaceReader
  const reads: Record<string, Effect.Effect<unknown, Failure>> = {
    runs: runs.list({ tenant, limit }),
    matching: runs.matching({ tenant, limit }),
    run: tasks.read(tenant, missing),
    events: reader.readFor(tenant, missing, 0, limit),
    rows: quarantine.raw(tenant, missing, 0, limit),
    quarantined: quarantine.quarantined({ tenant, limit }),
    calls: calls.ofRun(tenant, missing, limit),
    tool: calls.ofTool(tenant, "look", limit),
    holders: blobs.heldBy(tenant, conversation, digest),
    file: blobs.read(tenant, digest, 0, limit),
    unknown: runs.unknown({ tenant, limit }),
    unhosted: runs.unhosted({ tenant, hosted: [] }),
    conversations: conversations.list({ tenant, limit }),
    conversation: conversations.read(tenant, conversation),
    messages: conversations.messages(tenant, conversation, -1, limit),
    costs: (yield* CostLedger).totals({ tenant, by: "agent", limit }),
    approvals: (yield* ApprovalRecords).list({ tenant, limit }),
    approval: (yield* ApprovalRecords).read(tenant, Samples.approvalId()),
    authorizations: authorizations.list({ tenant, limit }),
    authorization: authorizations.get(tenant, AuthorizationId.make(missing)),
    letters: letters.deadLetters({ tenant, limit }),
    "matching letters": letters.matching({ tenant, limit }),
    letter: letters.deadLetter(tenant, missing),
    notices: notices.list({ tenant, recipient: who, limit }),
    unread: notices.unread(tenant, who),
    preferences: notices.preferences(tenant, who),
    bindings: (yield* ChannelBindings).of(tenant, conversation),
    scans: scans.scans(tenant, { limit }),
    scan: scans.scan(tenant, missing),
    changesets: changesets.changesets(tenant, { limit }),
    changeset: changesets.changeset(tenant, missing),
    clusters: clusters.clusters(tenant, { limit }),
    cluster: clusters.cluster(tenant, missing),
    failures: clusters.failures(tenant, missing, { limit }),
    workspace: workspaces.workspace(tenant),
    frameworks: workspaces.frameworks(tenant),
    framework: workspaces.framework(tenant, missing),
    system: workspaces.systemCard(tenant, missing),
    errors: workspaces.errors(tenant, { limit }),
    world: (yield* WorldViews).view(tenant, missing),
    drafts: (yield* DraftStore).drafts(tenant, { limit }),
    draft: (yield* DraftStore).draft(tenant, missing)
  }
  return { ...reads, ...(yield* agentReads(tenant)) }
})

onEngines("row security", (it) => {
  it.effect("is on for each table with rows of tenants, and no other table is granted", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const role = yield* withReads(({ role }) => Effect.succeed(role!))
      const tables = yield* sql.unsafe<Record<"name", string> & Record<string, boolean>>(
        `SELECT c.relname::text AS name, c.relrowsecurity AS secured,
           EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'troupe' AND p.tablename = c.relname
             AND p.cmd = 'SELECT' AND p.qual LIKE '%current_setting(''troupe.tenant''%') AS has_policy,
           EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'tenant') AS has_tenant,
           has_any_column_privilege($1, c.oid, 'SELECT') AS reads,
           has_table_privilege($1, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE') AS writes
         FROM pg_class c WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind IN ('r', 'm', 'p') ORDER BY 1`,
        [role]
      )
      assert.isAbove(tables.length, 40)
      for (const { has_policy, has_tenant, name, reads, secured, writes } of tables) {
        const isOfTenants = !of_no_tenant.includes(name)
        assert.deepStrictEqual(
          { name, secured, has_policy, reads, writes },
          { name, secured: isOfTenants, has_policy: isOfTenants, reads: isOfTenants, writes: false }
        )
        assert.isFalse(has_tenant === true && !isOfTenants, name)
      }
      const columns = yield* sql.unsafe<{ readonly name: string; readonly reads: boolean }>(
        `SELECT attname::text AS name, has_column_privilege($1, attrelid, attnum, 'SELECT') AS reads FROM pg_attribute
         WHERE attrelid = 'troupe.access_tokens'::regclass AND attnum > 0 AND NOT attisdropped`,
        [role]
      )
      // The digest of a token is found by, and never read.
      assert.deepStrictEqual(
        columns.filter(({ reads }) => !reads).map(({ name }) => name),
        ["sha256"]
      )
      for (const read of ["sha256", "*", "count(sha256)"]) {
        const hidden = yield* Effect.result(
          withReads((reads) =>
            reads.of("acme" as Tenant)(sql.unsafe(`SELECT ${read} FROM troupe.access_tokens`))
          )
        )
        assert.strictEqual(hidden._tag, "Failure", read)
      }
      const views = yield* sql.unsafe(
        `SELECT c.relname::text AS name, c.reloptions::text AS options, has_table_privilege($1, c.oid, 'SELECT') AS reads,
           has_table_privilege($1, c.oid, 'INSERT, UPDATE, DELETE') AS writes
         FROM pg_class c WHERE c.relnamespace = 'troupe'::regnamespace AND c.relkind = 'v'`,
        [role]
      )
      // It shows a reader what the reader may see of its table.
      assert.deepStrictEqual(
        views.map((view) => ({ ...view })),
        [{ name: "run_events", options: "{security_invoker=true}", reads: true, writes: false }]
      )
      const [rights] = yield* sql.unsafe(
        "SELECT rolsuper, rolbypassrls, rolcanlogin FROM pg_roles WHERE rolname = $1",
        [role]
      )
      assert.deepStrictEqual(
        { ...rights },
        { rolsuper: false, rolbypassrls: false, rolcanlogin: false }
      )
    })
  )

  it.effect(
    "a statement that forgets its tenant finds no row of another one, and writes nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const [a, b] = [Samples.tenant(), Samples.tenant()]
        const [first, second] = [yield* accept(a), yield* accept(b)]
        const before = yield* currentRole
        yield* withReads((reads) =>
          Effect.gen(function* () {
            assert.includeMembers([...(yield* everyTask)], [first, second])
            assert.deepStrictEqual(yield* reads.of(a)(everyTask), [first])
            assert.deepStrictEqual(yield* reads.of(b)(everyTask), [second])
            assert.deepStrictEqual(yield* reads.of(Samples.tenant())(everyTask), [])
            assert.deepInclude(yield* reads.of(a)(currentRole), { role: reads.role!, tenant: a })
            const writing = [
              "UPDATE troupe.agent_tasks SET status = 0",
              "DELETE FROM troupe.conversation_messages",
              "INSERT INTO troupe.blob_totals VALUES ('x', 1)",
              "SELECT * FROM troupe.processes"
            ]
            for (const statement of writing) {
              const error = yield* Effect.flip(reads.of(a)(sql.unsafe(statement)))
              assert.strictEqual(error.reason._tag, "AuthorizationError", statement)
            }
            // The events of a run are those of its tenant.
            const { run } = yield* Effect.map(Samples.begin({ tenant: a }), ({ task }) => ({
              run: task.id
            }))
            const events = sql.unsafe<{ readonly run_id: string }>(
              "SELECT DISTINCT run_id FROM troupe.run_events"
            )
            assert.deepStrictEqual(yield* reads.of(a)(events), [{ run_id: run }])
            assert.deepStrictEqual(yield* reads.of(b)(events), [])
            // In the transaction of a call, a read is a part of it.
            const within = sql.withTransaction(
              Effect.andThen(reads.of(a)(everyTask), Effect.all([everyTask, currentRole]))
            )
            const [all, role] = yield* within
            assert.includeMembers([...all], [first, second])
            assert.strictEqual(role.role, before.role)
          })
        )
        assert.strictEqual((yield* currentRole).role, before.role)
      })
  )

  it.effect("whoever has a session has its own role and tenant there, whoever had it before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { role: engine } = yield* currentRole
      const tenants = [Samples.tenant(), Samples.tenant()] as const
      const tasks = [yield* accept(tenants[0]), yield* accept(tenants[1])]
      const left = sql.unsafe("SELECT pg_sleep(0.1)")
      const used = (reads: TenantReads["Service"]) => (_: unknown, n: number) =>
        Effect.gen(function* () {
          if (n % 3 === 2) return assert.strictEqual((yield* currentRole).role, engine)
          const reading = reads.of(tenants[n % 2]!)
          if (n % 7 === 0) return yield* Effect.timeoutOption(reading(left), n % 10)
          if (n % 11 === 0) return yield* Effect.flip(reading(sql.unsafe("SELECT 1 / 0")))
          assert.deepStrictEqual(yield* reading(everyTask), [tasks[n % 2]!])
        })
      yield* withReads((reads) =>
        Effect.forEach(Array.from({ length: 300 }), used(reads), { concurrency: 20 })
      )
    })
  )

  it.effect("what principals, agents and their tools read is read in the tenant's role", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const id = yield* accept(tenant)
      const role = yield* withReads(({ role }) => Effect.succeed(role!))
      const reading = yield* Effect.provide(
        principalReads(tenant),
        Layer.mergeAll(StoredPlatform.layer, StoredWorlds.layer, SemStreams.layer)
      )
      // It is made by another start, or is not there.
      for (const [name, read] of Object.entries(reading)) {
        const tag = yield* Effect.match(read, {
          onSuccess: () => "found",
          onFailure: (error) => error._tag
        })
        assert.notInclude(refused, tag, name)
      }
      yield* sql.unsafe(`REVOKE SELECT ON ALL TABLES IN SCHEMA troupe FROM ${role}`)
      for (const [name, read] of Object.entries(reading)) {
        const error = yield* Effect.flip(read)
        assert.include(refused, error._tag, name)
        assert.include(error.message, "the database refused the credentials or a permission", name)
      }
      // The engine is not concerned, and a start grants again what is missing.
      const later = yield* accept(tenant)
      yield* withReads(() => Effect.void)
      const runs = yield* RunList
      const listed = yield* runs.list({ tenant, limit: 10 })
      assert.sameMembers(
        listed.map((run) => run.id),
        [id, later]
      )
    })
  )
})

/** A role that may log in, and a database that it owns; or one in which it may make a schema, where it has no rights. */
const tenancy = Effect.fnUntraced(function* (rights: string) {
  const name = `app_${randomUUID().slice(0, 8)}`
  const url = yield* EmbeddedPostgres.database
  const admin = Context.get(
    yield* Layer.build(Postgres.layer({ url: Redacted.make(url) })),
    SqlClient.SqlClient
  )
  yield* admin.unsafe(`CREATE ROLE ${name} LOGIN PASSWORD 'app' ${rights}`)
  const database = new URL(url).pathname.slice(1)
  if (rights === "") {
    // The least that it needs.
    yield* admin.unsafe(`REVOKE ALL ON DATABASE ${database} FROM PUBLIC`)
    yield* admin.unsafe(`GRANT CONNECT, CREATE ON DATABASE ${database} TO ${name}`)
    yield* admin.unsafe("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
  } else {
    yield* admin.unsafe(`ALTER DATABASE ${database} OWNER TO ${name}`)
    yield* admin.unsafe(`ALTER SCHEMA public OWNER TO ${name}`)
  }
  const at = new URL(url)
  at.username = name
  at.password = "app"
  return { admin, name, url: at.href }
})

it.live("a session that does not get the role reads nothing, and is not taken to have it", () =>
  Effect.gen(function* () {
    const { readAs } = yield* ServerSession
    const who = { role: "troupe_nobody", tenant: "acme" }
    for (let n = 0; n < 3; n++) {
      const error = yield* Effect.flip(readAs!(who)(currentRole))
      assert.include(String(error.reason.cause), 'role "troupe_nobody" does not exist')
    }
    assert.notStrictEqual((yield* currentRole).role, who.role)
  }).pipe(Effect.provide(EmbeddedPostgres.layer))
)

/** What a process that starts there may do, and what it warns of. */
const started = Effect.fnUntraced(function* (url: string) {
  const said: Array<string> = []
  const warnings = Logger.layer([
    Logger.make(({ logLevel, message }) => {
      if (logLevel === "Warn") said.push(String(message))
    })
  ])
  const client = Postgres.layer({ url: Redacted.make(url), connections_max: 5 })
  const stores = Layer.provideMerge(
    TenantReadsLayer.layer,
    Layer.provideMerge(SqlStores.layer, client)
  )
  const context = yield* Layer.build(Layer.provide(Layer.fresh(stores), warnings))
  return { context, said }
})

const reads = (tenant: Tenant) => TenantReads.use((of) => of.of(tenant)(everyTask))

inLongForm("a role that may make roles has its own for tenants, which others cannot use", () =>
  Effect.gen(function* () {
    const [one, other] = [yield* tenancy("CREATEROLE"), yield* tenancy("CREATEROLE")]
    for (const { name, url } of [one, other]) {
      const { context, said } = yield* started(url)
      assert.deepStrictEqual(said, [])
      const [a, b] = [Samples.tenant(), Samples.tenant()]
      const [first] = yield* Effect.provide(Effect.all([accept(a), accept(b)]), context)
      assert.deepStrictEqual(yield* Effect.provide(reads(a), context), [first])
      assert.strictEqual(Context.get(context, TenantReads).role, `troupe_tenant_${name}`)
    }
    for (const [who, whose] of [
      [one.name, other.name],
      [other.name, one.name]
    ]) {
      const rows = yield* one.admin.unsafe("SELECT pg_has_role($1, $2, 'MEMBER') AS may", [
        who,
        `troupe_tenant_${whose}`
      ])
      assert.deepStrictEqual({ ...rows[0] }, { may: false })
    }
  }).pipe(Effect.scoped)
)

inLongForm(
  "a role that may make a schema and nothing else is warned of what is missing, and uses it once it is there",
  () =>
    Effect.gen(function* () {
      const { admin, name, url } = yield* tenancy("")
      const tenant = Samples.tenant()
      const first = yield* started(url)
      assert.lengthOf(first.said, 1)
      assert.isUndefined(Context.get(first.context, TenantReads).role)
      const id = yield* Effect.provide(accept(tenant), first.context)
      yield* Effect.provide(accept(Samples.tenant()), first.context)
      const list = RunList.use((runs) => runs.list({ tenant, limit: 10 }))
      assert.deepStrictEqual(
        (yield* Effect.provide(list, first.context)).map((run) => run.id),
        [id]
      )
      const statements = /run: (CREATE ROLE [^;]+); (GRANT [^;]+);/.exec(first.said[0]!)!
      assert.include(statements[2], ` TO ${name}`)
      for (const statement of statements.slice(1)) yield* admin.unsafe(statement)
      const second = yield* started(url)
      assert.deepStrictEqual(second.said, [])
      assert.deepStrictEqual(yield* Effect.provide(reads(tenant), second.context), [id])
      yield* admin.unsafe(`ALTER ROLE troupe_tenant_${name} BYPASSRLS`)
      const error = yield* Effect.flip(started(url))
      assert.strictEqual(error._tag, "MigrationError")
      assert.include(error.message, `ALTER ROLE troupe_tenant_${name} NOSUPERUSER NOBYPASSRLS`)
    }).pipe(Effect.scoped)
)
