/** What a message tells the tools of its run, and not its model. */
import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as z from "zod"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Scripted from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, Principal, tool, wrap } from "../../src/index.ts"
import * as Homes from "../process/Homes.ts"
import type { Store } from "../process/Plan.ts"
import { isFull } from "../Long.ts"

const Customer = Schema.Struct({
  customer: Schema.FiniteFromString,
  plan: Schema.optionalKey(Schema.String)
})

const seen: Array<unknown> = []
const orders = tool(
  {
    namespace: "shop",
    name: "orders",
    description: "Lists.",
    side_effects: "read",
    context: Customer
  },
  (_, { context }) => {
    expectTypeOf(context.customer).toEqualTypeOf<number>()
    seen.push(context)
    return `orders of ${context.customer}`
  }
)
const pay = tool(
  {
    namespace: "shop",
    name: "pay",
    description: "Pays.",
    side_effects: "external",
    input: z.object({ amount: z.number() }),
    context: z.object({ customer: z.string() }),
    permission: ({ amount }, { context }) =>
      context?.["plan"] === "gold" && amount < 100 ? "allow" : "ask"
  },
  async (_, { context }) => `paid to ${context.customer}`
)
const plain = tool(
  { namespace: "shop", name: "plain", description: "Plain.", side_effects: "read" },
  (_, call) => {
    seen.push(call.context)
    return "plain"
  }
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Sell.",
  tools: ["orders", "pay", "plain"]
})
const boss = AgentSpec.make({ name: "boss", instructions: "Ask.", specialists: ["shop"] })
const free = AgentSpec.make({ name: "free", instructions: "Talk.", tools: ["plain"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })
const context = { customer: "1003", plan: "gold" }

const open = (script: Scripted.Script, more?: Partial<Options>) => {
  seen.length = 0
  return start({
    agents: [shop, boss, free],
    tools: [orders, pay, plain],
    customer_agents: ["shop"],
    model: Scripted.layer(script),
    ...more
  })
}

const eventsOf = async (troupe: NodeService, run: string) => {
  const events = []
  for await (const item of troupe.watch(run))
    if (item._tag === "Event") events.push(item.entry.event)
  return events
}

const rejection = async (promise: Promise<unknown>) => {
  try {
    await promise
  } catch (error) {
    return error as {
      readonly _tag: string
      readonly field?: string
      readonly reason: string
      readonly message: string
    }
  }
  return assert.fail("it did not reject")
}

describe("the context of a run", () => {
  it("is decoded for each tool that declares it, and the model is not shown it", async () => {
    const prompts: Array<string> = []
    const turns = [call("orders"), call("plain"), call("pay", { amount: 5 }), text("done")]
    const troupe = await open((request) => {
      prompts.push(JSON.stringify(request))
      return turns.shift()
    })
    const answer = await troupe.ask({ agent: "shop", text: "My orders", context }, olga)
    assert.strictEqual(answer.status, "complete")
    assert.deepStrictEqual(seen, [{ customer: 1003, plan: "gold" }, context])
    assert.notInclude(prompts.join(""), "gold")
    const all = await eventsOf(troupe, answer.run)
    assert.deepInclude(all[0], { _tag: "RunAccepted", context })
    const results = all.flatMap((event) => (event._tag === "CallSettled" ? [event.outcome] : []))
    assert.deepInclude(results, { _tag: "Value", json: '"paid to 1003"' })
    await troupe.stop()
  })

  it("is read by a permission", async () => {
    const troupe = await open([call("pay", { amount: 5 }), text("done")])
    const message = { agent: "shop", text: "Pay", context: { customer: "1003", plan: "none" } }
    assert.strictEqual((await troupe.ask(message)).status, "awaiting_approval")
    await troupe.stop()
  })

  it("is that of a specialist's calls too, and of wrapped tools", async () => {
    const wrapped = wrap(orders, (intercepted, next) => next(intercepted.args))
    const troupe = await open(
      {
        boss: [call("ask_shop", { task: "list" }), text("ok")],
        shop: [call("orders"), text("listed")]
      },
      { tools: [wrapped, pay, plain] }
    )
    const answer = await troupe.ask({ agent: "boss", text: "My orders", context })
    assert.strictEqual(answer.status, "complete")
    assert.deepStrictEqual(seen, [{ customer: 1003, plan: "gold" }])
    await troupe.stop()
  })

  it("is refused where a tool of the agent, or of its specialists, cannot read it", async () => {
    const troupe = await open([text("never")])
    for (const agent of ["shop", "boss"]) {
      for (const wrong of [
        undefined,
        {},
        { plan: "gold" },
        { customer: "many" },
        { customer: 7 }
      ]) {
        const message = {
          agent,
          text: "My orders",
          ...(wrong === undefined ? {} : { context: wrong })
        }
        const error = await rejection(troupe.ask(message))
        assert.deepInclude(error, { _tag: "InvalidInput", field: "message.context.customer" })
        assert.match(error.reason, /^the tool "(orders|pay)" reads it: /)
      }
    }
    // Nobody reads it: it may be absent.
    assert.strictEqual((await troupe.ask({ agent: "free", text: "Hello" })).status, "complete")
    await troupe.stop()
  })

  it("is refused where it is no JSON object, or too large", async () => {
    const troupe = await open([text("never")])
    const cyclic: Record<string, unknown> = {}
    cyclic["self"] = cyclic
    for (const wrong of [
      "text",
      7,
      [],
      cyclic,
      { at: 1n },
      { f: () => 1 },
      { deep: JSON.parse("[".repeat(70) + "]".repeat(70)) },
      { a: "x".repeat(17_000) }
    ]) {
      const message = { agent: "free", text: "Hello", context: wrong as typeof context }
      assert.strictEqual((await rejection(troupe.ask(message)))._tag, "InvalidInput")
    }
    await troupe.stop()
  })

  if (isFull) {
    it.effect(
      "is what it was after a restart, as is a schema of answers; a tool that reads more is refused",
      () =>
        Effect.gen(function* () {
          const store = yield* Homes.database
          yield* Effect.promise(() => restarted(store))
        })
    )
  }
})

/** One run is at work when the process stops, and another waits behind it: only its task says what it was sent with. */
const restarted = async (store: Store) => {
  const answer = z.object({ paid: z.boolean() })
  const first = await open(() => Effect.never, { store })
  const { conversation, run } = await first.send({ agent: "shop", text: "1", context })
  const waiting = await first.send({
    agent: "shop",
    text: "2",
    conversation,
    context: { customer: "7" },
    answer
  })
  await first.stop()
  const more = tool(
    {
      namespace: "shop",
      name: "plain",
      description: "Plain.",
      side_effects: "read",
      context: Schema.Struct({ plan: Schema.String })
    },
    (_, call) => call.context.plan
  )
  const said = text('{"paid":true}')
  const turns = [call("plain"), text("ok"), call("plain"), text("no"), said]
  const second = await open(() => turns.shift(), { store, tools: [orders, pay, more] })
  const outcomes = []
  for (const each of [run, waiting.run]) {
    assert.strictEqual((await second.result(each)).status, "complete")
    for (const event of await eventsOf(second, each)) {
      if (event._tag === "CallSettled") outcomes.push(event.outcome)
    }
  }
  assert.deepStrictEqual(outcomes[0], { _tag: "Value", json: '"gold"' })
  const refused = outcomes[1]
  assert.strictEqual(refused?._tag === "Failed" ? refused.error.reason : "", "RUN_CONTEXT")
  const { value } = await second.result(waiting.run, undefined, { answer })
  assert.deepStrictEqual(value, { paid: true })
  await second.stop()
}
