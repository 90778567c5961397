import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import type { Triple } from "../../src/semstreams/Triple.ts"
import type { Fields } from "./Executors.ts"
import { called, meets, noPublisher, stores } from "./Executors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

/** The publisher, with each published triple added to the list. */
const watched = (graph: TriplePublisher["Service"], published: Array<Triple>) => ({
  ...graph,
  addAll: ((tenant, triples) =>
    Effect.tap(graph.addAll(tenant, triples), () =>
      Effect.sync(() => void published.push(...triples))
    )) satisfies TriplePublisher["Service"]["addAll"]
})

const proof = (input: Fields, expect: Fields) =>
  Effect.gen(function* () {
    const graph = input.publisher === "fails" ? noPublisher : yield* TriplePublisher
    const published: Array<Triple> = []
    const executed = yield* Effect.provideService(
      called("emit_diagnosis", input),
      TriplePublisher,
      watched(graph, published)
    )
    meets(executed, expect)
    const objectOf = (predicate: string) =>
      published.find((triple) => triple.predicate === predicate)?.object
    if (typeof expect.triples === "number") assert.strictEqual(published.length, expect.triples)
    if (executed.result.error !== undefined) {
      assert.deepStrictEqual(published, [])
      return
    }
    if (typeof expect.severity === "string") {
      assert.strictEqual(objectOf("ops.diagnosis.severity"), expect.severity)
      const content = JSON.parse(executed.result.content!) as Fields
      assert.strictEqual(content.severity, expect.severity)
    }
    const [subject] = new Set(published.map((triple) => triple.subject))
    assert.strictEqual(executed.result.metadata?.diagnosis_id, subject)
    assert.isTrue(published.every((triple) => triple.subject === subject))
    if (typeof expect.entityPrefix === "string") {
      assert.isTrue(subject!.startsWith(expect.entityPrefix))
      assert.match(subject!.slice(expect.entityPrefix.length), /^[0-9a-f-]{36}$/)
    }
    if (typeof expect.backLink === "string") {
      assert.strictEqual(objectOf("agent.action.executed_by"), expect.backLink)
    }
    for (const { confidence, source } of published) {
      if (typeof expect.tripleSource === "string") assert.strictEqual(source, expect.tripleSource)
      if (typeof expect.tripleConfidence === "number") {
        assert.strictEqual(confidence, expect.tripleConfidence)
      }
    }
  }).pipe(Effect.provide(stores))

conformance("severity_and_emit_diagnosis", ({ expect, input }) =>
  hasShape(input, [], ["loop_id", "org", "platform", "arguments", "publisher", "tool"]) &&
  isRecord(expect)
    ? {
        rows: rowsOf(
          [!("errorKind" in expect), "SM-68"],
          ["severity" in expect, "SM-69"],
          [expect.errorKind === "invalid_args", "SM-70"],
          [input.tool !== undefined, "SM-80"]
        ),
        run: proof(input, expect)
      }
    : undefined
)
