import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { configuredTool } from "../../src/semstreams/ComponentConfig.ts"
import { no_retry } from "../../src/tool/RetryPolicy.ts"
import * as Component from "./Component.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

/** The retry policy of a tool in a component with this configuration. */
const proof = Effect.fnUntraced(function* (input: Fields, expect: object) {
  const config = yield* Component.configOf({ tool_retries: input.policies })
  const [declared] = yield* Component.reading("tool")
  const named = { ...declared, spec: { ...declared.spec, name: String(input.tool) } }
  const { spec } = yield* configuredTool(config, named)
  assert.deepInclude(spec.retry ?? no_retry, expect)
})

conformance("retry_effective_policy", ({ expect, input }): Driven =>
  hasShape(input, ["policies", "tool"]) && isRecord(expect)
    ? {
        rows: rowsOf(
          [isRecord(input.policies) && !(String(input.tool) in input.policies), "SM-38"],
          ["max_attempts" in expect, "SM-39"],
          [Number(expect.backoff_initial_ms) === 100, "SM-40"],
          [JSON.stringify(input.policies).includes("retry_on_kinds"), "SM-43"]
        ),
        run: proof(input, expect)
      }
    : undefined
)
