/** What is over and old leaves the database, through an archive, and comes back from it as it was. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { watchFeed } from "../../layers/compose/promises/WatchedFeed.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ArchiveFile from "../../layers/sql/archive/ArchiveFile.ts"
import { archive_format, LineWriter } from "../../layers/sql/archive/ArchiveFile.ts"
import * as RunExport from "../../layers/sql/archive/RunExport.ts"
import * as RunImport from "../../layers/sql/archive/RunImport.ts"
import * as Migrations from "../../layers/sql/engine/Migrations.ts"
import * as Retention from "../../layers/sql/retention/Retention.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { BlobStore } from "../../services/BlobStore.ts"
import { ConversationStore } from "../../services/ConversationStore.ts"
import { RunList } from "../../services/RunList.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as Homes from "../process/Homes.ts"
import * as H from "../runtime/Harness.ts"
import { onEngines } from "./Engines.ts"
import { isFull } from "../Long.ts"

const day_ms = 86_400_000
const options: H.Options = {
  tools: { change: H.asks(() => Effect.succeed("changed")) },
  script: ({ transcript }) => {
    const last = transcript.at(-1)
    return last?.role === "user" && last.text === "change it"
      ? call("change", { n: 1 })
      : text('Done. \u2028\n"ä\u0000')
  }
}

const keys: ReadonlyArray<readonly [table: string, column: string]> = [
  ["conversation_messages", "run_id"],
  ["agent_tasks", "id"],
  ["runs", "run_id"],
  ["run_details", "run_id"],
  ["run_events", "run_id"],
  ["approvals", "run_id"],
  ["call_records", "run_id"],
  ["turn_costs", "run_id"],
  ["blob_uses", "run"]
]

/** All that is stored of a run, but the numbers that a database gives by itself. */
const rowsOf = Effect.fnUntraced(function* (run: RunId) {
  const sql = yield* SqlClient.SqlClient
  const found: Record<string, ReadonlyArray<string>> = {}
  for (const [table, column] of keys) {
    const rows = yield* sql.unsafe<{ row: string }>(
      `SELECT (to_jsonb(t) - 'position' - 'place')::text AS row FROM troupe.${table} t WHERE ${column} = $1::uuid ORDER BY 1`,
      [run]
    )
    found[table] = rows.map(({ row }) => row)
  }
  return found
})

const age = Effect.fnUntraced(function* (run: RunId, days: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql.unsafe(
    `UPDATE troupe.run_events SET at = at - ${days * day_ms} WHERE run_id = $1::uuid`,
    [run]
  )
})

const exists = (run: RunId) =>
  Effect.map(rowsOf(run), (rows) => Object.values(rows).some((each) => each.length > 0))

/** A run of the conversation that has ended, `days` ago. */
const old = Effect.fnUntraced(function* (conversation: string, days = 100) {
  const run = yield* H.send("say so", conversation)
  yield* H.ended(run, conversation)
  yield* age(run, days)
  return run
})

/** Every table of a run has rows: a file, a record of a call, a cost. */
const furnish = Effect.fnUntraced(function* (run: RunId, conversation: string) {
  const sql = yield* SqlClient.SqlClient
  const bytes = new Uint8Array(1_200_000).fill(7)
  const digest = createHash("sha256").update(bytes).digest("hex")
  yield* BlobStore.use((blobs) =>
    blobs.put(
      H.tenant,
      { digest, media_type: "image/png" },
      bytes,
      { run, conversation: ConversationId.make(conversation), as: "message" },
      10_000_000
    )
  )
  yield* sql.unsafe(
    `INSERT INTO troupe.call_records (key, tenant, run_id, tool_name, ended_at, took_ms, ended_as, record)
     VALUES ('"k"', 'acme', $1::uuid, '"change"', 9007199254740993, 5, 0, '{}')`,
    [run]
  )
  yield* sql.unsafe(
    `INSERT INTO troupe.turn_costs (run_id, seq, at, tenant, agent, model, currency, amount, prices, input_tokens,
       output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens)
     VALUES ($1::uuid, 2, 1, 'acme', 'tester', 'm', 'USD', 0.12345678901234567890123, 'p', 1, 2, 3, 4, 5)`,
    [run]
  )
  return { digest, bytes }
})

const exported = (path: string, chosen: RunExport.Chosen = {}, onRun?: (done: number) => void) =>
  ArchiveFile.writeFile(path, (write) =>
    RunExport.exportRuns(RunExport.endedRuns(chosen), 1, write, onRun)
  )

