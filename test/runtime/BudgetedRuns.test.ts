import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { TestClock } from "effect/testing"
import { compilePriceTable } from "../../src/cost/PriceTable.ts"
import type { Budget } from "../../src/cost/Budget.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
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
    prices: [{ model: "*", input: "1", output: "2" }]
  })
)

const look = { look: H.reads((n) => Effect.succeed(n)) }
const zoe = H.person("zoe", ["customer"])
const yves = H.person("yves", ["customer"])

const layer = (budgets: ReadonlyArray<Budget>, options: Omit<H.Options, "tools">) =>
  H.layer({ tools: look, ...options }).pipe(
    Layer.provide(Layer.succeed(BudgetBook, budgets)),
    Layer.provide(Layer.succeed(PriceBook, prices))
  )

const daily = (given: Partial<Budget> = {}): Budget => ({
  name: "daily",
  scope: "customer",
  period: "day",
  calls: 2,
  ...given
})

const used = Effect.map(
  BudgetLedger.use((ledger) => ledger.list({ tenant: H.tenant, now: Date.now(), limit: 100 })),
  (found) =>
    found.map(({ budget, holder, reserved, spent }) => [budget, holder, spent, reserved] as const)
)

const stopping = (all: ReadonlyArray<RunEvent>) => all.find((event) => event._tag === "RunStopping")

/** A message in a conversation of its own, which a customer cannot name before it begins. */
const send = (by = zoe) =>
  Effect.map(
    AgentRuntime.use((runtime) => runtime.send({ agent: H.agentName, text: "hello" }, by)),
    ({ task }) => task
  )

const ask = (by = zoe) =>
  Effect.flatMap(send(by), ({ conversation, id }) => H.ended(id, conversation))

const askIn = (conversation: string) =>
  Effect.flatMap(H.send("hello", conversation), (run) => H.ended(run, conversation))

/** Looks once, then answers. */
const twice: H.Options["script"] = ({ step }) =>
  step === 1 ? call("look", { n: 1 }) : text("done")

it.live("a budget in money ends the run before a call whose price is not known", () => {
  const known = compilePriceTable({
    version: "v1",
    currency: "USD",
    prices: [{ model: "known", input: "1", output: "2" }]
  })
  const { calls: _, ...budget } = daily()
  return Effect.gen(function* () {
    const all = yield* ask()
    assert.deepInclude(H.end(all), { status: "failed", reason: "budget" })
    assert.include(stopping(all)?.message, "what a turn may cost is not known (daily)")
    assert.lengthOf(yield* H.requests, 0)
  }).pipe(
    Effect.provide(
      H.layer({ script: [text("done")] }).pipe(
        Layer.provide(Layer.succeed(BudgetBook, [{ ...budget, cost: "9" }])),
        Layer.provide(Layer.succeed(PriceBook, Result.getOrThrow(known)))
      )
    )
  )
})

