import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { RetryConfig } from "../../src/tool/RetryPolicy.ts"
import { effectiveRetry } from "../../src/tool/RetryPolicy.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

conformance("retry_effective_policy", ({ expect, input }) =>
  hasShape(input, ["policies", "tool"]) && isRecord(expect)
    ? {
        rows: rowsOf(
          [isRecord(input.policies) && !(String(input.tool) in input.policies), "SM-38"],
          ["max_attempts" in expect, "SM-39"],
          [Number(expect.backoff_initial_ms) === 100, "SM-40"],
          [JSON.stringify(input.policies).includes("retry_on_kinds"), "SM-43"]
        ),
        run: Effect.sync(() => {
          const policies = input.policies as Readonly<Record<string, RetryConfig>>
          assert.deepInclude(effectiveRetry(policies, String(input.tool)), expect)
        })
      }
    : undefined
)
