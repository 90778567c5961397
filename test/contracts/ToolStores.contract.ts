/** The stores of the built-in tools: facts of the graph, ended loops, flows and components. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ComponentCatalog } from "../../services/semstreams/ComponentCatalog.ts"
import { FlowState } from "../../services/semstreams/FlowState.ts"
import { LoopStore } from "../../services/semstreams/LoopStore.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { completionKey, parseRecord } from "../../src/semstreams/LoopRecord.ts"
import type { Component } from "../../src/semstreams/Observation.ts"
import type { Triple } from "../../src/semstreams/Triple.ts"
import { triples_max } from "../../src/semstreams/Triple.ts"
import * as Samples from "./Samples.ts"

type Needs = ComponentCatalog | FlowState | LoopStore | TriplePublisher | RunPorts | TaskStore

const fact = (subject: string, object: string, given: Partial<Triple> = {}): Triple => ({
  subject,
  predicate: "says",
  object,
  source: "test",
  timestamp: "2026-11-22T00:00:00.000Z",
  confidence: 0.85,
  ...given
})

const objectsOf = (facts: ReadonlyArray<Triple>) => facts.map(({ object }) => object)

const publisherTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a graph returns the facts of a tenant as they were published, oldest first", () =>
    Effect.gen(function* () {
      const graph = yield* TriplePublisher
      const [tenant, other, subject] = [
        Samples.tenant(),
        Samples.tenant(),
        Samples.unique("entity")
      ]
      const odd = fact(subject, 'nul \u0000, "quoted", ü €😀', { confidence: 1 })
      yield* graph.addAll(tenant, [fact(subject, "b"), odd, fact(`${subject}x`, "elsewhere")])
      yield* graph.addAll(tenant, [fact(subject, "a")])
      const facts = yield* graph.about(tenant, subject, 10)
      assert.deepStrictEqual(facts, [fact(subject, "b"), odd, fact(subject, "a")])
      assert.deepStrictEqual(objectsOf(yield* graph.about(tenant, subject, 1)), ["b"])
      assert.deepStrictEqual(yield* graph.about(other, subject, 10), [])
    })
  )

  it.effect("a publication can be repeated: a fact that is there does not change", () =>
    Effect.gen(function* () {
      const graph = yield* TriplePublisher
      const [tenant, subject] = [Samples.tenant(), Samples.unique("entity")]
      const published = [fact(subject, "a"), fact(subject, "b")]
      yield* graph.addAll(tenant, published)
      yield* graph.addAll(tenant, [
        ...published.map((each) => ({ ...each, timestamp: "2030-01-01T00:00:00.000Z" })),
        fact(subject, "a", { source: "somebody else" })
      ])
      const facts = yield* graph.about(tenant, subject, 10)
      assert.deepStrictEqual(facts.slice(0, 2), published)
      assert.strictEqual(facts.length, 3)
    })
  )

  it.effect(
    "SM-72 a publication whose third fact is refused writes nothing and names that fact",
    () =>
      Effect.gen(function* () {
        const graph = yield* TriplePublisher
        const [tenant, subject] = [Samples.tenant(), Samples.unique("entity")]
        const long = fact(subject, "x".repeat(65_537))
        const error = yield* Effect.flip(
          graph.addAll(tenant, [fact(subject, "1"), fact(subject, "2"), long, fact(subject, "4")])
        )
        assert.deepInclude(error, { _tag: "TripleRefused", index: 2 })
        const many = Array.from({ length: triples_max + 1 }, (_, i) => fact(subject, `${i}`))
        assert.strictEqual((yield* Effect.flip(graph.addAll(tenant, many)))._tag, "TripleRefused")
        assert.deepStrictEqual(yield* graph.about(tenant, subject, 10), [])
        yield* graph.addAll(tenant, [])
        yield* graph.addAll(tenant, many.slice(1))
        assert.strictEqual((yield* graph.about(tenant, subject, 5_000)).length, triples_max)
      })
  )
}

const record = (flow: string, more: object = {}) =>
  JSON.stringify({ workflow_slug: flow, outcome: "success", ...more })

const loopRecordTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a loop's record is replaced by the next, and no other tenant sees it", () =>
    Effect.gen(function* () {
      const loops = yield* LoopStore
      const [tenant, other, key] = [Samples.tenant(), Samples.tenant(), Samples.unique("COMPLETE_")]
      assert.isUndefined(yield* loops.get(tenant, key))
      yield* loops.put(tenant, key, "not json \u0000")
      assert.strictEqual(yield* loops.get(tenant, key), "not json \u0000")
      yield* loops.put(tenant, key, "{}")
      assert.strictEqual(yield* loops.get(tenant, key), "{}")
      assert.isUndefined(yield* loops.get(other, key))
    })
  )

  it.effect("the records of a flow are read in pages, by key, without those of other flows", () =>
    Effect.gen(function* () {
      const loops = yield* LoopStore
      const [tenant, flow] = [Samples.tenant(), Samples.unique("flow")]
      for (const id of ["c", "a", "e", "d", "b"]) {
        yield* loops.put(tenant, completionKey(id), record(flow, { loop_id: id }))
      }
      yield* loops.put(tenant, completionKey("f"), record("another"))
      yield* loops.put(tenant, "loop-1", "running")
      yield* loops.put(tenant, completionKey("e"), record("another"))
      const keys = (after: string | undefined, limit: number) =>
        Effect.map(loops.scan(tenant, flow, after, limit), (page) => page.map(({ key }) => key))
      const first = yield* keys(undefined, 3)
      assert.deepStrictEqual(first, ["a", "b", "c"].map(completionKey))
      assert.deepStrictEqual(yield* keys(first.at(-1), 3), [completionKey("d")])
      assert.deepStrictEqual(yield* loops.scan(Samples.tenant(), flow, undefined, 10), [])
    })
  )
}

const endedRunTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("SM-95 a run that ended is read under COMPLETE_{loop_id} with its outcome", () =>
    Effect.gen(function* () {
      const loops = yield* LoopStore
      const tenant = Samples.tenant()
      const done = yield* Samples.finish({ tenant }, { text: "the answer ü" })
      const failed = yield* Samples.finish(
        { tenant },
        { status: "failed", reason: "recursion_limit", text: "" }
      )
      const stopped = yield* Samples.finish({ tenant }, { status: "cancelled", reason: "enough" })
      const open = yield* Samples.begin({ tenant })
      const of = (run: string) => Effect.map(loops.get(tenant, completionKey(run)), (text) => text)
      const read = parseRecord((yield* of(done.run))!)
      assert.deepInclude(read, {
        loop_id: done.run as string,
        task_id: done.run as string,
        workflow_slug: "operations",
        role: "operations",
        outcome: "success",
        result: "the answer ü",
        iterations: 1
      })
      assert.match(read!.completed_at!, /^\d{4}-.*Z$/)
      assert.deepInclude(parseRecord((yield* of(failed.run))!), {
        outcome: "failed",
        error: "recursion_limit"
      })
      const cancelled = parseRecord((yield* of(stopped.run))!)
      assert.strictEqual(cancelled?.outcome, "cancelled")
      assert.isDefined(cancelled?.cancelled_at)
      assert.isUndefined(yield* of(open.run))
      assert.isUndefined(yield* loops.get(Samples.tenant(), completionKey(done.run)))
      // Read twice, because the first read may have created the records.
      for (let i = 0; i < 2; i++) {
        const page = yield* loops.scan(tenant, "operations", undefined, 500)
        assert.deepStrictEqual(
          page.map(({ key }) => key),
          [done.run, failed.run, stopped.run].map((run) => completionKey(run)).sort()
        )
        assert.strictEqual(
          page.find(({ key }) => key.endsWith(done.run))?.value,
          yield* of(done.run)
        )
      }
    })
  )
}

const loopTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  loopRecordTests(it)
  endedRunTests(it)
}

const component = (id: string, description = "d"): Component => ({
  id,
  name: id,
  type: "input",
  protocol: "tcp",
  domain: "network",
  description,
  version: "1.0.0",
  category: "core",
  schema: { type: "object", nested: { "\u0000": [1, null] } }
})

export const toolStoresTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  publisherTests(it)
  loopTests(it)

  it.effect("the state of a flow is the last one that its tenant set", () =>
    Effect.gen(function* () {
      const flows = yield* FlowState
      const [tenant, flow] = [Samples.tenant(), Samples.unique("flow \u0000")]
      assert.isUndefined(yield* flows.get(tenant, flow))
      yield* flows.set(tenant, flow, "running")
      yield* flows.set(tenant, flow, "stopped")
      assert.strictEqual(yield* flows.get(tenant, flow), "stopped")
      assert.isUndefined(yield* flows.get(Samples.tenant(), flow))
    })
  )

  it.effect("components are listed by id, each with its last registration", () =>
    Effect.gen(function* () {
      const catalog = yield* ComponentCatalog
      const ids = ["b", "a"].map((name) => Samples.unique(name))
      for (const id of ids) yield* catalog.register(component(id))
      yield* catalog.register(component(ids[0]!, "newer"))
      const found = (yield* catalog.all).filter(({ id }) => ids.includes(id))
      assert.deepStrictEqual(found, [component(ids[1]!), component(ids[0]!, "newer")])
    })
  )
}
