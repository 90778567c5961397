/** Lists of conversations as applications draw them: who sees what, renaming, metadata, search, deletion, over both surfaces. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agent, Principal, Tenant, tool } from "../../src/index.ts"

const person = (id: string, role: Principal["roles"][number], tenant = "default") =>
  new Principal({ id, tenant: Tenant.make(tenant), roles: [role] })
const admin = person("adam", "admin")
const olga = person("olga", "operator")
const boss = person("boss", "approver")
const carl = person("carl", "customer")
const cora = person("cora", "customer")
const stranger = person("carl", "admin", "other")
const people = [admin, olga, boss, carl, cora, stranger]
const tokenOf = ({ id, tenant }: Principal) => `token-of-${id}-at-${tenant}-0123456789`

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `${order} is paid back`
)

const shop = agent({ name: "shop", instructions: "Help.", tools: ["refund"] })
const desk = agent({
  name: "desk",
  instructions: "Help.",
  title: ({ text }) => {
    if (text === "throw") throw new Error("no title")
    return text === "number" ? (7 as never) : `Case: ${text}`
  }
})

const withTroupe = async (use: (troupe: NodeService) => Promise<void>) => {
  const troupe = await start({
    agents: [shop, desk],
    tools: [refund],
    model: scripted(({ transcript }) =>
      JSON.stringify(transcript.at(-1)).includes("refund 1003")
        ? call("refund", { order: "1003" })
        : text("It is done.")
    ),
    customer_agents: ["shop"],
    approval_url: "https://desk.example/questions/{id}?from={id}",
    http: { tokens: people.map((principal) => ({ token: tokenOf(principal), principal })) }
  })
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const ask = async (
  troupe: NodeService,
  by: Principal,
  method: string,
  path: string,
  body?: object
) => {
  const response = await troupe.handler(
    new Request(`http://localhost${path}`, {
      method,
      headers: { authorization: `Bearer ${tokenOf(by)}`, "content-type": "application/json" },
      ...(body === undefined ? undefined : { body: JSON.stringify(body) })
    })
  )
  const said = await response.text()
  return { status: response.status, json: said === "" ? undefined : JSON.parse(said) }
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => "done",
    (error: { readonly _tag: string }) => error._tag
  )

describe("a list of conversations", () => {
  it("says what each is called, and to customers nothing of the application's", () =>
    withTroupe(async (troupe) => {
      const message = { agent: "shop", text: "  Where\u202e is\n\n my order?  " }
      const { conversation } = await troupe.ask(message, carl)
      await troupe.ask({ agent: "shop", text: "Mine" }, cora)
      const metadata = { plan: "gold" }
      await troupe.ask({ agent: "desk", text: "a lamp", metadata }, olga)
      const [own, ...more] = await troupe.conversations({}, carl)
      assert.deepStrictEqual(more, [])
      const { active_at, address, created_at, cursor, initiated_by, last_message } = own!
      assert.deepStrictEqual(own, {
        id: conversation as never,
        tenant: Tenant.make("default"),
        address,
        initiated_by,
        created_at,
        title: "Where is my order?",
        status: "idle",
        messages: 2,
        last_message: { role: "assistant", text: "It is done.", at: last_message!.at },
        active_at,
        cursor
      })
      const all = await troupe.conversations({}, olga)
      assert.deepStrictEqual(
        all.map(({ title }) => title),
        ["Case: a lamp", "Mine", "Where is my order?"]
      )
      assert.deepInclude(all[0], { metadata, begun_by: "olga" })
      const page = await ask(troupe, carl, "GET", "/v1/conversations?limit=1&search=WHERE")
      assert.deepStrictEqual(page.json.items, [JSON.parse(JSON.stringify(own))])
      assert.deepStrictEqual(await troupe.conversations({ search: "lamp" }, carl), [])
      assert.deepStrictEqual(await troupe.conversations({}, stranger), [])
    }))

  it("has the first words where the agent's function gives no title", () =>
    withTroupe(async (troupe) => {
      for (const text of ["throw", "number"]) {
        await troupe.ask({ agent: "desk", text }, olga)
        const [newest] = await troupe.conversations({ limit: 1 }, olga)
        assert.strictEqual(newest?.title, text)
      }
    }))

  it("is renamed by who may write in it, and noted in by the application alone", () =>
    withTroupe(async (troupe) => {
      const { conversation: id } = await troupe.ask({ agent: "shop", text: "Mine" }, carl)
      const renamed = await troupe.changeConversation(id, { title: "Order 1003" }, carl)
      assert.deepInclude(renamed, { id: id as never, title: "Order 1003" })
      assert.notProperty(renamed, "begun_by")
      const noted = await ask(troupe, olga, "PUT", `/v1/conversations/${id}`, {
        metadata: { plan: "gold" }
      })
      assert.deepInclude(noted.json, { title: "Order 1003", metadata: { plan: "gold" } })
      assert.notProperty((await troupe.conversations({}, carl))[0], "metadata")
      for (const [by, tag] of [
        [cora, "ConversationNotFound"],
        [stranger, "ConversationNotFound"],
        [boss, "NotEntitled"]
      ] as const) {
        assert.strictEqual(await refusal(troupe.changeConversation(id, { title: "x" }, by)), tag)
      }
      const metadata = { plan: "mine" }
      assert.strictEqual(
        await refusal(troupe.changeConversation(id, { metadata }, carl)),
        "NotEntitled"
      )
      const sent = troupe.send({ agent: "shop", text: "x", metadata }, carl)
      assert.strictEqual(await refusal(sent), "NotEntitled")
      const [left] = await troupe.conversations({}, olga)
      assert.deepInclude(left, { title: "Order 1003", metadata: { plan: "gold" } })
    }))
})

describe("a conversation", () => {
  it("is deleted by its customer and by admins, when no run of it waits", () =>
    withTroupe(async (troupe) => {
      const asked = await troupe.ask({ agent: "shop", text: "refund 1003" }, carl)
      const { conversation: id, run } = asked
      assert.strictEqual(asked.status, "awaiting_approval")
      const [waiting] = await troupe.conversations({}, carl)
      assert.strictEqual(waiting?.status, "awaiting_approval")
      for (const by of [carl, admin]) {
        assert.strictEqual(await refusal(troupe.deleteConversation(id, by)), "SubjectIsActive")
      }
      for (const [by, status] of [
        [cora, 404],
        [stranger, 404],
        [olga, 403],
        [boss, 403],
        [carl, 409]
      ] as const) {
        const refused = await ask(troupe, by, "DELETE", `/v1/conversations/${id}`)
        assert.strictEqual(refused.status, status, by.id)
      }
      await troupe.cancel(run, carl, "enough")
      await troupe.result(run)
      assert.strictEqual((await ask(troupe, carl, "DELETE", `/v1/conversations/${id}`)).status, 204)
      assert.deepStrictEqual(await troupe.conversations({}, carl), [])
      assert.deepStrictEqual(await troupe.conversations({}, olga), [])
      assert.strictEqual(await refusal(troupe.messages(id, {}, carl)), "ConversationNotFound")
      assert.strictEqual(await refusal(troupe.deleteConversation(id, carl)), "ConversationNotFound")
      assert.deepStrictEqual(await troupe.approvals({ status: "cancelled" }, olga), [])
      assert.notInclude((await troupe.run(run, olga)).message, "1003")
      const [record] = await troupe.erasures({}, admin)
      assert.deepInclude(record, { of: "conversation", by: "carl" })
    }))
})

describe("an approval", () => {
  it("says its conversation, who asked, which agent, and where it is seen, on both surfaces", () =>
    withTroupe(async (troupe) => {
      const { conversation } = await troupe.ask({ agent: "shop", text: "refund 1003" }, carl)
      const [listed] = await troupe.approvals({}, boss)
      const { id } = listed!
      const origin = {
        conversation,
        asked_by: "carl",
        agent: "shop",
        link: `/v1/approvals/${id}`,
        url: `https://desk.example/questions/${id}?from=${id}`
      }
      assert.deepInclude(listed, origin as never)
      assert.deepInclude(await troupe.approval(id, boss), origin as never)
      assert.deepInclude((await ask(troupe, boss, "GET", "/v1/approvals")).json.items[0], origin)
      assert.deepInclude((await ask(troupe, boss, "GET", listed!.link!)).json, origin)
      assert.deepInclude(
        await troupe.decide(id, { decision: "deny", reason: "no" }, boss),
        origin as never
      )
    }))

  it("has an address only of an option that is one", async () => {
    for (const approval_url of ["https://desk.example/", "ftp://desk/{id}", 7]) {
      const started = start({
        agents: [shop],
        tools: [refund],
        model: scripted([]),
        approval_url
      } as never)
      assert.strictEqual(await refusal(started), "InvalidInput")
    }
  })
})
