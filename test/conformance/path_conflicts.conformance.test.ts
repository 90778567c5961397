import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { partsConflict } from "../../src/call/BodyAssembly.ts"
import type { BodyParts } from "../../src/call/CallDescriptor.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape } from "./Vectors.ts"

conformance("path_conflicts", ({ expect, input }): Driven => {
  if (!hasShape(input, [], ["args_into", "body", "context", "allowNestedBind"])) return undefined
  if (expect !== "ok" && expect !== "conflict") return undefined
  return {
    rows: "AG-21",
    run: Effect.sync(() => {
      const { allowNestedBind, ...parts } = input
      const conflict = partsConflict(parts as BodyParts, {
        allowNestedBind: allowNestedBind === true
      })
      assert.strictEqual(conflict === undefined ? "ok" : "conflict", expect, conflict)
    })
  }
})
