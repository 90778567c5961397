/** Budgets of two processes over one database: never overspent at any time, whatever dies, and nothing stays reserved. */
import { assert, it } from "@effect/vitest"
import { BigDecimal, Effect, Schema } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Budget } from "../../src/cost/Budget.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { parseDecimal } from "../../src/value/Decimal.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { either } from "../Long.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as Process from "../sql/Process.ts"
import { budgets as once, shop } from "./BudgetShop.ts"

const person = (id: string, role: string) =>
  new Principal({ id, tenant: Tenant.make("default"), roles: [role] })
const olga = person("olga", "operator")

type Service = Awaited<ReturnType<typeof start>>

/** Numbers below `most` that the seed decides. */
const random = (seed: number) => {
  let state = seed
  return (most: number) => (state = (state * 48_271) % 2_147_483_647) % most
}

/** What a call of the tool costs, in millionths. */
const look_cost = 300

const output_max = 300

/** Fails at the first moment at which one holder has spent and reserved more than its amount. */
const watch = async (troupe: Service, isDone: () => boolean): Promise<number> => {
  let looks = 0
  for (; !isDone(); looks++) {
    for (const { amount, budget, holder, reserved, spent } of await troupe.budgets({}, olga)) {
      const used = BigDecimal.sum(parseDecimal(spent), parseDecimal(reserved))
      assert.isTrue(
        BigDecimal.isLessThanOrEqualTo(used, parseDecimal(amount)),
        `${budget} of ${holder}: ${spent} and ${reserved} of ${amount}`
      )
    }
  }
  return looks
}

/** One of the processes, and what its model was asked for and cost, in millionths. */
const begin = (
  url: string,
  budgets: ReadonlyArray<Budget>,
  next: (most: number) => number,
  made: { asked: number; cost: number }
) =>
  start({
    agents: [
      AgentSpec.make({
        name: "shop",
        instructions: "Help.",
        tools: ["look"],
        model: "large",
        model_settings: { max_output_tokens: output_max }
      })
    ],
    customer_agents: ["shop"],
    tools: [
      tool(
        {
          namespace: "shop",
          name: "look",
          description: "Looks.",
          side_effects: "read",
          input: Schema.Struct({ n: Schema.Number }),
          cost_estimate: `0.000${look_cost}`
        },
        async ({ n }) => {
          made.cost += look_cost
          await new Promise((done) => setTimeout(done, next(5)))
          return n
        }
      )
    ],
    store: { postgres: url },
    prices: {
      version: "1",
      currency: "USD",
      prices: [{ model: "large", input: "0.5", output: "1" }]
    },
    budgets,
    model: layer(({ step }) =>
      Effect.gen(function* () {
        const usage = { input_tokens: 4, output_tokens: 1 + next(output_max) }
        const turn = { model: "large", usage }
        made.asked++
        made.cost += 4 * 0.5 + usage.output_tokens
        yield* Effect.sleep(next(15))
        return step <= next(3) ? call("look", { n: step }, turn) : text("done", turn)
      })
    )
  })

const shared = async (url: string, seed: number) => {
  const next = random(seed)
  const budgets: ReadonlyArray<Budget> = [
    { name: "all", scope: "tenant", period: "none", calls: 20 + next(20) },
    { name: "money", scope: "tenant", period: "month", cost: `0.00${2 + next(7)}` },
    { name: "words", scope: "customer", period: "week", tokens: 2_000 + next(4_000) },
    { name: "own", scope: "conversation", period: "none", calls: 1 + next(3) }
  ]
  const made = { asked: 0, cost: 0 }
  const first = await begin(url, budgets, next, made)
  const second = await begin(url, budgets, next, made)
  let isDone = false
  try {
    const watching = watch(first, () => isDone)
    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        [first, second][index % 2]!.ask(
          { agent: "shop", text: "hello" },
          person(`customer-${next(3)}`, "customer")
        )
      )
    ).finally(() => (isDone = true))
    assert.isAbove(await watching, 1)
    const left = await first.budgets({ limit: 500 }, olga)
    assert.isTrue(left.every(({ reserved }) => reserved === "0"))
    // Nothing that was asked is missing, and nothing counts twice.
    const spent = (name: string) => Number(left.find(({ budget }) => budget === name)?.spent)
    assert.strictEqual(spent("all"), made.asked)
    assert.approximately(spent("money"), made.cost / 1_000_000, 1e-12)
    assert.isAbove(made.asked, 0)
    assert.isAbove(
      answers.filter((answer) => answer.status === "failed" && answer.reason === "budget").length,
      0
    )
  } finally {
    await Promise.all([first.stop(), second.stop()])
  }
}

for (let seed = 1; seed <= either(2, 12); seed++) {
  it.live(
    `two processes never overspend, and leave nothing reserved (seed ${seed})`,
    () =>
      Effect.flatMap(EmbeddedPostgres.database, (url) => Effect.promise(() => shared(url, seed))),
    240_000
  )
}

it.live(
  "a process killed between reservation and settlement leaves one reservation, which the next owner settles",
  () =>
    Effect.gen(function* () {
      const url = yield* EmbeddedPostgres.database
      const child = yield* Process.run("test/process/spender.ts", url)
      yield* child.printed(1)
      yield* child.kill
      const troupe = yield* Effect.acquireRelease(
        Effect.promise(() =>
          start({
            agents: [shop],
            store: { postgres: url },
            budgets: once,
            model: layer(() => text("done", { usage: { input_tokens: 1, output_tokens: 1 } }))
          })
        ),
        (started) => Effect.promise(() => started.stop())
      )
      const state = Effect.map(
        Effect.promise(() => troupe.budgets({}, olga)),
        ([found]) => `${found?.spent} ${found?.reserved}`
      )
      assert.include(["0 1", "1 0"], yield* state)
      yield* Effect.repeat(Effect.delay(state, 50), { until: (found) => found === "1 0" })
      const [run] = yield* Effect.promise(() => troupe.runs({}, olga))
      assert.deepInclude(run, { status: "complete" })
      const answer = yield* Effect.promise(() => troupe.ask({ agent: "shop", text: "more" }))
      assert.deepInclude(answer, { status: "failed", reason: "budget" })
      assert.strictEqual(yield* state, "1 0")
    }),
  240_000
)
