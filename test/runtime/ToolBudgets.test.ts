/** What a tool says that its call costs: reserved in budgets before its body begins, and settled with its result. */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Result } from "effect"
import { compilePriceTable } from "../../src/cost/PriceTable.ts"
import type { Budget } from "../../src/cost/Budget.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { BudgetBook } from "../../services/BudgetBook.ts"
import { BudgetLedger } from "../../services/BudgetLedger.ts"
import { PriceBook } from "../../services/PriceBook.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const prices = Result.getOrThrow(
  compilePriceTable({
    version: "v1",
    currency: "USD",
    prices: [
      { model: "small", input: "1", output: "1" },
      { model: "*", input: "0", output: "0" }
    ]
  })
)

const money = (cost: string, given: Partial<Budget> = {}): Budget => ({
  name: "money",
  scope: "tenant",
  period: "none",
  cost,
  ...given
})

const layer = (budgets: ReadonlyArray<Budget>, options: H.Options) =>
  H.layer(options).pipe(
    Layer.provide(Layer.succeed(BudgetBook, budgets)),
    Layer.provide(Layer.succeed(PriceBook, prices))
  )

const used = Effect.map(
  BudgetLedger.use((ledger) => ledger.list({ tenant: H.tenant, now: Date.now(), limit: 100 })),
  (found) => found.map(({ budget, reserved, spent }) => `${budget} ${spent} ${reserved}`)
)

const usage = { input_tokens: 0, output_tokens: 0 }
const free = { usage, model: "free" }
const pay = (n: number) => call("pay", { n }, free)
const done = text("done", free)

/** So many calls of `pay`, one in each turn. */
const inTurns = (count: number): H.Options["script"] => [
  ...Array.from({ length: count }, (_, n) => pay(n)),
  done
]

/** A tool whose call costs a tenth, and the calls that its body ran for. */
const paying = (body: H.Body = () => Effect.succeed("paid"), more: object = {}) => {
  const ran: Array<number> = []
  const tools = {
    pay: H.writes(
      (n, ...rest) =>
        Effect.suspend(() => {
          ran.push(n)
          return body(n, ...rest)
        }),
      { cost_estimate: "0.1", ...more }
    )
  }
  return { ran, tools }
}

const ask = (conversation = "c-1") =>
  Effect.flatMap(H.send("hello", conversation), (run) => H.ended(run, conversation))

describe("the cost that a tool declares", () => {
  for (const [kind, more] of [
    ["write", {}],
    ["read", { side_effects: "read" }],
    ["transactional write", { transactional: true }]
  ] as const) {
    it.live(
      `bounds how often its ${kind} runs, and the model is told of a refusal by policy`,
      () => {
        const { ran, tools } = paying(undefined, more)
        return Effect.gen(function* () {
          const all = yield* ask()
          assert.deepInclude(H.end(all), { status: "complete", text: "done" })
          assert.deepStrictEqual(ran, [0, 1])
          const [, , refused] = H.settled(all)
          assert.deepStrictEqual(refused?.outcome, {
            _tag: "Failed",
            error: {
              class: "ToolPolicyError",
              kind: "permission",
              reason: "BUDGET",
              message: "a budget has too little left for this call."
            }
          })
          assert.deepStrictEqual(yield* used, ["money 0.2 0"])
        }).pipe(Effect.provide(layer([money("0.25")], { tools, script: inTurns(3) })))
      }
    )
  }

  it.live("is reserved while the bodies run, so that calls at once get no more than there is", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const { ran, tools } = paying(() => Effect.as(Deferred.await(go), "paid"))
      yield* Effect.gen(function* () {
        const run = yield* H.send("hello", "c-1")
        yield* Effect.repeat(Effect.delay(used, 5), {
          until: ([account]) => account === "money 0 0.2"
        })
        assert.lengthOf(ran, 2)
        yield* Deferred.succeed(go, undefined)
        const all = yield* H.ended(run, "c-1")
        const outcomes = H.settled(all).map(({ outcome }) => outcome._tag)
        assert.deepStrictEqual(outcomes.toSorted(), [
          "Failed",
          "Failed",
          "Failed",
          "Value",
          "Value"
        ])
        assert.lengthOf(ran, 2)
        assert.deepStrictEqual(yield* used, ["money 0.2 0"])
      }).pipe(
        Effect.provide(
          layer([money("0.25")], {
            tools,
            script: [calls(Array.from({ length: 5 }, (_, n) => pay(n))), done]
          })
        )
      )
    })
  )

  it.live("is spent where the body fails, and gives way to what the body said it cost", () => {
    const { tools } = paying((n, { spent }) => {
      if (n === 0) return Effect.fail(new ToolUserError({ message: "no" }))
      // Two that can be counted; of the third nobody knows the price.
      if (n < 3) spent({ model: "small", usage: { input_tokens: 30_000, output_tokens: 0 } })
      else spent({ model: "small" })
      return Effect.succeed("paid")
    })
    return Effect.gen(function* () {
      yield* ask()
      assert.deepStrictEqual(yield* used, ["money 0.26 0"])
    }).pipe(Effect.provide(layer([money("5")], { tools, script: inTurns(4) })))
  })

  it.live("is free again where no body ran", () => {
    const { ran, tools } = paying()
    const fillIn = () => Effect.fail(new ToolUserError({ message: "no host" }))
    return Effect.gen(function* () {
      yield* ask()
      assert.deepStrictEqual(ran, [])
      assert.deepStrictEqual(yield* used, ["money 0 0"])
    }).pipe(
      Effect.provide(
        layer([money("0.1")], {
          tools,
          script: inTurns(2),
          spied: (tool) => ({ ...tool, fillIn })
        })
      )
    )
  })

  it.live("is in no budget of tokens or calls, and a tool that says none reserves none", () => {
    const { tools } = paying()
    const looks = H.reads((n) => Effect.succeed(n))
    return Effect.gen(function* () {
      const all = yield* ask()
      assert.deepStrictEqual(
        H.settled(all).map(({ outcome }) => outcome._tag),
        ["Value", "Failed"]
      )
      assert.deepStrictEqual(yield* used, ["calls_too 3 0", "money 0 0"])
    }).pipe(
      Effect.provide(
        layer([money("0.05"), { name: "calls_too", scope: "tenant", period: "none", calls: 3 }], {
          tools: { ...tools, look: looks },
          script: [call("look", { n: 1 }, free), pay(1), done]
        })
      )
    )
  })

  it.live("of a call that a killed process had begun is reserved once, and spent once", () =>
    Effect.gen(function* () {
      let begun = 0
      const options: H.Options = {
        tools: {
          pay: H.writes(() => (begun++ === 0 ? Effect.never : Effect.succeed("paid")), {
            cost_estimate: "0.1",
            idempotent: true
          })
        },
        agent: { budgets: [money("0.15", { scope: "agent" })] },
        script: inTurns(1)
      }
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello", "c-1"))
      yield* Effect.repeat(Effect.delay(used, 5), {
        until: ([account]) => account === "money 0 0.1" && begun === 1
      })
      yield* first.stop
      const second = yield* H.boot(options)
      const all = yield* second.run(H.ended(run, "c-1"))
      assert.deepInclude(H.end(all), { status: "complete" })
      assert.deepStrictEqual(yield* used, ["money 0.1 0"])
      assert.strictEqual(begun, 2)
    }).pipe(
      Effect.scoped,
      Effect.provide(EphemeralStores.layer),
      Effect.provideService(PriceBook, prices)
    )
  )
})