describe("a budget in calls", () => {
  it.live("ends the run before the call that it has no room for, and says which budget it is", () =>
    Effect.gen(function* () {
      assert.deepInclude(H.end(yield* ask()), { status: "complete" })
      const all = yield* ask()
      assert.strictEqual(H.count(all, "ModelTurned"), 0)
      assert.deepInclude(H.end(all), { status: "failed", reason: "budget" })
      const why = stopping(all)
      assert.include(why?.message, '"daily" of customer "zoe"')
      assert.include(why?.message, "of 2 it has spent 2 and reserved 0")
      assert.isAtMost(why?.retry_after_ms ?? Infinity, 86_400_000)
      assert.deepStrictEqual(yield* used, [["daily", "zoe", "2", "0"]])
      assert.strictEqual((yield* H.requests).length, 2)
    }).pipe(Effect.provide(layer([daily()], { script: twice })))
  )

  it.effect("is whole again in its next period", () =>
    Effect.gen(function* () {
      assert.deepInclude(H.end(yield* ask()), { status: "complete" })
      assert.deepInclude(H.end(yield* ask()), { reason: "budget" })
      yield* TestClock.adjust(3_599_000)
      assert.deepInclude(H.end(yield* ask()), { reason: "budget" })
      yield* TestClock.adjust(1_000)
      assert.deepInclude(H.end(yield* ask()), { status: "complete" })
    }).pipe(Effect.provide(layer([daily({ period: "hour" })], { script: twice })))
  )

  it.live("counts each customer by itself, and staff not at all", () =>
    Effect.gen(function* () {
      for (const by of [zoe, yves, H.alice, H.alice]) {
        assert.deepInclude(H.end(yield* ask(by)), { status: "complete" })
      }
      assert.deepStrictEqual(yield* used, [
        ["daily", "yves", "2", "0"],
        ["daily", "zoe", "2", "0"]
      ])
    }).pipe(Effect.provide(layer([daily()], { script: twice })))
  )

  it.live("of a conversation leaves the others alone", () =>
    Effect.gen(function* () {
      assert.deepInclude(H.end(yield* askIn("c-1")), { status: "complete" })
      assert.deepInclude(H.end(yield* askIn("c-1")), { reason: "budget" })
      assert.deepInclude(H.end(yield* askIn("c-2")), { status: "complete" })
    }).pipe(
      Effect.provide(layer([daily({ scope: "conversation", period: "none" })], { script: twice }))
    )
  )

  it.live(
    "of a specialist ends the specialist's work, and the supervisor goes on without it",
    () => {
      const specialist = AgentName.make("east")
      return Effect.gen(function* () {
        const all = yield* ask()
        assert.deepInclude(H.end(all), { status: "complete", text: "without it" })
        assert.deepStrictEqual(yield* used, [["east_only", "east", "0", "0"]])
      }).pipe(
        Effect.provide(
          layer([], {
            agents: [
              AgentSpec.make({
                name: specialist,
                instructions: "Look.",
                tools: ["test.look@1"],
                budgets: [{ name: "east_only", scope: "agent", period: "day", calls: 0 }]
              })
            ],
            agent: { specialists: [specialist] },
            script: ({ agent, step }) =>
              agent === specialist
                ? text("found")
                : step === 1
                  ? calls([call("ask_east", { task: "look" })])
                  : text("without it")
          })
        )
      )
    }
  )

  it.live("frees what a failed call had reserved when its run is over", () =>
    Effect.gen(function* () {
      const all = yield* ask()
      assert.deepInclude(H.end(all), { status: "failed" })
      assert.deepStrictEqual(yield* used, [["daily", "zoe", "0", "0"]])
    }).pipe(Effect.provide(layer([daily()], { script: () => ({ error: "gone" }) as never })))
  )
})

describe("a budget in tokens or cost", () => {
  const usage = { input_tokens: 100, output_tokens: 50 }
  const model_settings = { max_output_tokens: 1_000 }

  it.live("reserves the prompt and the longest answer, and settles what was used", () =>
    Effect.gen(function* () {
      assert.deepInclude(H.end(yield* ask()), { status: "complete" })
      assert.deepStrictEqual(yield* used, [
        ["money", "zoe", "0.0002", "0"],
        ["words", "zoe", "150", "0"]
      ])
      // The next one may take the longest answer, for which there is no room, though the last one was short.
      const refused = yield* ask()
      assert.include(stopping(refused)?.message, '"words"')
    }).pipe(
      Effect.provide(
        layer(
          [
            { name: "words", scope: "customer", period: "month", tokens: 1_100 },
            { name: "money", scope: "customer", period: "month", cost: "1" }
          ],
          {
            script: () => text("done", { usage, model: "dear" }),
            agent: { model_settings, model: "dear" }
          }
        )
      )
    )
  )

  it.live("counts a call whose provider counted nothing as all that it could have taken", () =>
    Effect.gen(function* () {
      yield* ask()
      const [account] = yield* used
      assert.isAtLeast(Number(account?.[2]), 1_000)
    }).pipe(
      Effect.provide(
        layer([{ name: "words", scope: "customer", period: "day", tokens: 5_000 }], {
          script: () => text("done"),
          agent: { model_settings }
        })
      )
    )
  )
})

describe("budgets of several processes", () => {
  it.live(
    "a process that dies within a call leaves its reservation to the next owner of the run",
    () =>
      Effect.gen(function* () {
        let asked = 0
        const options: H.Options = {
          tools: look,
          agent: { budgets: [daily({ calls: 1 })] },
          script: () => (asked++ === 0 ? Effect.never : text("done"))
        }
        const first = yield* H.boot(options)
        const { conversation, id } = yield* first.run(send())
        yield* Effect.repeat(
          Effect.flatMap(Effect.sleep(5), () => used),
          { until: ([account]) => account?.[3] === "1" }
        )
        yield* first.stop
        const second = yield* H.boot(options)
        const all = yield* second.run(H.ended(id, conversation))
        assert.deepInclude(H.end(all), { status: "complete" })
        assert.deepStrictEqual(yield* used, [["daily", "zoe", "1", "0"]])
        assert.strictEqual(asked, 2)
      }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  )
})
