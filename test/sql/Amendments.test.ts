/** Amendments of many runs at once: what they share, and what keeps one from the others. */
import type { Vitest } from "@effect/vitest"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunNews } from "../../services/RunNews.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import type { ApprovalRequested } from "../../src/run/RunEvent.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { migratedLayer } from "./Engines.ts"
import type { Needs } from "./Engines.ts"
import { onEngines } from "./Engines.ts"
import * as Statements from "./Statements.ts"
import { isFull } from "../Long.ts"

const cancel = (run: RunId) =>
  RunJournal.use((journal) => journal.amend(run, (state) => cancelRun(state, run, "ada", "enough")))

const statusOf = (run: RunId) =>
  RunReader.use((reader) => Effect.map(reader.head(run), ({ status }) => status))

const many = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () =>
    Samples.begin({}, [Samples.modelTurned(1, 1), Samples.approvalRequested()])
  )

const approve = (run: RunId, { approval, call, digest }: ApprovalRequested, by: string) =>
  RunJournal.use((journal) =>
    journal.amend(run, () => ({
      events: [
        { _tag: "ApprovalDecided", call, approval, decision: { _tag: "Approve" }, by, digest }
      ],
      answer: Result.succeed(undefined)
    }))
  )

/** The status of its record, and who decided. */
const decisionOf = ({ approval }: ApprovalRequested) =>
  ApprovalRecords.use(({ get }) =>
    Effect.map(get(approval), (record) => [record?.status, record?.decided_by])
  )

/** Runs that each wait for an answer. */
const asking = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () => {
    const request = Samples.approvalRequested()
    return Effect.map(
      Samples.begin({}, [Samples.modelTurned(1, 1), request]),
      ({ fence, next, run }) => ({ fence, next, run, request })
    )
  })

const together = (it: Vitest.MethodsNonLive<Needs>) => {
  if (isFull) {
    it.effect("runs whose events are too many for one statement are amended together", () =>
      Effect.gen(function* () {
        const large = "x".repeat(3_000_000)
        const runs = yield* Effect.forEach(Array.from({ length: 4 }), () =>
          Samples.begin({}, [Samples.modelTurned(1, 0, undefined, large)])
        )
        yield* Effect.forEach(runs, ({ run }) => cancel(run), { concurrency: "unbounded" })
        for (const { run } of runs) assert.strictEqual(yield* statusOf(run), "cancelled")
      })
    )
  }

  it.effect("16 answers at once: each record has its own", () =>
    Effect.gen(function* () {
      const runs = yield* asking(16)
      yield* Effect.forEach(runs, ({ request, run }, n) => approve(run, request, `person-${n}`), {
        concurrency: "unbounded"
      })
      for (const [n, { request }] of runs.entries()) {
        assert.deepStrictEqual(yield* decisionOf(request), ["decided", `person-${n}`])
      }
    })
  )

  it.effect(
    "32 cancels of one run at once: it ends once, and all of them succeed or say that",
    () =>
      Effect.gen(function* () {
        const [begun] = yield* many(1)
        const { run } = begun!
        const results = yield* Effect.forEach(
          Array.from({ length: 32 }),
          () => Effect.result(cancel(run)),
          { concurrency: "unbounded" }
        )
        const tags = results.flatMap((each) => (each._tag === "Failure" ? [each.failure._tag] : []))
        assert.deepStrictEqual(tags, Array<string>(31).fill("RunIsOver"))
        const { entries } = yield* Samples.snapshot(run)
        assert.strictEqual(entries.filter(({ event }) => event._tag === "RunEnded").length, 1)
      })
  )

  it.effect("answers that one statement writes are announced where a channel is bound", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const [bound, unbound] = [Samples.unique("bound"), Samples.unique("unbound")]
      yield* sql.unsafe(
        `INSERT INTO troupe.channel_bindings (tenant, conversation, channel, address, recipient)
         VALUES ('acme', $1, 'chat', '"x"', '"ada"')`,
        [bound]
      )
      yield* sql.unsafe(
        `INSERT INTO troupe.conversation_messages (tenant, conversation, seq, role, content, channel_origin, created_at)
         SELECT m.tenant, m.conversation, m.seq, m.role, '""', 'api', 7 FROM (VALUES
           ('acme', $1, 0, 'user'), ('acme', $1, 1, 'assistant'), ('acme', $1, 2, 'assistant'),
           ('acme', $2, 0, 'assistant'), ('other', $1, 0, 'assistant')) AS m(tenant, conversation, seq, role)`,
        [bound, unbound]
      )
      const announced = yield* sql.unsafe<{ readonly tenant: string; readonly payload: string }>(
        `SELECT tenant, payload FROM troupe.outbox WHERE key IN ('conversation/' || $1, 'conversation/' || $2) ORDER BY key_seq`,
        [bound, unbound]
      )
      assert.deepStrictEqual(
        announced.map(({ payload, tenant }) => [tenant, JSON.parse(payload)]),
        [1, 2].map((seq) => ["acme", { conversation: bound, seq }])
      )
    })
  )

  it.effect("an amendment inside a transaction is made with it or not at all", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const news = yield* RunNews
      const [begun] = yield* many(1)
      const { run } = begun!
      const heard: Array<RunId | undefined> = []
      yield* news.onAmended((id) => void heard.push(id))
      const before = yield* Samples.snapshot(run)
      yield* Effect.exit(sql.withTransaction(Effect.andThen(cancel(run), Effect.fail("no"))))
      assert.deepStrictEqual(yield* Samples.snapshot(run), before)
      assert.deepStrictEqual(heard, [])
      yield* sql.withTransaction(cancel(run))
      assert.strictEqual(yield* statusOf(run), "cancelled")
      assert.deepStrictEqual(heard, [run])
    })
  )
}

