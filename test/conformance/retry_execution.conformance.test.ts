import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { toolErrorFrom } from "../../src/error/Classify.ts"
import type { RetryConfig } from "../../src/tool/RetryPolicy.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { ToolAttempt } from "../../services/RunObserver.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const ending = (outcome: unknown): Effect.Effect<unknown, unknown> => {
  if (!isRecord(outcome)) return Effect.die("the case has no more outcomes")
  if (typeof outcome.errorKind === "string") {
    return Effect.fail(toolErrorFrom(outcome.errorKind, "it failed"))
  }
  return "raw" in outcome ? Effect.fail(outcome.raw) : Effect.succeed(outcome.content)
}

/** Longer than the policy waits. Each second of the test's clock costs work. */
const longestOf = (policy: RetryConfig | null): number => (policy?.backoff_max_ms ?? 0) + 10_000

const driven = (policy: RetryConfig | null, outcomes: ReadonlyArray<unknown>, expect: Fields) => {
  let calls = 0
  const attempts: Array<ToolAttempt> = []
  const final = expect.final as Fields
  return Stage.stage(
    {
      tools: {
        work: {
          governance: {
            side_effects: "read",
            ...(policy === null ? undefined : { retry: policy })
          },
          body: () => Effect.suspend(() => ending(outcomes[calls++]))
        }
      },
      attempted: (attempt) => void attempts.push(attempt),
      script: [call("work"), text("done")]
    },
    Effect.gen(function* () {
      const run = yield* Stage.begin
      if (final.interrupted === true) {
        yield* AgentRuntime.use((agents) => agents.interrupt(run, Stage.operator, "enough"))
        yield* Stage.settle
      }
      for (const _ of outcomes) yield* Stage.after(longestOf(policy))
      const settled = Stage.tagged(yield* Stage.events(run), "CallSettled")
      assert.lengthOf(settled, 1)
      const { outcome } = settled[0]!
      assert.strictEqual(calls, expect.calls)
      if ("content" in final) {
        assert.deepStrictEqual(outcome, { _tag: "Value", json: JSON.stringify(final.content) })
      } else if ("errorKind" in final) {
        assert.deepNestedInclude(outcome, { "error.kind": final.errorKind })
      } else if ("raw" in final) {
        assert.deepNestedInclude(outcome, { "error.kind": "unknown", "error.message": final.raw })
      } else assert.strictEqual(outcome._tag, "Cancelled")
      if ("retries" in expect) {
        assert.strictEqual(attempts.filter(({ willRetry }) => willRetry).length, expect.retries)
      }
      if ("exhausted" in expect) {
        assert.strictEqual(attempts.filter(({ willRetry }) => !willRetry).length, expect.exhausted)
      }
    })
  )
}

const shownBy = (policy: unknown, outcomes: ReadonlyArray<unknown>, expect: Fields): string => {
  const kinds = outcomes.map((each) => (isRecord(each) ? each.errorKind : undefined))
  const never = kinds.includes("invalid_args") || kinds.includes("not_found")
  const lists = isRecord(policy) && "retry_on_kinds" in policy
  return rowsOf(
    [policy === null, "SM-38"],
    [never && !lists, "SM-42"],
    [lists, "SM-43"],
    [isRecord(expect.final) && expect.final.interrupted === true, "SM-45"],
    ["retries" in expect || "exhausted" in expect, "SM-46"],
    [Number(expect.calls) > 1, "SM-47"]
  )
}

conformance("retry_execution", ({ expect, input }): Driven =>
  hasShape(input, ["policy", "outcomes"]) && isRecord(expect) && Array.isArray(input.outcomes)
    ? {
        rows: shownBy(input.policy, input.outcomes, expect),
        run: driven(input.policy as RetryConfig | null, input.outcomes, expect)
      }
    : undefined
)
