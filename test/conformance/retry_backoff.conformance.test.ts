import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { backoffMs } from "../../src/tool/RetryPolicy.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

conformance("retry_backoff", ({ expect, input }) =>
  hasShape(input, ["attempt", "backoff_initial_ms", "backoff_max_ms"]) && isRecord(expect)
    ? {
        rows: "SM-41",
        run: Effect.sync(() => {
          const policy = input as { backoff_initial_ms: number; backoff_max_ms: number }
          assert.strictEqual(backoffMs(policy, Number(input.attempt)), expect.waitMs)
        })
      }
    : undefined
)
