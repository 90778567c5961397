import { randomUUID } from "node:crypto"
import { assert } from "@effect/vitest"
import { Effect, Logger, Result } from "effect"
import { SqlClient } from "effect/sql"
import { AccessTokens } from "../../services/AccessTokens.ts"
import { AuthorizationRecords } from "../../services/AuthorizationRecords.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { Notices } from "../../services/Notices.ts"
import { Outbox } from "../../services/Outbox.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import { RunList } from "../../services/RunList.ts"
import { SubjectErasure } from "../../services/SubjectErasure.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ChannelName } from "../../src/conversation/ChannelBinding.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { AgentName, AuthorizationId, ConversationId, TokenId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

const silent = Effect.provide(Logger.layer([]))
const hosted = [Samples.newTask().address.agent]

/** What nobody but somebody who reaches the database writes: no conversation has such a name. */
const spoilHead = (run: RunId) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(`UPDATE troupe.run_details SET conversation = 'no name' WHERE run_id = $1::uuid`, [
      run
    ])
  )

/** Tokens, authorisations and notices. */
const addKept = Effect.fnUntraced(function* (tenant: Tenant, n: number) {
  const [token, authorization] = [TokenId.make(randomUUID()), AuthorizationId.make(randomUUID())]
  const times = { created_at: n, expires_at: Date.now() + 60_000 }
  const given = { name: "ci", tenant, principal: "ci", created_by: "olga", ...times }
  yield* AccessTokens.use((tokens) =>
    tokens.add({ id: token, roles: ["viewer"], ...given }, randomUUID().repeat(2))
  )
  yield* AuthorizationRecords.use((records) =>
    records.add({
      id: authorization,
      tenant,
      agent: Samples.operations,
      action: `refund_${n}`,
      tool_key: "shop.refund@1",
      tool_digest: "a".repeat(64),
      granted_by: "olga",
      granted_at: n,
      expires_at: times.expires_at,
      uses: 0
    })
  )
  const conversation = ConversationId.make("c")
  const content = { kind: "answer", conversation, agent: Samples.operations, text: "hi" } as const
  const recipients = [{ recipient: "carl", messages: [], digest: [] }]
  yield* Notices.use((notices) => notices.record({ tenant, about: `${n}`, content, recipients }))
  return { token, authorization }
})

/** One of everything that is listed; gives what each is known by. */
const add = Effect.fnUntraced(function* (tenant: Tenant, n: number) {
  const sql = yield* SqlClient.SqlClient
  const conversation = ConversationId.make(Samples.unique("c"))
  const { run } = yield* Samples.begin({ tenant, by: "carl", conversation })
  const other = randomUUID()
  yield* sql.unsafe(
    `INSERT INTO troupe.unknown_calls (run_id, call, tool, tenant, since) VALUES ($1::uuid, '"0/1.0"', '"t"', $2, ${n})`,
    [run, tenant]
  )
  yield* sql.unsafe(`UPDATE troupe.agent_tasks SET created_at = ${n} WHERE id = $1::uuid`, [run])
  yield* sql.unsafe(
    `INSERT INTO troupe.erasures (id, tenant, subject, by, at) VALUES ($1::text::uuid, $2, 's', '"olga"', ${n})`,
    [other, tenant]
  )
  yield* sql.unsafe(
    `INSERT INTO troupe.dead_letters (event_id, tenant, handler_name, key, payload, attempts, failures, dead_at, place, status)
     VALUES ($1::text::uuid, $2, 't', 'k', '{}', 1, '{}', ${n}, ${n}, 0)`,
    [other, tenant]
  )
  return { run, conversation, other, ...(yield* addKept(tenant, n)) }
})

/** Pages of one item: the table, a column of its newest row that is spoilt, and what the first one is known by then. */
const listsOf = (tenant: Tenant, older: Effect.Success<ReturnType<typeof add>>) => {
  const page = { tenant, limit: 1 }
  const all = { ...page, agents: undefined, in_force_at: undefined }
  return [
    ["agent_tasks", "message", RunList.use((runs) => runs.list(page)), older.run],
    [
      "conversations",
      "begun_by",
      Effect.map(
        ConversationStore.use((store) => store.list(page)),
        ({ items }) => items
      ),
      older.conversation
    ],
    ["access_tokens", "token", AccessTokens.use((tokens) => tokens.list(page)), older.token],
    [
      "authorizations",
      "granted_by",
      AuthorizationRecords.use((records) => records.list(all)),
      older.authorization
    ],
    ["erasures", "by", SubjectErasure.use((erasures) => erasures.list(page)), older.other]
  ] as const
}

