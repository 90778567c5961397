import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { ComponentCatalog } from "../../services/semstreams/ComponentCatalog.ts"
import type { Fields } from "./Executors.ts"
import { called, meets, stores } from "./Executors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

const component = (id: string) => ({
  id,
  name: id,
  type: "processor",
  protocol: "tcp",
  domain: "network",
  description: `The ${id}.`,
  version: "1.0.0",
  category: "core",
  schema: { type: "object" }
})

const proof = (input: Fields, expect: Fields) =>
  Effect.gen(function* () {
    const catalog = yield* ComponentCatalog
    for (const id of (input.registered as ReadonlyArray<string> | undefined) ?? []) {
      yield* catalog.register(component(id))
    }
    const executed = yield* called("list_components", input)
    meets(executed, expect)
    if (executed.result.content === undefined) return
    const entries = JSON.parse(executed.result.content) as ReadonlyArray<Fields>
    if (typeof expect.count === "number") assert.strictEqual(entries.length, expect.count)
    if (Array.isArray(expect.ids)) {
      assert.deepStrictEqual(
        entries.map(({ id }) => id),
        expect.ids
      )
    }
    if (Array.isArray(expect.entryKeys)) {
      for (const entry of entries) assert.sameMembers(Object.keys(entry), expect.entryKeys)
    }
  }).pipe(Effect.provide(stores))

conformance("list_components", ({ expect, input }) =>
  hasShape(input, [], ["registered", "arguments", "tool"]) && isRecord(expect)
    ? { rows: input.tool === undefined ? "SM-73" : "SM-80", run: proof(input, expect) }
    : undefined
)
