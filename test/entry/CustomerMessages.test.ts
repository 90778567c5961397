/** What a customer's message may not carry: in code, in Effect and over HTTP alike. */
import { Effect, Schema, Stream } from "effect"
import { assert, describe, it } from "vitest"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { sendMessage } from "../../layers/compose/promises/MessageSending.ts"
import { Troupe } from "../../layers/compose/entries/Troupe.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { CustomerAgents } from "../../services/AgentDirectory.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { ConversationId } from "../../src/value/Ids.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import * as H from "../runtime/Harness.ts"

const person = (id: string, ...roles: ReadonlyArray<Role>) =>
  new Principal({ id, tenant: Tenant.make("default"), roles })
const carl = person("carl", "customer")
const both = person("carla", "customer", "viewer")
const olga = person("olga", "operator")
const people = [carl, both, olga]
const tokenOf = ({ id }: Principal) => id.padEnd(32, "q")

const options = (customer_agents: ReadonlyArray<string>) => ({
  agents: [
    AgentSpec.make({ name: "shop", instructions: "Help.", handoffs: ["inside"] }),
    AgentSpec.make({ name: "desk", instructions: "Help." }),
    AgentSpec.make({ name: "inside", description: "d", instructions: "Staff." })
  ],
  model: scripted(({ agent, transcript }) =>
    agent === "shop" && transcript.at(-1)?.role === "user"
      ? call("transfer_to_inside", { note: "n" })
      : text("hello")
  ),
  customer_agents
})

const open = (customer_agents = ["shop", "desk"]) =>
  start({
    ...options(customer_agents),
    http: { port: 0, tokens: people.map((who) => ({ token: tokenOf(who), principal: who })) }
  })

const tagOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string }) => error._tag
  )

const first = async (items: AsyncIterable<unknown>) => {
  for await (const _ of items) return
}

const post = async (troupe: NodeService, who: Principal, path: string, json: object) => {
  const response = await fetch(`${troupe.url}/v1${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${tokenOf(who)}`, "content-type": "application/json" },
    body: JSON.stringify(json)
  })
  return [response.status, ((await response.json()) as { readonly type?: string }).type]
}

const plain = { agent: "desk", text: "x" }
const Order = Schema.Struct({ id: Schema.Int })
/** Members that HTTP takes, and one that only code takes. */
const set: ReadonlyArray<object> = [
  { context: {} },
  { context: { customer: "1003" } },
  { answer_schema: { type: "object" } }
]
const inCode: ReadonlyArray<object> = [...set, { initiated_by: "system" }]

describe("a customer's message", () => {
  it("may carry neither context, answer schema nor initiator, however it is sent", async () => {
    const troupe = await open()
    try {
      for (const who of [carl, both]) {
        const { conversation } = await troupe.send(plain, who)
        for (const more of inCode) {
          for (const place of [{}, { conversation }]) {
            const message = { ...plain, ...place, ...more } as never
            const what = `${who.id} ${JSON.stringify(message)}`
            assert.strictEqual(await tagOf(troupe.send(message, who)), "NotEntitled", what)
            assert.strictEqual(await tagOf(troupe.ask(message, who)), "NotEntitled", what)
            assert.strictEqual(await tagOf(first(troupe.stream(message, who))), "NotEntitled", what)
          }
        }
        assert.strictEqual(await tagOf(troupe.ask({ ...plain, answer: Order }, who)), "NotEntitled")
        for (const more of set) {
          for (const path of ["/messages", `/conversations/${conversation}/messages`]) {
            const sent = { text: "x", ...(path === "/messages" ? { agent: "desk" } : {}), ...more }
            const [status, type] = await post(troupe, who, path, sent)
            assert.deepStrictEqual([status, type], [403, "urn:troupe:problem:not-entitled"])
          }
        }
        assert.strictEqual(
          await tagOf(troupe.send({ ...plain, initiated_by: "customer" } as never, who)),
          "done"
        )
      }
      // Nothing of it was accepted.
      assert.lengthOf(await troupe.runs({}, olga), 4)
      assert.strictEqual(await tagOf(troupe.send({ ...plain, context: {} }, olga)), "done")
      assert.strictEqual(
        await tagOf(troupe.send({ ...plain, initiated_by: "system" } as never, olga)),
        "done"
      )
    } finally {
      await troupe.stop()
    }
  })

  it("is refused alike in a program in Effect", () =>
    Effect.runPromise(
      Effect.gen(function* () {
        const troupe = yield* Troupe
        for (const more of inCode) {
          const message = { ...plain, ...more } as never
          const errors = [
            yield* Effect.flip(troupe.send(message, carl)),
            yield* Effect.flip(troupe.ask(message, carl)),
            yield* Effect.flip(Stream.runDrain(troupe.stream(message, carl)))
          ]
          for (const { _tag } of errors) assert.strictEqual(_tag, "NotEntitled")
        }
      }).pipe(Effect.provide(Troupe.layer(options(["desk"]))))
    ))

  it("is refused in a conversation whose first agent is no longer for customers", () => {
    const to = (agent: string, conversation?: ConversationId) =>
      sendMessage({ ...plain, agent: AgentName.make(agent), conversation }, carl)
    const forCustomers = (...names: ReadonlyArray<string>) =>
      Effect.provideService(
        CustomerAgents,
        names.map((name) => AgentName.make(name))
      )
    const agents = ["desk", "shop"].map((name) => AgentSpec.make({ name, instructions: "Help." }))
    return Effect.runPromise(
      Effect.gen(function* () {
        const { conversation } = (yield* forCustomers("desk", "shop")(to("desk"))).task
        const error = yield* Effect.flip(forCustomers("shop")(to("shop", conversation)))
        assert.strictEqual(error._tag, "NotForCustomers")
      }).pipe(Effect.provide(H.layer({ agents, script: () => text("hello") })))
    )
  })

  it("does not hand its conversation over to agents for staff by naming another initiator", async () => {
    const troupe = await open(["shop"])
    try {
      const message = { agent: "shop", text: "x", initiated_by: "system" } as never
      assert.strictEqual(await tagOf(troupe.ask(message, carl)), "NotEntitled")
    } finally {
      await troupe.stop()
    }
  })
})
