import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { RetryConfig } from "../../src/tool/RetryPolicy.ts"
import { effectiveRetry } from "../../src/tool/RetryPolicy.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

conformance("retry_effective_policy", ({ expect, input }) =>
  hasShape(input, ["policies", "tool"]) && isRecord(expect)
    ? {
        rows: "SM-38 SM-39 SM-40 SM-43",
        run: Effect.sync(() => {
          const policies = input.policies as Readonly<Record<string, RetryConfig>>
          assert.deepInclude(effectiveRetry(policies, String(input.tool)), expect)
        })
      }
    : undefined
)
