/** Times as programs give them: a number of milliseconds, a Duration or a text, in one member. */
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { call, layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, Principal, tool } from "../../src/index.ts"
import { inMilliseconds, milliseconds } from "../../src/value/Times.ts"

const told = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays back.",
    side_effects: "external",
    idempotency: { key: "{order}", scope: "run" },
    input: Schema.Struct({ order: Schema.String }),
    timeout_ms: "5 minutes",
    approval_expires_ms: Duration.hours(24),
    retry: { max_attempts: 2, backoff_initial_ms: "1 second", backoff_max_ms: 60_000 },
    rate_limit: { calls_max: 3, window_ms: "1 hour" },
    circuit: { failures_max: 2, open_ms: "15 seconds" },
    examples: [{ input: { order: "5 minutes" } }]
  },
  () => "paid"
)

describe("times in options", () => {
  it("become whole milliseconds, rounded up; what is no time stays for a reader to refuse", () => {
    assert.deepStrictEqual(
      [
        5,
        "5 minutes",
        "1500 micros",
        Duration.days(1),
        "soon",
        null,
        { minutes: 5 },
        undefined
      ].map(milliseconds),
      [5, 300_000, 2, 86_400_000, "soon", null, { minutes: 5 }, undefined]
    )
    const numbers = { a_ms: 5, b: [{ c_ms: 6 }] }
    assert.strictEqual(inMilliseconds<unknown>(numbers, 3), numbers)
    const given = { a_ms: "1 second", b: [{ c_ms: "2 seconds", schema: { d_ms: "3 seconds" } }] }
    assert.deepStrictEqual(inMilliseconds<unknown>(given, 3), {
      a_ms: 1_000,
      b: [{ c_ms: 2_000, schema: { d_ms: "3 seconds" } }]
    })
    const hostile = {
      get a_ms(): never {
        throw new Error("no")
      }
    }
    assert.strictEqual(inMilliseconds<unknown>(hostile), hostile)
  })

  it.effect("of a tool are numbers in its spec, which is data", () =>
    Effect.gen(function* () {
      const { approval_expires_ms, circuit, examples, rate_limit, retry, timeout_ms } =
        yield* told.spec
      assert.deepStrictEqual(
        [timeout_ms, approval_expires_ms, retry?.backoff_initial_ms, retry?.backoff_max_ms],
        [300_000, 86_400_000, 1_000, 60_000]
      )
      assert.deepStrictEqual([rate_limit?.window_ms, circuit?.open_ms], [3_600_000, 15_000])
      assert.deepStrictEqual(examples?.[0]?.input, { order: "5 minutes" })
    })
  )

  it.live("of a start, a wait, an authorisation and a token are taken as texts", () =>
    Effect.gen(function* () {
      const troupe = yield* Troupe
      const boss = new Principal({ id: "boss", tenant: "default", roles: ["admin"] })
      const message = { agent: "shop", text: "Pay it back" }
      const { run } = yield* troupe.ask(message)
      const wait = { timeout_ms: "0 millis" } as const
      const none = yield* Effect.flip(troupe.result(run, boss, wait))
      assert.strictEqual(none._tag === "InvalidInput" && none.field, "wait.timeout_ms")
      assert.include(none.message, 'a text such as "5 minutes"')
      const grant = { agent: "shop", action: "refund", holds_ms: "1 hour" } as const
      const { expires_at, granted_at } = yield* troupe.authorize(grant, boss)
      assert.strictEqual(expires_at - granted_at, 3_600_000)
      const token = yield* troupe.createToken(
        { name: "t", roles: ["viewer"], holds_ms: "2 hours" },
        boss
      )
      assert.strictEqual(token.expires_at - token.created_at, 7_200_000)
    }).pipe(
      Effect.provide(
        Troupe.layer({
          agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })],
          tools: [told],
          model: scripted([call("refund", { order: "1" })]),
          files: { unsent_ms: "2 hours" },
          events: {
            agent: "shop",
            handlers: { a: () => ({ _tag: "Tell", conversation: "c", text: "Hello" }) },
            retention_ms: Duration.days(7)
          },
          http: { stall_ms: "10 seconds", tokens: [], settings: { heartbeat_ms: "5 seconds" } }
        })
      )
    )
  )
})
