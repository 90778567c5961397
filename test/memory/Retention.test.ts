/** Sweeps end what nobody ended, on each store, with a clock of the test's. */
import type { Vitest } from "@effect/vitest"
import { assert, it, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import * as MemoryRetention from "../../layers/memory/MemoryRetention.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { MemoryScope } from "../../src/memory/MemoryRow.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "../runtime/Harness.ts"
import { onEngines } from "../sql/Engines.ts"
import { row } from "./Rows.ts"

const day = 86_400_000
const shop = { namespace: "shop", dependencies: [AgentMemory] } as const
const note = tool({ ...shop, name: "note", side_effects: "read" }, (_, made) =>
  AgentMemory.use((memory) =>
    memory.remember({ text: "Order 7 was read" }, originOfCall(made))
  ).pipe(Effect.orDie, Effect.asVoid)
)
const pay = tool({ namespace: "shop", name: "pay", side_effects: "external" }, () => null)
/** Later than all rows of the other tests. */
const now = Date.UTC(2026, 10, 2)

const tests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect(
    "SA-36 runs and conversations nobody ended are ended by a sweep, and old rows removed",
    () =>
      Effect.gen(function* () {
        yield* TestClock.setTime(now)
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const add = (text: string, tier: MemoryScope["tier"], anchor: string, days: number) => {
          const { id: _id, seen: _seen, ...added } = row({ tenant, text, tier, anchor })
          return store.add({ ...added, session: "c1", at: now - days * day })
        }
        yield* add("Olga called", "interaction", "died", 2)
        yield* add("Paul called", "interaction", "alive", 0.5)
        yield* add("Mary prefers tea", "session", "c0", 31)
        yield* add("Very old", "persistent", "workspace/acme", 400)
        const texts = (tier: MemoryScope["tier"], anchor: string) =>
          Effect.map(
            store.list({ tenant, agent: row({}).agent, tier, anchor }, { limit: 10 }),
            (all) => all.map(({ text }) => text)
          )
        const swept = yield* MemoryRetention.sweep(MemoryRetention.Retention.make({}))
        assert.deepStrictEqual(swept, { ended: 2, removed: 0 })
        assert.deepStrictEqual(yield* texts("interaction", "died"), [])
        assert.deepStrictEqual(yield* texts("interaction", "alive"), ["Paul called"])
        assert.deepStrictEqual(yield* texts("session", "c1"), ["Olga called"])
        assert.sameMembers(yield* texts("persistent", "workspace/acme"), [
          "Very old",
          "Mary prefers tea"
        ])
        const bounded = MemoryRetention.Retention.make({ persistent_days: 365 })
        assert.deepStrictEqual(yield* MemoryRetention.sweep(bounded), { ended: 0, removed: 1 })
        assert.deepStrictEqual(yield* texts("persistent", "workspace/acme"), ["Mary prefers tea"])
      }).pipe(Effect.provide(TestClock.layer()))
  )
}

/** In memory alone: the rule is the gateway's, and 501 rows are slow to write. */
const longTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("what is more than one sweep's work is swept at once", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      for (let n = 0; n < 501; n++) {
        const { id: _id, seen: _seen, ...added } = row({ tenant, text: `call ${n}` })
        const scope = { tier: "interaction", anchor: `died-${n}`, session: `c-${n}` } as const
        yield* store.add({ ...added, ...scope, at: now - 2 * day })
      }
      yield* MemoryRetention.sweepAll(MemoryRetention.Retention.make({}))
      assert.deepStrictEqual(yield* store.stale("interaction", now - day, 10), [])
    }).pipe(Effect.provide(TestClock.layer()))
  )
}

layer(EphemeralMemoryStore.layer, { excludeTestServices: true })("retention (ephemeral)", (it) => {
  tests(it)
  longTests(it)
})
onEngines("retention", (it) => {
  tests(it)
  it.effect("a run that is not over keeps what it noted, however long it waits", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const sql = yield* SqlClient.SqlClient
      const tenant = Samples.tenant()
      const { id: _id, seen: _seen, ...added } = row({ tenant, text: "Olga called", at: 1 })
      const runOf = Effect.fnUntraced(function* (status: number) {
        const run = crypto.randomUUID()
        yield* sql.unsafe(
          `INSERT INTO troupe.runs (run_id, tenant, status) VALUES ($1::uuid, $2::text, $3::int2)`,
          [run, tenant, status]
        )
        yield* store.add({ ...added, anchor: run })
        return run
      })
      yield* Effect.forEach([-1, 0, 1, 2, 99, 102], runOf)
      const over = yield* Effect.forEach([3, 4, 5, 103], runOf)
      const stale = yield* store.stale("interaction", day, 500)
      const anchors = stale.flatMap(({ scope }) => (scope.tenant === tenant ? [scope.anchor] : []))
      assert.sameMembers(anchors, over)
    })
  )
})

it.effect("nor is a run ended by a sweep that waits for a person in this process", () =>
  Effect.gen(function* () {
    const run = yield* H.send("Go")
    yield* H.question(run)
    const store = yield* MemoryStore
    const stale = store.stale("interaction", Number.MAX_SAFE_INTEGER, 10)
    assert.deepStrictEqual(yield* stale, [])
    const { id: _id, seen: _seen, ...added } = row({ anchor: crypto.randomUUID() })
    yield* store.add(added)
    assert.lengthOf(yield* stale, 1)
  }).pipe(
    Effect.provide(
      Runtime.layer({
        agents: [AgentSpec.make({ name: H.agentName, instructions: "", tools: ["note", "pay"] })],
        tools: [note, pay]
      }).pipe(
        Layer.provide(Scripted.layer([Scripted.call("note"), Scripted.call("pay")])),
        Layer.provideMerge(Stores.ephemeral)
      )
    )
  )
)
