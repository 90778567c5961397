import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { JsonObject } from "../../src/call/BodyPath.ts"
import { tokenValue } from "../../src/call/HostContext.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape } from "./Vectors.ts"

conformance(
  "ctx_token",
  (each): Driven => {
    const { input } = each
    if (!hasShape(input, ["token"], ["runContext"])) return undefined
    const isAbsent = "expectUndefined" in each && each.expectUndefined === true
    if (!isAbsent && !("expect" in each)) return undefined
    return {
      rows: "AG-19",
      run: Effect.sync(() => {
        const value = tokenValue(String(input.token), input.runContext as JsonObject | undefined)
        assert.deepStrictEqual(value, isAbsent ? undefined : (each.expect as JsonObject))
      })
    }
  },
  /^expectUndefined$/
)
