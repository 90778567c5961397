import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

/** The longest wait before each next attempt: doubled each time, up to the cap. A wait is at least half of it. */
const waits = [1_000, 2_000, 4_000, 8_000, 10_000, 10_000]

it.effect("SM-41 a body waits twice as long before each attempt, up to the cap", () => {
  let attempts = 0
  const tools = {
    work: H.reads(
      () =>
        Effect.suspend(() => {
          attempts++
          return Effect.fail(new ToolTransientError({ kind: "network", message: "away" }))
        }),
      {
        timeout_ms: 1_000,
        retry: { max_attempts: waits.length + 1, backoff_initial_ms: 1_000, backoff_max_ms: 10_000 }
      }
    )
  }
  const script = [call("work", { n: 1 }), text("done")]
  const config = { idle_ms: 1e9, sweep_ms: 1e9, lease_ms: 1e9 }
  return Effect.gen(function* () {
    const run = yield* H.send("go")
    yield* H.happened(run, "ModelTurned")
    yield* TestClock.adjust(0)
    for (const [n, most] of waits.entries()) {
      assert.strictEqual(attempts, n + 1)
      yield* TestClock.adjust(most / 2 - 1)
      assert.strictEqual(attempts, n + 1, `no attempt before half of ${most} ms`)
      for (let waited = most / 2 - 1; waited < most; waited++) {
        if (attempts > n + 1) break
        yield* TestClock.adjust(1)
      }
      assert.strictEqual(attempts, n + 2, `an attempt within ${most} ms`)
    }
    const all = yield* H.ended(run)
    assert.deepNestedInclude(H.outcome(all), { "error.kind": "network" })
    assert.strictEqual(attempts, waits.length + 1)
  }).pipe(Effect.provide(H.layer({ tools, script, config })))
})
