import { assert } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Classify from "../../src/error/Classify.ts"
import { failureOf, ToolErrorKind } from "../../src/error/ToolError.ts"
import { conformance, rowsOf } from "./Vectors.ts"

const isKind = Schema.is(ToolErrorKind)

conformance("error_class_mapping", ({ expect, input }) =>
  typeof input === "string" && typeof expect === "string"
    ? {
        rows: rowsOf(
          [expect === "ToolUserError", "ST-14"],
          [expect === "ToolPolicyError", "ST-15"],
          [expect === "ToolTransientError", "ST-16"],
          [expect === "ToolTerminalError", "ST-17"],
          [isKind(input), "SM-17"]
        ),
        run: Effect.sync(() => {
          assert.strictEqual(Classify.classifyName(input).class, expect)
          const failure = failureOf(Classify.toolErrorFrom(input, "it failed"))
          assert.strictEqual(failure.class, expect)
          assert.strictEqual(failure.kind, Classify.classifyName(input).kind)
        })
      }
    : undefined
)
