import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { called, stores, tenant } from "../conformance/Executors.ts"

const calls = {
  decide: { action: "done", reason: "ok" },
  emit_diagnosis: {
    finding: "it is slow",
    recommendation: "add an index",
    confidence: 0.5,
    evidence: ["a log"]
  }
}

for (const [name, args] of Object.entries(calls)) {
  it.effect(`SM-66 ${name} without a loop is an internal error, a defect of its caller`, () =>
    Effect.gen(function* () {
      const published: Array<unknown> = []
      const graph = yield* TriplePublisher
      const spied = TriplePublisher.of({
        ...graph,
        addAll: (of, triples) => {
          published.push(...triples)
          return graph.addAll(of, triples)
        }
      })
      const call = (loop: object) =>
        Effect.provideService(called(name, { arguments: args, ...loop }), TriplePublisher, spied)
      for (const loop of [{}, { loop_id: "" }]) {
        const { defect, result } = yield* call(loop)
        assert.strictEqual(result.error_kind, "internal")
        assert.include(result.error, "loop_id")
        assert.isUndefined(result.content)
        assert.notStrictEqual(result.stop_loop, true)
        assert.isTrue(defect)
        assert.deepStrictEqual(published, [])
      }
      const { defect, result } = yield* call({ loop_id: "loop-1" })
      assert.isFalse(defect)
      assert.isUndefined(result.error, result.error)
      assert.isAbove(published.length, 0)
      assert.strictEqual(tenant, "acme")
    }).pipe(Effect.provide(stores))
  )
}