/** No run is left, and no file. */
const emptied = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const [table] of keys) yield* sql.unsafe(`DELETE FROM troupe.${table}`)
  for (const table of ["blobs", "blob_totals", "conversations"]) {
    yield* sql.unsafe(`DELETE FROM troupe.${table}`)
  }
})

const pass = (archive?: string) => Retention.pass(archive === undefined ? {} : { archive })

onEngines("what is old", (it) => {
  it.effect("is written to an archive and removed, and nothing that somebody needs is", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const directory = join(yield* Homes.temporary, "archive")
      const process = yield* H.boot(options)
      yield* Effect.gen(function* () {
        const gone = [yield* old("quiet", 101), yield* old("quiet"), yield* old("other")]
        const { digest } = yield* furnish(gone[0]!, "quiet")
        // Before an open question, before something recent, of an unknown outcome, in quarantine, and not old enough.
        const kept = [yield* old("waits"), yield* old("lately"), yield* old("unknown")]
        kept.push(yield* old("spoilt"), yield* old("young", 89))
        const waiting = yield* H.send("change it", "waits")
        const asked = yield* H.question(waiting, 1, "waits")
        yield* age(waiting, 200)
        yield* old("lately", 1)
        yield* sql.unsafe(
          `INSERT INTO troupe.unknown_calls (run_id, call, tool, tenant, since) VALUES ($1::uuid, '0/1.0', 't', 'acme', 0)`,
          [kept[2]]
        )
        yield* sql.unsafe(`UPDATE troupe.runs SET status = status + 100 WHERE run_id = $1::uuid`, [
          kept[3]
        ])
        const before = yield* Effect.forEach(kept, rowsOf)
        assert.deepStrictEqual(yield* pass(directory), { runs: 3, records: 0 })
        assert.deepStrictEqual(yield* Effect.forEach(kept, rowsOf), before)
        for (const run of gone) {
          const { turn_costs, ...rest } = yield* rowsOf(run)
          assert.deepStrictEqual([...new Set(Object.values(rest).flat())], [])
          assert.lengthOf(turn_costs!, run === gone[0] ? 1 : 0)
        }
        assert.isUndefined(
          yield* BlobStore.use((blobs) => blobs.read(H.tenant, digest, 0, 1_000_000))
        )
        const { items: left } = yield* ConversationStore.use(({ list }) =>
          list({ tenant: H.tenant, limit: 500 })
        )
        assert.deepStrictEqual(left.map(({ id }) => id as string).sort(), [
          "lately",
          "spoilt",
          "unknown",
          "waits",
          "young"
        ])
        const files = readdirSync(directory)
        assert.lengthOf(files, 1)
        assert.strictEqual(statSync(join(directory, files[0]!)).mode & 0o777, 0o600)
        assert.deepStrictEqual(yield* pass(directory), { runs: 0, records: 0 })
        // The run that waited goes on, and the conversation that was removed begins anew.
        yield* H.decide(asked.approval, H.approve)
        assert.deepInclude(H.end(yield* H.ended(waiting, "waits")), { status: "complete" })
        yield* old("quiet", 0)
        yield* sql.unsafe(`DELETE FROM troupe.quarantine`)
      }).pipe(process.run)
    }).pipe(Effect.scoped)
  )

  it.effect("of a conversation that goes on leaves as far as no prompt reads it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const process = yield* H.boot(options)
      yield* Effect.gen(function* () {
        const [first, second] = [yield* old("long"), yield* old("long")]
        yield* old("long", 0)
        const more = (from: number, to: number) =>
          sql.unsafe(
            `INSERT INTO troupe.agent_tasks (id, tenant, agent, address_key, conversation, ordinal, status, message_id, message, by,
               trace_id, channel_origin, created_at)
             SELECT gen_random_uuid(), tenant, agent, address_key, conversation, n, 2, gen_random_uuid(), message, by, trace_id,
               channel_origin, created_at FROM troupe.agent_tasks t CROSS JOIN generate_series(${from}, ${to}) AS n
             WHERE t.id = $1::uuid`,
            [first]
          )
        yield* more(4, 101)
        assert.strictEqual((yield* pass()).runs, 0)
        yield* more(102, 102)
        assert.strictEqual((yield* pass()).runs, 1)
        assert.isFalse(yield* exists(first))
        assert.isTrue(yield* exists(second))
        const tasks = yield* TaskStore.use((tasks) =>
          tasks.ofConversation(H.tenant, ConversationId.make("long"), 0, 1)
        )
        assert.strictEqual(tasks[0]?.id, second)
        const places = yield* AgentRuntime.use((runtime) =>
          runtime
            .watch(ConversationId.make("long"), { ordinal: 1, seq: 2 }, H.alice)
            .pipe(Stream.take(1), Stream.runCollect)
        )
        assert.deepInclude(places[0], { _tag: "Event", ordinal: 2 })
        // Those that remain may be older than those that were removed.
        yield* sql.unsafe(
          `DELETE FROM troupe.agent_tasks WHERE conversation = 'long' AND ordinal > 3`
        )
        yield* sql.unsafe(`UPDATE troupe.conversations SET tasks = 102 WHERE id = 'long'`)
        const next = yield* AgentRuntime.use((runtime) =>
          runtime.watch(ConversationId.make("long"), { ordinal: 102, seq: 2 }, H.alice).pipe(
            Stream.filter((item) => item._tag === "Event"),
            Stream.take(1),
            Stream.runCollect
          )
        ).pipe(Effect.forkChild({ startImmediately: true }))
        yield* H.send("go on", "long")
        assert.deepInclude((yield* Fiber.join(next))[0], { _tag: "Event", ordinal: 103 })
      }).pipe(process.run)
    }).pipe(Effect.scoped)
  )

  it.effect("are records of calls, settled dead letters and results of queued calls", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const letters = `INSERT INTO troupe.dead_letters (event_id, tenant, handler_name, key, payload, attempts, failures, dead_at,
        place, status, resolved_at) SELECT gen_random_uuid(), 'acme', 't', 'k', '{}', 1, '{}', 0, n, n % 2,
        CASE WHEN n % 2 = 1 THEN 0 END FROM generate_series(1, 1200) AS n`
      yield* sql.unsafe(letters)
      yield* sql.unsafe(`INSERT INTO troupe.call_records (key, tenant, run_id, tool_name, ended_at, took_ms, ended_as, record)
        SELECT n::text, 'acme', gen_random_uuid(), 't', CASE WHEN n <= 700 THEN 0 ELSE 9007199254740993 END, 5, 0, '{}'
        FROM generate_series(1, 701) AS n`)
      yield* sql.unsafe(`INSERT INTO troupe.tool_messages (id, tool, tenant, payload, expires_at, status, due_at, over_at)
        SELECT n::text, 't', 'acme', '{}', 0, n, 0, 0 FROM generate_series(0, 2) AS n`)
      assert.strictEqual((yield* pass()).records, 600 + 700 + 1)
      const [left] =
        yield* sql.unsafe(`SELECT (SELECT count(*)::int4 FROM troupe.dead_letters WHERE status = 0) AS dead,
        (SELECT count(*)::int4 FROM troupe.dead_letters) AS letters, (SELECT count(*)::int4 FROM troupe.call_records WHERE key = '701') AS records,
        (SELECT string_agg(status::text, ',' ORDER BY status) FROM troupe.tool_messages) AS calls`)
      assert.deepStrictEqual(left, { dead: 600, letters: 600, records: 1, calls: "0,2" })
    })
  )

  it.effect("leaves by itself, a minute after a start", () =>
    Effect.gen(function* () {
      const process = yield* H.boot(options)
      const run = yield* process.run(old("alone"))
      yield* Effect.gen(function* () {
        yield* TestClock.setTime(Date.now())
        yield* Layer.build(Retention.layer({}))
        yield* TestClock.adjust("59 seconds")
        assert.isTrue(yield* exists(run))
        yield* TestClock.adjust("1 second")
        // The statements take time that this clock does not say, and would be given up by it.
        for (let n = 0; n < 500 && (yield* exists(run)); n++) {
          yield* TestClock.withLive(Effect.sleep(20))
        }
        assert.isFalse(yield* exists(run))
      }).pipe(Effect.scoped, Effect.provide(TestClock.layer()))
    }).pipe(Effect.scoped)
  )

  if (isFull) {
    it.effect("comes back as it was, to be read and replayed and not gone on with", () =>
      Effect.gen(function* () {
        const home = yield* Homes.temporary
        const path = join(home, "runs.jsonl")
        const process = yield* H.boot(options)
        const { file, rows, runs } = yield* Effect.gen(function* () {
          const runs = [yield* old("back", 0)]
          runs.push(yield* H.send("change it", "back"))
          yield* H.decide((yield* H.question(runs[1]!, 1, "back")).approval, H.approve)
          yield* H.ended(runs[1]!, "back")
          const open = yield* H.send("change it", "still-open")
          yield* H.question(open, 1, "still-open")
          const file = yield* furnish(runs[1]!, "back")
          const told: Array<number> = []
          const written = yield* exported(path, {}, (done) => void told.push(done))
          assert.isAtLeast(written.runs, 2)
          assert.deepStrictEqual([told[0], told.at(-1)], [1, written.runs + written.broken.length])
          return { file, runs, rows: yield* Effect.forEach(runs, rowsOf) }
        }).pipe(process.run)
        const whole = readFileSync(path, "utf8")
        assert.notInclude(whole, "still-open")
        yield* process.stop
        yield* emptied
        yield* Effect.gen(function* () {
          const told: Array<readonly [done: number, total: number]> = []
          const { runs: count } = yield* RunImport.importRuns(path, (...of) => void told.push(of))
          assert.isAtLeast(count, 2)
          assert.deepStrictEqual(told.at(-1), [count, count])
          assert.deepStrictEqual(yield* Effect.forEach(runs, rowsOf), rows)
          // Again: what the store has of a run is left as it is, whatever became of it.
          const sql = yield* SqlClient.SqlClient
          yield* sql.unsafe("DELETE FROM troupe.call_records")
          assert.deepStrictEqual(yield* RunImport.importRuns(path), {
            runs: 0,
            known: count,
            refused: []
          })
          assert.lengthOf(yield* sql.unsafe("SELECT FROM troupe.call_records"), 0)
          const read = yield* BlobStore.use((blobs) =>
            blobs.read(H.tenant, file.digest, 0, 3_000_000)
          )
          assert.isTrue(Buffer.from(read!).equals(Buffer.from(file.bytes)))
          const listed = yield* RunList.use(({ list }) => list({ tenant: H.tenant, limit: 500 }))
          assert.includeMembers(
            listed.map(({ id }) => id),
            runs
          )
          for (const run of runs) {
            const report = yield* Replay.replay(run)
            assert.strictEqual(report.same, report.events)
          }
          const there = yield* H.boot(options)
          const sent = yield* there.run(Effect.flip(H.send("say so", "back")))
          assert.deepInclude(sent, { _tag: "AddressConflict" })
          const stopped = yield* there.run(
            Effect.flip(AgentRuntime.use((of) => of.interrupt(runs[0]!, H.alice, "no")))
          )
          assert.strictEqual(stopped._tag, "RunIsOver")
        })
      }).pipe(Effect.scoped)
    )
  }

  it.effect("is not imported from an archive that was changed, cut or put together anew", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const path = join(yield* Homes.temporary, "runs.jsonl")
      const process = yield* H.boot(options)
      yield* process.run(old("refused", 0))
      yield* exported(path)
      assert.match(
        (yield* Effect.flip(exported(path))).message,
        /cannot be used as an archive: it is there already, and no file is replaced/
      )
      // As a process leaves it that is killed while it writes.
      const cut = `${path}.cut`
      writeFileSync(cut, "")
      assert.include(
        (yield* Effect.flip(exported(cut))).message,
        "was killed. If none is, remove it"
      )
      const lines = readFileSync(path, "utf8").trimEnd().split("\n")
      yield* emptied
      const at = lines.findIndex((line) => line.includes("ModelTurned"))
      const changes: ReadonlyArray<readonly [ReadonlyArray<string>, RegExp]> = [
        [lines.with(at, lines[at]!.replace("Done", "Gone")), /line \d+ .* its digest is another/],
        [lines.toSpliced(at, 1), /lines are missing before it/],
        [lines.slice(0, -1), /ends before its last line/],
        [[...lines, lines.at(-1)!], /its digest is another/],
        [lines.slice(1), /line 1 /],
        [[], /does not begin an archive/],
        [["{}"], /no line of an archive/]
      ]
      for (const [changed, why] of changes) {
        writeFileSync(path, changed.map((line) => `${line}\n`).join(""))
        const refused = yield* Effect.flip(RunImport.importRuns(path))
        assert.strictEqual(refused._tag, "ArchiveRefused")
        assert.match(refused.message, why)
      }
      const [row] = yield* sql.unsafe("SELECT count(*)::int4 AS n FROM troupe.runs")
      assert.deepStrictEqual(row, { n: 0 })
      writeFileSync(path, `${lines.join("\n")}\n`)
      assert.isAtLeast((yield* RunImport.importRuns(path)).runs, 1)
      assert.strictEqual(
        (yield* Effect.flip(RunImport.importRuns(`${path}x`)))._tag,
        "ArchiveUnusable"
      )
    }).pipe(Effect.scoped)
  )

  it.effect(
    "is imported from archives of this version and of older ones, and of no newer one",
    () =>
      Effect.gen(function* () {
        const path = join(yield* Homes.temporary, "runs.jsonl")
        const newest = yield* Migrations.newest
        const check = (format: number, schema: number) => {
          const lines = new LineWriter()
          const first = lines.line("archive", JSON.stringify({ format, schema, at: 0 }))
          writeFileSync(path, `${first}${lines.line("end", `{"runs":0}`)}`)
          return RunImport.check(path)
        }
        assert.strictEqual(yield* check(archive_format, newest), 0)
        // Those from before the first release counted more migrations.
        assert.strictEqual(yield* check(1, 20), 0)
        for (const [format, schema] of [
          [archive_format, newest + 1],
          [archive_format + 1, newest]
        ] as const) {
          const refused = yield* Effect.flip(check(format, schema))
          assert.match(refused.message, /line 1 .* a newer version of Troupe wrote it/)
        }
      }).pipe(Effect.scoped)
  )

  it.effect("is left out of an import where its key was used again, and no other is", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const path = join(yield* Homes.temporary, "runs.jsonl")
      const process = yield* H.boot(options)
      const ids = yield* process.run(Effect.all([old("k-1"), old("k-2"), old("k-3")]))
      const key = (run: RunId | undefined) =>
        sql.unsafe(
          "UPDATE troupe.agent_tasks SET idempotency_key = '\"daily\"' WHERE id = $1::uuid",
          [run]
        )
      yield* key(ids[1])
      yield* exported(path)
      yield* emptied
      yield* key(yield* process.run(old("k-4", 0)))
      const { refused, runs } = yield* RunImport.importRuns(path)
      assert.deepStrictEqual(refused, [ids[1]])
      assert.isAtLeast(runs, 2)
      assert.isFalse(yield* exists(ids[1]!))
      assert.isTrue(yield* exists(ids[2]!))
      yield* emptied
    }).pipe(Effect.scoped)
  )

  it.effect("that lacks events or its task is kept and named, and the others leave as before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const home = yield* Homes.temporary
      const process = yield* H.boot(options)
      const [gap, orphan, whole] = yield* process.run(
        Effect.all([old("gap"), old("orphan"), old("whole")])
      )
      yield* process.run(old("orphan", 101))
      yield* sql.unsafe("DELETE FROM troupe.run_events WHERE run_id = $1::uuid AND seq = 2", [gap])
      yield* sql.unsafe("DELETE FROM troupe.agent_tasks WHERE id = $1::uuid", [orphan])
      const { broken } = yield* exported(join(home, "all.jsonl"))
      assert.sameMembers([...broken], [gap, orphan])
      assert.isAtLeast((yield* pass(join(home, "old"))).runs, 2)
      assert.isFalse(yield* exists(whole))
      assert.isTrue(yield* exists(gap))
      yield* emptied
    }).pipe(Effect.scoped)
  )

  it.effect("stays where its archive cannot be written, of which no part is left", () =>
    Effect.gen(function* () {
      const home = yield* Homes.temporary
      const path = join(home, "runs.jsonl")
      const failed = yield* Effect.flip(
        ArchiveFile.writeFile(path, (write) => Effect.andThen(write("x\n"), Effect.fail("no")))
      )
      assert.strictEqual(failed, "no")
      assert.deepStrictEqual(readdirSync(home), [])
      const process = yield* H.boot(options)
      const run = yield* process.run(old("unarchived"))
      writeFileSync(join(home, "taken"), "")
      const refused = yield* Effect.flip(pass(join(home, "taken")))
      assert.strictEqual(refused._tag, "ArchiveUnusable")
      assert.isTrue(yield* exists(run))
      assert.isFalse(existsSync(path))
    }).pipe(Effect.scoped)
  )

  it.effect("that is removed while it is watched ends the watch with an error", () =>
    Effect.gen(function* () {
      const steps = 10
      const process = yield* H.boot({
        tools: { look: H.reads((n) => Effect.succeed(n)) },
        script: ({ transcript }) =>
          transcript.length > 2 * steps ? text("done") : call("look", { n: transcript.length })
      })
      const watched = Effect.gen(function* () {
        const run = yield* H.send("look about", "watched")
        yield* H.ended(run, "watched")
        yield* age(run, 100)
        let seen = 0
        const removing = Stream.tap(watchFeed(run, undefined, H.alice), () =>
          seen++ === 0 ? pass() : Effect.void
        )
        const error = yield* Effect.flip(Stream.runDrain(removing))
        assert.strictEqual(error._tag, "StoreError")
        assert.isFalse(yield* exists(run))
        assert.isAtLeast(seen, 1)
      })
      yield* process.run(watched)
    }).pipe(Effect.scoped)
  )
})