/** By what a table's rows are ordered; absent = by their position. */
const orders: Readonly<Record<string, string>> = {
  agent_tasks: "created_at",
  conversations: "active_at",
  dead_letters: "dead_at",
  unknown_calls: "since"
}

/** The newest row of the tenant, which each list shows first. */
const spoilNewest = (tenant: Tenant, table: string, column: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    sql.unsafe(
      `UPDATE troupe.${table} SET ${column} = '{' WHERE ctid = (SELECT ctid FROM troupe.${table}
         WHERE tenant = $1 ORDER BY ${orders[table] ?? "position"} DESC LIMIT 1)`,
      [tenant]
    )
  )

onEngines("a row that cannot be read", (it) => {
  it.effect("is left out of every list, of which the page is filled with others", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const known = yield* add(tenant, 1)
      yield* add(tenant, 2)
      for (const [table, column, first, older] of listsOf(tenant, known)) {
        assert.notStrictEqual((yield* first)[0]?.id as string, older as string, table)
        yield* spoilNewest(tenant, table, column)
        assert.deepEqual(
          (yield* first).map(({ id }) => id as string),
          [older as string]
        )
      }
      yield* spoilNewest(tenant, "unknown_calls", "tool")
      const unknown = yield* RunList.use((runs) => runs.unknown({ tenant, limit: 10 }))
      assert.deepEqual(
        unknown.map(({ run_id }) => run_id as string),
        [known.run as string]
      )
      yield* spoilNewest(tenant, "dead_letters", "payload")
      const letters = yield* OutboxReader.use((reader) => reader.deadLetters({ tenant, limit: 1 }))
      assert.deepEqual(
        letters.map(({ event_id }) => event_id as string),
        [known.other]
      )
      const notices = Notices.use((store) => store.list({ tenant, recipient: "carl", limit: 1 }))
      const [newest] = yield* notices
      yield* spoilNewest(tenant, "notices", "payload")
      const [older] = yield* notices
      assert.isDefined(older)
      assert.notStrictEqual(older.id, newest?.id)
    }).pipe(silent)
  )

  it.effect("fails no statement that looks into its text", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const other = AgentName.make("other")
      const whole = yield* Samples.finish({ tenant, by: "cora", agent: other, trace_id: 'a"\\b' })
      const spoilt = yield* Samples.finish({ tenant, by: "cora" })
      const spoil = (text: string) =>
        sql.unsafe("UPDATE troupe.agent_tasks SET trace_id = $2 WHERE id = $1::uuid", [
          spoilt.run,
          text
        ])
      yield* spoil("{spoilt")
      for (const query of [{}, { agent: other }]) {
        const runs = yield* RunList.use((list) => list.list({ ...query, tenant, limit: 10 }))
        assert.deepEqual(
          runs.map(({ agent, id }) => [agent, id]),
          [[other, whole.run]]
        )
      }
      yield* CostLedger.use((ledger) => ledger.totals({ tenant, by: "trace", limit: 10 }))
      yield* addKept(tenant, 1)
      yield* sql.unsafe("UPDATE troupe.access_tokens SET token = '{spoilt' WHERE tenant = $1", [
        tenant
      ])
      const { token } = yield* addKept(tenant, 2)
      const { erased } = yield* SubjectErasure.use((erasures) =>
        erasures.erase({ tenant, subject: "ci", by: "admin" })
      )
      assert.strictEqual(erased["access_tokens"], 1)
      const left = yield* AccessTokens.use((tokens) => tokens.list({ tenant, limit: 10 }))
      assert.notInclude(
        left.map(({ id }) => id),
        token
      )
    }).pipe(silent)
  )

  it.effect("is left out of the list of runs in quarantine, which goes on behind it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const runs: Array<RunId> = []
      for (const at of [1, 2]) {
        const { run } = yield* Samples.begin({ tenant })
        runs.push(run)
        yield* sql.unsafe(
          `INSERT INTO troupe.quarantine (run_id, tenant, reason, seq, at) VALUES ($1::uuid, $2, 'gap', 1, ${at})`,
          [run, tenant]
        )
      }
      yield* spoilHead(runs[0]!)
      const found = yield* RunQuarantine.use((quarantine) =>
        quarantine.quarantined({ tenant, limit: 1 })
      )
      assert.deepEqual(
        found.map(({ run_id }) => run_id),
        runs.slice(1)
      )
    }).pipe(silent)
  )

  it.effect("keeps no other message and no other call from being claimed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const outbox = yield* Outbox
      const queue = yield* ToolQueue
      const topic = Samples.unique("t")
      const tenant = Samples.tenant()
      const messages = ["a", "b", "c"].map((key) => Samples.outboxMessage({ tenant, topic, key }))
      yield* outbox.enqueue(messages)
      const calls = ["a", "b", "c"].map((name) => Samples.unique(name))
      for (const id of calls) {
        yield* queue.send({ id, tool: topic, tenant, expires_at: Date.now() + 60_000, payload: {} })
      }
      yield* sql.unsafe("UPDATE troupe.outbox SET payload = '{' WHERE id = $1::text::uuid", [
        messages[1]!.id
      ])
      yield* sql.unsafe("UPDATE troupe.tool_messages SET payload = '{' WHERE id = $1", [calls[1]])
      const claim = { owner: "o", limit: 10, lease_ms: 60_000 }
      const claimed = yield* outbox.claim({ ...claim, topics: [topic] })
      assert.sameMembers(
        claimed.map(({ key }) => key),
        ["a", "c"]
      )
      const taken = yield* queue.claim({ ...claim, tools: [topic] })
      assert.sameMembers(
        taken.map(({ id }) => id),
        calls.filter((_, i) => i !== 1)
      )
    }).pipe(silent)
  )

  it.effect("keeps no digest from being sent", () =>
    Effect.gen(function* () {
      const notices = yield* Notices
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const conversation = ConversationId.make("c")
      const content = {
        kind: "answer",
        conversation,
        agent: Samples.operations,
        text: "hi"
      } as const
      const item = { tenant, channel: ChannelName.make("email"), address: "a", content }
      const recipients = ["carl", "cora"].map((recipient) => ({
        recipient,
        messages: [],
        digest: [{ ...item, recipient }]
      }))
      yield* notices.record({ tenant, about: "x", content, recipients })
      yield* sql.unsafe(
        `UPDATE troupe.digest_items SET payload = '{' WHERE tenant = $1 AND recipient = '"carl"'`,
        [tenant]
      )
      const told: Array<string> = []
      const sent = yield* notices.digest(Date.now() + 1_000, 10, (items) => {
        told.push(...items.map(({ recipient }) => recipient))
        return Samples.outboxMessage({ tenant })
      })
      assert.isTrue(sent)
      assert.deepEqual(told, ["cora"])
    }).pipe(silent)
  )

  it.effect("of a task is erased with the others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const { run } = yield* Samples.finish({ tenant, by: "carl" })
      const spoilt = "{secret"
      yield* sql.unsafe(
        `UPDATE troupe.agent_tasks SET message = $2, by = $2, trace_id = $2, reason = $2 WHERE id = $1::uuid`,
        [run, spoilt]
      )
      const { erased } = yield* SubjectErasure.use((erasures) =>
        erasures.erase({ tenant, subject: "carl", by: "admin" })
      )
      assert.strictEqual(erased["agent_tasks"], 1)
      const [row] = yield* sql.unsafe(
        "SELECT message, by, trace_id, reason FROM troupe.agent_tasks WHERE id = $1::uuid",
        [run]
      )
      assert.notInclude(JSON.stringify(row), "secret")
    }).pipe(silent)
  )

  it.effect("is left out of a recovery, which gives the other runs", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const spoilt = yield* Samples.begin()
      const whole = yield* Samples.begin()
      yield* spoilHead(spoilt.run)
      const found = (yield* ownership.recoverable("anybody", hosted, 1_000)).map(
        ({ run_id }) => run_id
      )
      assert.include(found, whole.run)
      assert.notInclude(found, spoilt.run)
    }).pipe(silent)
  )

  it.effect("is an error of the journal where the run itself is asked for", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const { run } = yield* Samples.begin()
      yield* spoilHead(run)
      const error = yield* Effect.flip(reader.head(run))
      assert.strictEqual(error._tag, "JournalError")
      assert.strictEqual(error.message, "heads of runs cannot be read")
    })
  )

  it.effect("fails its own claim, and none of those that shared the statement", () =>
    Effect.gen(function* () {
      const ownership = yield* RunOwnership
      const begun = yield* Effect.all([Samples.begin(), Samples.begin(), Samples.begin()])
      const spoilt = begun[1].run
      yield* spoilHead(spoilt)
      const claims = yield* Effect.forEach(
        begun,
        ({ fence, run }) => Effect.result(ownership.claim(run, "another", fence.epoch)),
        { concurrency: "unbounded" }
      )
      for (const [index, { run }] of begun.entries()) {
        const claim = claims[index]
        assert.isDefined(claim)
        assert.strictEqual(Result.isFailure(claim), run === spoilt)
      }
    })
  )

  it.effect("is an error of the store where a task has a status that nobody knows", () =>
    Effect.gen(function* () {
      const { run } = yield* Samples.begin()
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(`UPDATE troupe.agent_tasks SET status = 42 WHERE id = $1::uuid`, [run])
      const error = yield* Effect.flip((yield* TaskStore).get(run))
      assert.strictEqual(error.message, "tasks cannot be read")
    })
  )
})