onEngines("amendments", together)

/** Rows of records that were fetched since the database was made, those of the statement itself left out. */
const recordsRead = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(
    sql.unsafe<{ readonly rows: number }>(
      `SELECT sum(idx_tup_fetch)::float8 AS rows FROM (SELECT idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'approvals'
         UNION ALL SELECT idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'approvals') t`
    ),
    ([row]) => row?.rows ?? 0
  )
)

// Of one session, which knows what it has read.
layer(Layer.provideMerge(SqlStores.layer, migratedLayer), {
  excludeTestServices: true
})("amendments of few among many (PGlite)", (it) => {
  it.effect("16 answers at once read their own records, and none of 2,000 other open ones", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql.unsafe(
        `INSERT INTO troupe.approvals (id, tenant, run_id, payload)
         SELECT gen_random_uuid(), 'other', gen_random_uuid(), '{}' FROM generate_series(1, 2000)`
      )
      const runs = yield* asking(16)
      const before = yield* recordsRead
      yield* Effect.forEach(runs, ({ request, run }) => approve(run, request, "ada"), {
        concurrency: "unbounded"
      })
      assert.isAtMost((yield* recordsRead) - before, 16 * 4)
      for (const { request } of runs) {
        assert.deepStrictEqual(yield* decisionOf(request), ["decided", "ada"])
      }
    })
  )
})

const counted = Statements.make()
const stores = Layer.provideMerge(SqlStores.layer, EmbeddedPostgres.layer)

layer(Layer.provideMerge(stores, counted.layer), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("amendments beside each other (PostgreSQL)", (it) => {
  it.effect("64 at once of as many runs share at most eight statements", () =>
    Effect.gen(function* () {
      const runs = yield* many(64)
      counted.reset()
      yield* Effect.forEach(runs, ({ run }) => cancel(run), { concurrency: "unbounded" })
      assert.isAtMost(counted.sent.length, 8, counted.sent.join("\n"))
      for (const { run } of runs) assert.strictEqual(yield* statusOf(run), "cancelled")
    })
  )

  it.effect("64 records read at once share at most four statements", () =>
    Effect.gen(function* () {
      const asked = Array.from({ length: 64 }, () => Samples.approvalRequested())
      yield* Effect.forEach(asked, (request) =>
        Samples.begin({}, [Samples.modelTurned(1, 1), request])
      )
      counted.reset()
      const records = yield* Effect.forEach(
        asked,
        ({ approval }) => ApprovalRecords.use(({ get }) => get(approval)),
        { concurrency: "unbounded" }
      )
      assert.isAtMost(counted.sent.length, 4, counted.sent.join("\n"))
      assert.deepStrictEqual(
        records.map((record) => record?.id),
        asked.map(({ approval }) => approval)
      )
    })
  )

  it.effect("the answer to a run that a slow body holds is not recorded with those of others", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const gate = Deferred.makeUnsafe<void>()
      const entered = Deferred.makeUnsafe<void>()
      const body = Effect.andThen(Deferred.succeed(entered, undefined), Deferred.await(gate))
      const [held, ...others] = yield* asking(17)
      const holder = yield* Effect.forkChild(
        journal.transact(held!.run, held!.fence, body, () => held!.next(Samples.callSettled()))
      )
      yield* Deferred.await(entered)
      const answers = yield* Effect.forkChild(
        Effect.forEach([...others, held!], ({ request, run }) => approve(run, request, run), {
          concurrency: "unbounded"
        })
      )
      for (const { request, run } of others) {
        yield* eventually(decisionOf(request), ([, by]) => by === run)
      }
      assert.deepStrictEqual(yield* decisionOf(held!.request), ["pending", undefined])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(holder)
      yield* Fiber.join(answers)
      assert.deepStrictEqual(yield* decisionOf(held!.request), ["decided", held!.run])
    })
  )

  it.effect("a run that a slow body holds delays no other, and is amended after the body", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const gate = Deferred.makeUnsafe<void>()
      const entered = Deferred.makeUnsafe<void>()
      const body = Effect.andThen(Deferred.succeed(entered, undefined), Deferred.await(gate))
      const held = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      const holder = yield* Effect.forkChild(
        journal.transact(held.run, held.fence, body, () => held.next(Samples.callSettled()))
      )
      yield* Deferred.await(entered)
      const waiting = yield* Effect.forkChild(cancel(held.run))
      const others = yield* many(16)
      yield* Effect.forEach(others, ({ run }) => cancel(run), { concurrency: "unbounded" })
      assert.isUndefined(holder.pollUnsafe())
      assert.isUndefined(waiting.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(holder)
      yield* Fiber.join(waiting)
      const { entries } = yield* Samples.snapshot(held.run)
      const tags = entries.map(({ event }) => event._tag)
      assert.isAbove(tags.indexOf("RunStopping"), tags.indexOf("CallSettled"))
    })
  )
})
