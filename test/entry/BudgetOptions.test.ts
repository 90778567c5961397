import { assert, describe, it } from "@effect/vitest"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Budget } from "../../src/cost/Budget.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { scripted, text } from "../../layers/compose/entries/Testing.ts"

const spans = { name: "daily", scope: "customer", period: "day" } as const
const daily: Budget = { ...spans, calls: 2 }
const thread: Budget = { name: "thread", scope: "conversation", period: "none", calls: 5 }
const shop = (budgets?: ReadonlyArray<Budget>) =>
  AgentSpec.make({ name: "shop", instructions: "Help.", ...(budgets && { budgets }) })

const begin = (budgets: unknown, agent = shop()) =>
  start({
    agents: [agent],
    customer_agents: ["shop"],
    model: scripted(() => text("done")),
    budgets: budgets as ReadonlyArray<Budget>
  })

const person = (id: string, role: string, tenant = "default") =>
  new Principal({ id, tenant: Tenant.make(tenant), roles: [role] })
const [zoe, yves] = [person("zoe", "customer"), person("yves", "customer")]
const olga = person("olga", "operator")

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => assert.fail("it did not reject"),
    (error: { readonly _tag: string; readonly field?: string; readonly message: string }) => error
  )

describe("budgets of a start", () => {
  it.each([
    ["two units", [{ ...daily, tokens: 1 }], "budgets.0", "exactly one of cost, tokens and calls"],
    ["no unit", [{ name: "daily", scope: "tenant", period: "day" }], "budgets.0", "exactly one"],
    ["a name twice", [daily, { ...thread, name: "daily" }], "budgets[1].name", "is called"],
    ["an unknown zone", [{ ...daily, time_zone: "Mars/Olympus" }], "budgets.0.time_zone", "zone"],
    ["less than nothing", [{ ...daily, calls: -1 }], "budgets.0.calls", "between 0"],
    ["a number as cost", [{ ...spans, cost: 5 }], "budgets.0.cost", "write a text"],
    ["an unknown scope", [{ ...daily, scope: "everybody" }], "budgets.0.scope", "customer"]
  ])("with %s are refused, and say which", async (_what, budgets, field, message) => {
    const error = await failureOf(begin(budgets))
    assert.strictEqual(error._tag, "InvalidInput")
    assert.include(error.field ?? "", field)
    assert.include(error.message, message)
  })

  it("share no name with those of an agent", async () => {
    const error = await failureOf(begin([daily], shop([{ ...thread, name: "daily" }])))
    assert.deepInclude(error, { _tag: "InvalidInput", field: "agents[0].budgets[0].name" })
  })

  it("in cost need prices", async () => {
    const error = await failureOf(begin([{ ...spans, cost: "1" }]))
    assert.deepInclude(error, { _tag: "MisdeclaredAgent" })
    assert.include(error.message, "prices")
  })
})

describe("what budgets have left", () => {
  it("a customer sees of itself and of its own conversations, also before the first use", async () => {
    const troupe = await begin([daily], shop([thread]))
    try {
      const [before] = await troupe.budgets({}, zoe)
      assert.deepInclude(before, { budget: "daily", holder: "zoe", spent: "0", left: "2" })
      const { conversation } = await troupe.ask({ agent: "shop", text: "hello" }, zoe)
      const after = await troupe.budgets({ conversation }, zoe)
      assert.deepStrictEqual(
        after.map(({ budget, holder, left, reserved, spent }) => [
          budget,
          holder,
          spent,
          reserved,
          left
        ]),
        [["thread", conversation, "1", "0", "4"]]
      )
      const refused = await failureOf(troupe.budgets({ customer: "zoe" }, yves))
      assert.strictEqual(refused._tag, "NotEntitled")
      const foreign = await failureOf(troupe.budgets({ conversation }, yves))
      assert.strictEqual(foreign._tag, "ConversationNotFound")
      assert.deepInclude((await troupe.budgets({}, yves))[0], { holder: "yves", spent: "0" })
    } finally {
      await troupe.stop()
    }
  })

  it("staff sees of all holders of its tenant, in pages, and of no other tenant", async () => {
    const troupe = await begin([daily])
    try {
      for (const by of [zoe, yves]) await troupe.ask({ agent: "shop", text: "hello" }, by)
      const all = await troupe.budgets({}, olga)
      assert.deepStrictEqual(
        all.map(({ holder, spent }) => [holder, spent]),
        [
          ["yves", "1"],
          ["zoe", "1"]
        ]
      )
      const [second] = await troupe.budgets({ limit: 1, after: "daily:yves" }, olga)
      assert.deepInclude(second, { holder: "zoe" })
      assert.deepStrictEqual(await troupe.budgets({}, person("eve", "operator", "other")), [])
    } finally {
      await troupe.stop()
    }
  })

  it("a customer whose budget is used up reads that, and not whose it was", async () => {
    const troupe = await begin([{ ...daily, scope: "tenant", calls: 0 }])
    try {
      const answer = await troupe.ask({ agent: "shop", text: "hello" }, zoe)
      assert.deepInclude(answer, { status: "failed", reason: "budget", text: "" })
      assert.include(JSON.stringify(answer), "used up for now")
      assert.notInclude(JSON.stringify(answer), "tenant")
      assert.notInclude(JSON.stringify(answer), "daily")
    } finally {
      await troupe.stop()
    }
  })
})
