import { assert } from "@effect/vitest"
import { Effect, Result } from "effect"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { parsePath } from "../../src/call/BodyPath.ts"
import { strippedSchema } from "../../src/call/SchemaStrip.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

conformance(
  "schema_strip",
  (each): Driven => {
    const { input } = each
    if (!hasShape(input, ["schema", "strip"]) || !Array.isArray(input.strip)) return undefined
    if (!isRecord(input.schema)) return undefined
    const strip: ReadonlyArray<unknown> = input.strip
    const isUnchanged = "expectSourceUnchanged" in each && each.expectSourceUnchanged === true
    if (!isUnchanged && !isRecord(each.expect)) return undefined
    return {
      rows: isUnchanged ? "AG-27" : "AG-26 AG-27",
      run: Effect.sync(() => {
        const paths = strip.map((path: unknown) => Result.getOrThrow(parsePath(String(path))))
        const before = JSON.stringify(input.schema)
        const shown = strippedSchema(input.schema as JsonObject, paths)
        if (!isUnchanged) assert.deepStrictEqual(shown, each.expect as JsonObject)
        assert.strictEqual(JSON.stringify(input.schema), before)
      })
    }
  },
  /^expectSourceUnchanged$/
)
