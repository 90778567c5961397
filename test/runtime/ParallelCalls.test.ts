import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

/** Stands where a model must never read it: in causes, in the environment and in what a call is bound to. */
const canary = "CANARY-7f3a91"

const fates = ["value", "fail", "die", "hang", "asks", "denied", "stray"] as const
type Fate = (typeof fates)[number]

const leaky = () => new Error(`postgres://u:${canary}@db`, { cause: { token: canary } })

const tools: Readonly<Record<Exclude<Fate, "stray">, H.TestTool>> = {
  value: H.reads((n) => Effect.as(Effect.sleep(n % 5), n)),
  fail: H.reads((n) => Effect.fail(new ToolUserError({ kind: "not_found", message: `no ${n}` }))),
  die: H.reads((n) =>
    n % 2 === 0
      ? Effect.die(leaky())
      : Effect.suspend((): never => {
          throw leaky()
        })
  ),
  hang: H.reads(() => Effect.never, { timeout_ms: 15 }),
  asks: H.asks((n) => Effect.succeed(n)),
  denied: H.reads(() => Effect.succeed(canary), { permission: "deny" })
}

const expected: Readonly<Record<Fate, (n: number, outcome: Outcome) => void>> = {
  value: (n, outcome) => assert.deepStrictEqual(outcome, { _tag: "Value", json: String(n) }),
  fail: (n, outcome) => assert.deepNestedInclude(outcome, { "error.message": `no ${n}` }),
  die: (_, outcome) => assert.deepNestedInclude(outcome, { "error.reason": "DEFECT" }),
  hang: (_, outcome) => assert.deepNestedInclude(outcome, { "error.reason": "TIMEOUT" }),
  asks: (n, outcome) =>
    n % 2 === 0
      ? assert.deepStrictEqual(outcome, { _tag: "Value", json: String(n) })
      : assert.strictEqual(outcome._tag, "Denied"),
  denied: (_, outcome) =>
    assert.deepNestedInclude(outcome, { "error.reason": "PERMISSION_DENIED" }),
  stray: (_, outcome) => assert.deepNestedInclude(outcome, { "error.reason": "UNKNOWN_TOOL" })
}

const Fates = Schema.Array(Schema.Literals(fates)).check(
  Schema.isMinLength(200),
  Schema.isMaxLength(200)
)

/** People answer what they are asked, whatever else is on its way. */
const answering = Effect.forever(
  Effect.gen(function* () {
    for (const asked of yield* H.pending) {
      const { n } = asked.arguments as { readonly n: number }
      yield* H.decide(asked.id, n % 2 === 0 ? H.approve : H.deny)
    }
    yield* Effect.sleep(5)
  })
)

describe("200 calls in one step", () => {
  it.live.prop(
    "each have one result of their own, in the model's order, whatever becomes of the others",
    { plan: Fates },
    ({ plan }) => {
      process.env["TROUPE_TEST_TOKEN"] = canary
      const turn = calls(plan.map((fate, n) => call(fate, { n })))
      return Effect.gen(function* () {
        yield* Effect.forkChild(answering)
        const run = yield* H.send(`for ${canary.length}`)
        const all = yield* H.ended(run)
        assert.strictEqual(H.end(all)?.status, "complete")
        const settled = H.settled(all)
        assert.lengthOf(settled, plan.length)
        const byCall = new Map(settled.map((each) => [each.call as string, each.outcome]))
        for (const [n, fate] of plan.entries()) expected[fate](n, byCall.get(`0/1.${n}`)!)
        const [, second] = yield* H.requests
        const results = second!.transcript.filter((entry) => entry.role === "tool")
        assert.deepStrictEqual(
          results.map(({ name }) => name),
          [...plan]
        )
        assert.deepStrictEqual(
          results.map(({ call: id }) => id as string),
          plan.map((_, n) => `0/1.${n}`)
        )
        assert.notInclude(JSON.stringify(yield* H.requests), canary)
        assert.notInclude(JSON.stringify(all), canary)
      }).pipe(
        Effect.provide(
          H.layer({
            tools,
            agent: {
              limits: RunLimits.make({
                calls_max: 1_000,
                questions_max: 1_000,
                writes_max: 1_000,
                repeats_max: 0,
                mistakes_max: 0
              })
            },
            script: [turn, text("done")]
          })
        )
      )
    },
    { arbitrary: { runs: 12 } }
  )
})
