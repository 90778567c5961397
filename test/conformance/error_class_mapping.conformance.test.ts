import { assert } from "@effect/vitest"
import { Effect } from "effect"
import * as Classify from "../../src/error/Classify.ts"
import { failureOf } from "../../src/error/ToolError.ts"
import { conformance } from "./Vectors.ts"

conformance("error_class_mapping", ({ expect, input }) =>
  typeof input === "string" && typeof expect === "string"
    ? {
        rows: "ST-14 ST-15 ST-16 ST-17 SM-17",
        run: Effect.sync(() => {
          assert.strictEqual(Classify.ofName(input).class, expect)
          const failure = failureOf(Classify.errorOf(input, "it failed"))
          assert.strictEqual(failure.class, expect)
          assert.strictEqual(failure.kind, Classify.ofName(input).kind)
        })
      }
    : undefined
)
