/** What agents remember, their tools store and worlds say, with statements that do not compare tenants: row security alone keeps it apart. */
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import { TenantReads } from "../../layers/sql/engine/TenantReads.ts"
import * as SqlMemoryStore from "../../layers/sql/stores/SqlMemoryStore.ts"
import * as StoredWorlds from "../../layers/stores/spectral/worlds/StoredWorlds.ts"
import { FlowState } from "../../services/semstreams/FlowState.ts"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import type { Stores } from "../../services/Stores.ts"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { RuleProposals } from "../../services/spectral/worlds/RuleProposals.ts"
import { WorldPublisher } from "../../services/spectral/worlds/WorldPublisher.ts"
import { WorldReader } from "../../services/spectral/worlds/WorldReader.ts"
import { completionKey } from "../../src/semstreams/LoopRecord.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import { CanonicalText } from "../../src/memory/CanonicalText.ts"
import type { MemoryRow, NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import * as Samples from "../contracts/Samples.ts"
import { credit } from "../worlds/Worlds.ts"
import { onEngines } from "./Engines.ts"
import { keptApart } from "./Forgetting.ts"

const agent = Samples.operations
const place = "workspace/acme"

type Reads<R> = Readonly<Record<string, (tenant: Tenant) => Effect.Effect<unknown, unknown, R>>>

/** A row of a run, in a conversation. */
const newRow = (tenant: Tenant, run: RunId): NewMemoryRow => ({
  tenant,
  agent,
  tier: "interaction",
  anchor: run,
  place,
  session: "c1",
  typology: "episodic",
  text: "The walrus likes tea",
  provenance: { source: "tool_call", author: "model", run },
  at: 1_700_000_000_000
})

const remembered = Effect.fnUntraced(function* (tenant: Tenant, run: RunId) {
  const store = yield* MemoryStore
  const name = Samples.unique("rule")
  const text = "Refunds need the receipt and two weeks."
  yield* store.register(CanonicalText.make({ tenant, place, name, text, threshold: 0.7 }))
  return yield* store.add(newRow(tenant, run))
})

const memoryReads = ({ id, ...row }: MemoryRow): Reads<Stores> => {
  const scopeOf = (tenant: Tenant) => ({ ...row, tenant })
  return {
    memory: (tenant) => MemoryStore.use((store) => store.get({ tenant, agent, id })),
    memories: (tenant) => MemoryStore.use((store) => store.list(scopeOf(tenant), { limit: 1 })),
    recalled: (tenant) =>
      MemoryStore.use((store) => store.candidates([scopeOf(tenant)], ["walrus"])),
    "newest recalled": (tenant) =>
      MemoryStore.use((store) => store.candidates([scopeOf(tenant)], [])),
    canonicals: (tenant) => MemoryStore.use((store) => store.canonicals(tenant, place)),
    interactions: (tenant) =>
      MemoryStore.use((store) =>
        store.interactions({ ...scopeOf(tenant), tier: "session", anchor: row.session })
      )
  }
}

/** A fact, the state of a flow, the record of a loop, and a run that has ended and has no record yet. */
const stored = Effect.fnUntraced(function* (tenant: Tenant) {
  const [flow, subject, key] = ["flow", "entity", completionKey("1")].map(Samples.unique)
  yield* FlowState.use((flows) => flows.set(tenant, flow!, "open"))
  yield* LoopStore.use((loops) =>
    loops.put(tenant, key!, JSON.stringify({ workflow_slug: flow, outcome: "success" }))
  )
  const fact = { predicate: "says", object: "yes", source: "test", confidence: 1 }
  const timestamp = "2026-11-22T00:00:00.000Z"
  yield* TriplePublisher.use((graph) =>
    graph.addAll(tenant, [{ subject: subject!, timestamp, ...fact }])
  )
  return { flow: flow!, subject: subject!, key: key! }
})

const toolReads = (
  { flow, key, subject }: Effect.Success<ReturnType<typeof stored>>,
  run: RunId
): Reads<SemStreams.Stores> => ({
  flow: (tenant) => FlowState.use((flows) => flows.get(tenant, flow)),
  loop: (tenant) => LoopStore.use((loops) => loops.get(tenant, key)),
  run: (tenant) => LoopStore.use((loops) => loops.get(tenant, completionKey(run))),
  loops: (tenant) => LoopStore.use((loops) => loops.scan(tenant, flow, undefined, 10)),
  runs: (tenant) => LoopStore.use((loops) => loops.scan(tenant, agent, undefined, 10)),
  facts: (tenant) => TriplePublisher.use((graph) => graph.about(tenant, subject, 10))
})

const { world_id } = credit.world
const [rule] = credit.rules

const worldReads: Reads<WorldReader | RuleProposals> = {
  worlds: (tenant) => WorldReader.use((worlds) => worlds.worlds(tenant)),
  world: (tenant) => WorldReader.use((worlds) => worlds.world(tenant, world_id)),
  rules: (tenant) => WorldReader.use((worlds) => worlds.rules(tenant, world_id)),
  rulePage: (tenant) =>
    WorldReader.use((worlds) => worlds.rulePage(tenant, world_id, { limit: 1 })),
  rule: (tenant) => WorldReader.use((worlds) => worlds.rule(tenant, world_id, rule!.rule_id)),
  evalSets: (tenant) => WorldReader.use((worlds) => worlds.evalSets(tenant, world_id)),
  candidates: (tenant) => RuleProposals.use((queue) => queue.open(tenant, world_id, 10))
}

onEngines("stores of agents whose statements compare no tenants", (it) => {
  it.effect(
    "SA-31 give memories to their own tenant, and to another one without row security",
    () =>
      Effect.gen(function* () {
        const tenants = { tenant: Samples.tenant(), other: Samples.tenant() }
        const row = yield* remembered(tenants.tenant, Samples.runId())
        yield* keptApart(memoryReads(row), tenants)
      })
  )

  it.effect("SA-31 recall no row that was undone or has moved on since it was found", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      const [undone, moved, left] = [
        yield* store.add(newRow(tenant, Samples.runId())),
        yield* store.add(newRow(tenant, Samples.runId())),
        yield* store.add(newRow(tenant, Samples.runId()))
      ]
      const meanwhile = Effect.gen(function* () {
        yield* store.undo(undone, "ada")
        const to = { ...moved, tier: "session", anchor: moved.session } as const
        const promoted = [{ id: moved.id, typology: moved.typology }]
        yield* store.compound({ from: moved, to, promoted, repeated: [] })
      }).pipe(Effect.orDie)
      const found = MemoryStore.use((late) => late.candidates([undone, moved, left], ["walrus"]))
      const between = TenantReads.of({
        role: undefined,
        of: () => (read) => Effect.andThen(meanwhile, read)
      })
      const late = Layer.provide(SqlMemoryStore.layer, Layer.succeed(TenantReads, between))
      const rows = yield* Effect.provide(found, Layer.fresh(late))
      assert.deepStrictEqual(rows, [left])
    })
  )

  it.effect(
    "give what tools store to its own tenant, and to another one without row security",
    () =>
      Effect.gen(function* () {
        const tenants = { tenant: Samples.tenant(), other: Samples.tenant() }
        const begun = yield* Samples.finish({ tenant: tenants.tenant })
        yield* keptApart(toolReads(yield* stored(tenants.tenant), begun.run), tenants)
      }).pipe(Effect.provide(SemStreams.layer))
  )

  it.effect("give worlds to their own tenant, and to another one without row security", () =>
    Effect.gen(function* () {
      const tenants = { tenant: Samples.tenant(), other: Samples.tenant() }
      yield* WorldPublisher.use((publisher) => publisher.publish(tenants.tenant, credit))
      yield* RuleProposals.use((queue) =>
        queue.propose(tenants.tenant, {
          candidate_id: "1",
          world_id,
          topic: rule!.topic,
          title: "A limit",
          body: "Loans have a limit.",
          rationale: "There is none.",
          evidence: [],
          proposed_by: "olga"
        })
      )
      yield* keptApart(worldReads, tenants)
    }).pipe(Effect.provide(StoredWorlds.layer))
  )
})
