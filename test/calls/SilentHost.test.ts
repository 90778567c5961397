/** Functions of a host that do not answer: no call and no start waits for one without end. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { PlatformOp } from "../../src/call/PlatformOp.ts"
import { call, configured, endpointOf, platform, runBody } from "./Platform.ts"

const timeout_ms = 50
const silence = () => new Promise<never>(() => {})
const commit: PlatformOp = {
  op: "commit",
  description: "Commits.",
  method: "POST",
  path: "/api/commit",
  bind: { expected: "$ctx.workflow.latest_revision_id" },
  input_schema: { type: "object", properties: { expected: { type: "string" } } }
}
const revision = { revision: "r-1", input_schema: { type: "object" } }

/** The failure that comes when the time is over, and not before. */
const failsInTime = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<E, A> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.flip(effect))
    yield* TestClock.adjust(timeout_ms - 1)
    assert.isUndefined(fiber.pollUnsafe())
    yield* TestClock.adjust(1)
    return yield* Fiber.join(fiber)
  })

const reasonOf = (error: unknown) => (error as ToolError).reason

describe("a function of a host that never answers", () => {
  it.effect("AG-18 AG-64 gives no context: its call fails in time, and nothing is sent", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [{ type: "platform", op: "commit" }], {
        operations: [commit],
        context: silence,
        timeout_ms
      })
      assert.strictEqual(
        reasonOf(yield* failsInTime(tool!.fillIn!(call().call))),
        "MISSING_RUN_CONTEXT"
      )
      assert.lengthOf(web.seen, 0)
    })
  )

  it.effect(
    "AG-07 AG-64 gives no authorization: nothing is sent, and the next call asks again",
    () =>
      Effect.gen(function* () {
        const web = yield* platform()
        let asked = 0
        const authorization = () => (++asked === 1 ? silence() : "ApiKey late")
        const [tool] = yield* configured(web, [{ type: "platform", op: "query_workflows" }], {
          callback: { endpoint: endpointOf(web), authorization },
          timeout_ms
        })
        assert.strictEqual(reasonOf(yield* failsInTime(runBody(tool, {}))), "NO_AUTHORIZATION")
        assert.lengthOf(web.seen, 0)
        yield* runBody(tool, {})
        assert.strictEqual(web.seen[0]?.headers["authorization"], "ApiKey late")
      })
  )

  it.effect("AG-42 names no revision: neither a run nor a start waits for it", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const tools = [{ type: "reference", slug: "summarize" }] as const
      const [tool] = yield* configured(web, tools, {
        references: (_, caller) => (caller === undefined ? revision : silence()),
        timeout_ms
      })
      assert.strictEqual(reasonOf(yield* failsInTime(tool!.fillIn!(call().call))), "NO_REVISION")
      const starting = configured(web, tools, { references: silence, timeout_ms })
      assert.include(
        (yield* failsInTime(starting)).message,
        "workflow.variant.summarize: its revision could not be asked for"
      )
      assert.lengthOf(web.seen, 0)
    })
  )
})
