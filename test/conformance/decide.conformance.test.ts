import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { TriplePublisher } from "../../services/semstreams/TriplePublisher.ts"
import { loopEntity } from "../../src/semstreams/Triple.ts"
import type { Fields } from "./Executors.ts"
import { called, meets, noPublisher, platformOf, stores, tenant } from "./Executors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

const proof = (input: Fields, expect: Fields) =>
  Effect.gen(function* () {
    const subject = loopEntity(platformOf(input), String(input.loop_id ?? ""))
    const call = called("decide", input)
    const executed = yield* input.publisher === "fails"
      ? Effect.provideService(call, TriplePublisher, noPublisher)
      : call
    meets(executed, expect)
    const facts = yield* TriplePublisher.use((graph) => graph.about(tenant, subject, 100))
    if (typeof expect.triples === "number") assert.strictEqual(facts.length, expect.triples)
    if (executed.result.error !== undefined) assert.deepStrictEqual(facts, [])
    for (const { confidence, source } of facts) {
      assert.strictEqual(confidence, 1)
      if (typeof expect.tripleSource === "string") assert.strictEqual(source, expect.tripleSource)
    }
    if (typeof expect.subject === "string") assert.strictEqual(subject, expect.subject)
    if (expect.contentEqualsArgs === true) {
      assert.deepStrictEqual(JSON.parse(executed.result.content!), input.arguments)
    }
  }).pipe(Effect.provide(stores))

const shownBy = (input: Fields, expect: Fields): string => {
  const failed = "errorKind" in expect
  return rowsOf(
    [!failed || expect.errorKind === "invalid_args", "SM-61"],
    ["triples" in expect && !failed, "SM-62"],
    [expect.contentEqualsArgs === true || "metadata" in expect, "SM-63"],
    [expect.errorKind === "invalid_args", "SM-64"],
    [input.publisher === "fails", "SM-65"],
    [expect.errorKind === "internal", "SM-66"],
    [input.tool !== undefined, "SM-80"]
  )
}

conformance("decide", ({ expect, input }) =>
  hasShape(input, [], ["loop_id", "org", "platform", "arguments", "publisher", "tool"]) &&
  isRecord(expect)
    ? { rows: shownBy(input, expect), run: proof(input, expect) }
    : undefined
)
