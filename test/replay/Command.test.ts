/** `npm run troupe`, as a process over a directory that a runtime left behind. */
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { operations } from "../../src/spectral/agents/Operations.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import * as OperationsTools from "../../layers/spectral/agents/OperationsTools.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { script } from "../../scripts/incident/IncidentScript.ts"
import * as Children from "../process/Child.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import { ended } from "../runtime/Harness.ts"

const operator = new Principal({
  id: "operator",
  tenant: Tenant.make("default"),
  roles: ["admin"]
})

const conversation = "walk"

/** A run that has ended, and then whatever is done while its runtime still is there. */
const afterRun = <A, E, R, F>(
  stores: Layer.Layer<Stores.Stores, F>,
  then: (run: RunId) => Effect.Effect<A, E, R>
) =>
  Effect.gen(function* () {
    const runtime = yield* AgentRuntime
    const { task } = yield* runtime.send(
      {
        agent: operations.name,
        conversation: ConversationId.make(conversation),
        text: "What is stuck?"
      },
      operator
    )
    yield* ended(task.id, conversation, operator)
    return yield* then(task.id)
  }).pipe(
    Effect.provide(
      Runtime.layer({ agents: [operations], tools: [OperationsTools.tools] }).pipe(
        Layer.provide(ScriptedModelGateway.layer(script)),
        Layer.provideMerge(stores)
      )
    )
  )

const unset = { TROUPE_MODEL: "", TROUPE_MODEL_BASE_URL: "", TROUPE_DATABASE_URL: undefined }

const troupe = Effect.fnUntraced(function* (data: string, ...args: ReadonlyArray<string>) {
  return yield* command({ TROUPE_DATA: data }, args)
})

const command = Effect.fnUntraced(function* (
  env: Record<string, string>,
  args: ReadonlyArray<string>
) {
  const child = yield* Children.start("scripts/troupe.ts", args, { ...unset, ...env })
  const { code } = yield* child.ended
  return { code, text: child.text() }
})

// Each command opens the directory anew, which takes seconds.
it.live(
  "replays a run of a directory, writes it as a test, tries a model and a policy, and explains a failure",
  () =>
    Effect.gen(function* () {
      const data = yield* Homes.temporary
      cpSync((yield* Homes.directory).directory, join(data, "db"), { recursive: true })
      const run = yield* afterRun(Stores.directory(join(data, "db")), Effect.succeed)

      const same = yield* troupe(data, "replay", run)
      assert.strictEqual(same.code, 0, same.text)
      assert.match(same.text, /journal\s+same: (\d+) of \1 events came out again/)
      assert.match(same.text, /gate\s+same; calls: 1 replayed/)

      const file = join(data, "fixture.json")
      const other = yield* troupe(
        data,
        "replay",
        run,
        "--model",
        "script",
        "--to-test",
        file,
        "--json"
      )
      assert.strictEqual(other.code, 0, other.text)
      const report = JSON.parse(other.text) as Record<string, Record<string, unknown>>
      assert.deepInclude(report["gate"], { run: true, status: "complete", divergence: null })
      assert.isTrue(existsSync(file))
      assert.lengthOf((yield* Replay.runFixture(readFileSync(file, "utf8"))).steps, 2)

      const policy = join(data, "policy.json")
      const rules = [{ pattern: "no_such_tool", permission: "deny" }]
      writeFileSync(policy, JSON.stringify({ mode: "ask", rules }))
      const tried = yield* troupe(data, "replay", "all", "--policy", policy)
      assert.strictEqual(tried.code, 0, tried.text)
      assert.include(tried.text, "1 of 1 calls in 1 runs would have asked")
      assert.include(tried.text, "has no effect: no tool here is")
      assert.include(tried.text, "0 would have been denied")
      // What a policy may not say is refused in one place, which `runtime/PolicyCheck.test.ts` asks everything of.
      writeFileSync(policy, JSON.stringify({ mood: "ask" }))
      const misread = yield* troupe(data, "replay", run, "--policy", policy)
      assert.strictEqual(misread.code, 1)
      assert.include(misread.text, "mood")

      const unknown = yield* troupe(data, "replay", "6f9619ff-8b86-4011-b42d-00c04fc964ff")
      assert.strictEqual(unknown.code, 1)
      assert.include(unknown.text, "there is no run 6f9619ff")
      const nowhere = yield* troupe(join(data, "nothing"), "replay", run)
      assert.strictEqual(nowhere.code, 1)
      assert.include(nowhere.text, "there is no store")
      assert.isFalse(existsSync(join(data, "nothing")))
      const misspelt = yield* troupe(data, "repaly", run)
      assert.strictEqual(misspelt.code, 2)

      const used = yield* Effect.provide(
        troupe(data, "replay", run),
        Stores.directory(join(data, "db"))
      )
      assert.strictEqual(used.code, 1)
      assert.include(used.text, `is in use by process ${process.pid}`)
      for (const { text } of [unknown, nowhere, used, misread]) assert.notMatch(text, /^\s+at /m)
    }),
  { timeout: 240_000 }
)

it.live(
  "exports a directory and imports it into a new one, where its run is replayed",
  () =>
    Effect.gen(function* () {
      const data = yield* Homes.temporary
      cpSync((yield* Homes.directory).directory, join(data, "db"), { recursive: true })
      const run = yield* afterRun(Stores.directory(join(data, "db")), Effect.succeed)
      const archive = join(data, "runs.jsonl")
      const none = yield* troupe(data, "export", archive, "--before", "2020-01-31")
      assert.deepStrictEqual(none, { code: 0, text: `0 runs written to ${archive}\n` })
      const kept = yield* troupe(data, "export", archive)
      assert.strictEqual(kept.code, 1)
      assert.match(kept.text, /^not exported: .* cannot be used as an archive: it is there already/)
      rmSync(archive)
      assert.strictEqual((yield* troupe(data, "export", archive)).code, 0)
      const copy = join(data, "copy")
      const imported = yield* troupe(data, "import", archive, "--new", "--data", copy)
      assert.deepStrictEqual(imported, { code: 0, text: "1 run imported, 0 already there\n" })
      assert.strictEqual((yield* troupe(copy, "replay", run)).code, 0)
      const twice = yield* troupe(data, "import", archive, "--new", "--data", copy)
      assert.strictEqual(twice.code, 1)
      assert.include(twice.text, "leave --new out")
      assert.strictEqual((yield* troupe(data, "import", archive, "--new")).code, 2)
    }),
  { timeout: 240_000 }
)

it.live(
  "replays a run of a PostgreSQL server, exports it and imports it again, while a service runs on it",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.database
      const file = join(yield* Homes.temporary, "runs.jsonl")
      yield* afterRun(Stores.postgres(Redacted.make(url)), (run) =>
        Effect.gen(function* () {
          const on = (...args: ReadonlyArray<string>) => command({ TROUPE_DATABASE_URL: url }, args)
          const replayed = yield* on("replay", run)
          assert.strictEqual(replayed.code, 0, replayed.text)
          assert.match(replayed.text, /gate\s+same; calls: 1 replayed/)
          const written = `1 run written to ${file}\n`
          assert.deepStrictEqual(yield* on("export", file), { code: 0, text: written })
          const there = { code: 0, text: "0 runs imported, 1 already there\n" }
          assert.deepStrictEqual(yield* on("import", file), there)
        })
      )
    }),
  { timeout: 240_000 }
)
