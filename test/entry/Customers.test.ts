/** A customer as a principal of the facade: it gets what it began itself, as customers see it, and nothing else. */
import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const tenant = Tenant.make("default")
const person = (id: string, ...roles: ReadonlyArray<Role>) => new Principal({ id, tenant, roles })
const carl = person("carl", "customer")
const cora = person("cora", "customer")
const stranger = new Principal({ id: "sam", tenant: Tenant.make("other"), roles: ["operator"] })
const olga = person("olga", "operator")
const ann = person("ann", "approver")

const tagOf = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string }) => error._tag ?? String(error)
  )

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String }),
    output: Schema.String
  },
  ({ order }) => Promise.resolve(order)
)
const shop = AgentSpec.make({
  name: AgentName.make("shop"),
  instructions: "Help.",
  tools: ["refund"]
})
const inside = AgentSpec.make({ name: AgentName.make("inside"), instructions: "Help staff." })

const serve = async (
  use: (troupe: NodeService) => Promise<void>,
  options: Partial<Options> = { customer_agents: ["shop"] }
) => {
  const troupe = await start({
    agents: [shop, inside],
    tools: [refund],
    model: layer(({ transcript }) =>
      transcript.some(({ role }) => role === "tool")
        ? text("It is paid back.")
        : call("refund", { order: "private-7" })
    ),
    ...options
  })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const seen = async (troupe: NodeService, id: string, by: Principal) => {
  const items: Array<unknown> = []
  for await (const item of troupe.watch(id, undefined, by)) {
    items.push(item)
    if (item._tag === "CaughtUp") break
  }
  return items
}

const message = { agent: "shop", text: "Pay it back" }

describe("a customer, embedded", () => {
  it("may ask, wait and watch, and receives nothing of tools, arguments and staff", () =>
    serve(async (troupe) => {
      const asked = await troupe.ask(message, carl)
      assert.deepStrictEqual(asked, {
        status: "awaiting_approval",
        run: asked.run,
        conversation: asked.conversation,
        approvals: [],
        client_calls: [],
        unknown: []
      })
      const [question] = await troupe.pending(ann)
      await troupe.decide(question!.id, { decision: "deny", reason: "private-fraud" }, ann)
      const end = await troupe.result(asked.run, carl)
      assert.deepInclude(end, { status: "complete", text: "It is paid back." })
      for (const id of [asked.run, asked.conversation]) {
        const items = await seen(troupe, id, carl)
        const told = JSON.stringify([asked, end, items])
        assert.include(told, "Pay it back")
        for (const secret of ["private", "refund", "ann", "Help."]) {
          assert.notInclude(told, secret)
        }
      }
    }))

  it("and staff of another tenant do not find a run of somebody else that is at work", () =>
    serve(async (troupe) => {
      const { run } = await troupe.ask(message, olga)
      for (const by of [carl, stranger]) {
        assert.strictEqual(await tagOf(troupe.result(run, by)), "RunNotFound", by.id)
      }
      assert.strictEqual((await troupe.result(run, ann)).status, "awaiting_approval")
    }))

  it("cannot follow, wait for, cancel or write a conversation of somebody else", () =>
    serve(async (troupe) => {
      for (const by of [cora, olga]) {
        const theirs = await troupe.send(message, by)
        const { conversation, run } = theirs
        assert.strictEqual(await tagOf(troupe.result(run, carl)), "RunNotFound")
        assert.strictEqual(await tagOf(troupe.cancel(run, carl, "no")), "RunNotFound")
        for (const id of [run, conversation]) {
          assert.strictEqual(await tagOf(seen(troupe, id, carl)), "ConversationNotFound")
        }
        assert.strictEqual(
          await tagOf(troupe.send({ ...message, conversation }, carl)),
          "ConversationNotFound"
        )
      }
      const own = await troupe.send(message, carl)
      const next = await troupe.send({ ...message, conversation: own.conversation }, carl)
      assert.strictEqual(next.ordinal, 2)
      await troupe.cancel(own.run, carl, "I changed my mind")
      assert.strictEqual((await troupe.result(own.run, carl)).status, "cancelled")
    }))

  it("begins a conversation under an id of its own, which nobody else finds", () =>
    serve(async (troupe) => {
      const conversation = "carl:support-1"
      const mine = { ...message, conversation }
      const first = await troupe.send(mine, carl)
      assert.deepInclude(first, { conversation, ordinal: 1 })
      assert.strictEqual((await troupe.send({ conversation, text: "And?" }, carl)).ordinal, 2)
      assert.lengthOf(await troupe.messages(conversation, {}, carl), 2)
      // Staff of another tenant begin one of theirs under the same id.
      assert.strictEqual((await troupe.send(mine, stranger)).ordinal, 1)
      // Whether somebody has begun it or not, another customer is told the same.
      for (const id of [conversation, "carl:support-2"]) {
        const refused = await troupe.send({ ...message, conversation: id }, cora).catch(String)
        assert.strictEqual(
          refused,
          `ConversationNotFound: there is no conversation "${id}"; one that you begin is named cora:NAME`
        )
        assert.strictEqual(await tagOf(troupe.messages(id, {}, cora)), "ConversationNotFound")
      }
      assert.lengthOf(await troupe.messages(conversation, {}, olga), 2)
      await troupe.send({ ...message, conversation: "cora:of-staff" }, olga)
      for (const id of ["cora:of-staff", "mine", "cora:", "corab:1", "event~cora"]) {
        const sent = troupe.send({ ...message, conversation: id }, cora)
        assert.strictEqual(await tagOf(sent), "ConversationNotFound", id)
      }
      // To begin one, a message says which agent it is for.
      const toNobody = troupe.send({ conversation: "cora:1", text: "Hello" }, cora)
      assert.strictEqual(await tagOf(toNobody), "ConversationNotFound")
      const inside = troupe.send({ agent: "inside", conversation: "cora:1", text: "Hello" }, cora)
      assert.strictEqual(await tagOf(inside), "NotForCustomers")
      const escaped = { ...message, conversation: "auth0~007c7:1" }
      const alike = troupe.send(escaped, person("auth0~007c7", "customer"))
      assert.strictEqual(await tagOf(alike), "ConversationNotFound")
      const whole = await troupe.send(escaped, person("auth0|7", "customer"))
      assert.strictEqual(whole.ordinal, 1)
    }))

  it("names no conversation of an agent whose memory belongs to a world", () =>
    serve(
      async (troupe) => {
        const sent = troupe.send({ agent: "guide", conversation: "carl:1", text: "Hello" }, carl)
        assert.strictEqual(await tagOf(sent), "AnchorMismatch")
        assert.strictEqual(
          await tagOf(troupe.send({ agent: "guide", text: "Hello" }, carl)),
          "done"
        )
      },
      {
        agents: [
          AgentSpec.make({ name: "guide", instructions: "Guide.", memory: { anchor: "world" } })
        ],
        tools: [],
        customer_agents: ["guide"]
      }
    ))

  it("has its own idempotency keys", () =>
    serve(async (troupe) => {
      const keyed = { ...message, idempotency_key: "order 7" }
      const sent = [
        await troupe.send(keyed, olga),
        await troupe.send(keyed, carl),
        await troupe.send(keyed, cora)
      ]
      assert.strictEqual(new Set(sent.map(({ run }) => run)).size, 3)
      assert.strictEqual(new Set(sent.map(({ conversation }) => conversation)).size, 3)
      assert.deepInclude(await troupe.send(keyed, carl), { run: sent[1]!.run, created: false })
    }))

  it("may write to the agents of customer_agents only, also where it is a viewer too", () =>
    serve(async (troupe) => {
      for (const by of [carl, person("carla", "customer", "viewer")]) {
        for (const agent of ["inside", "nobody"]) {
          assert.strictEqual(await tagOf(troupe.send({ agent, text: "x" }, by)), "NotForCustomers")
        }
        assert.strictEqual(await tagOf(troupe.send(message, by)), "done")
      }
      const both = person("carla", "customer", "viewer")
      const theirs = await troupe.send({ agent: "inside", text: "x" }, olga)
      assert.strictEqual(
        await tagOf(
          troupe.send({ agent: "shop", text: "x", conversation: theirs.conversation }, both)
        ),
        "ConversationNotFound"
      )
      // What it reads as a viewer it reads as one.
      assert.strictEqual(await tagOf(seen(troupe, theirs.run, both)), "done")
    }))

  it("may not go on with one of its agents in what it began with another agent as staff", () =>
    serve(async (troupe) => {
      const begun = { agent: "inside", text: "hello", conversation: "c-staff" }
      await troupe.send(begun, person("carl", "operator"))
      const further = { ...message, conversation: begun.conversation }
      assert.strictEqual(await tagOf(troupe.send(further, carl)), "NotForCustomers")
    }))

  it("may write to no agent where none is set, and reads nothing of its earlier conversations", () =>
    serve(async (troupe) => {
      assert.strictEqual(await tagOf(troupe.send(message, carl)), "NotForCustomers")
    }, {}))
})
