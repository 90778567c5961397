/** Files that tools attach for the customer, beside those that they attach for staff. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { AttachedFile } from "../../src/conversation/Part.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const person = (id: string, role: Role, tenant = "acme") => ({
  token: id.padEnd(32, "q"),
  principal: new Principal({ id, tenant, roles: [role] })
})
const carl = person("carl", "customer")
const cora = person("cora", "customer")
const olga = person("olga", "operator")
const adam = person("adam", "admin")
const vera = person("vera", "viewer")
const strangers = [cora, person("eve", "customer", "other"), person("ada", "admin", "other")]

const fileOf = (data: string, name: string, more: object = {}): AttachedFile => ({
  type: "file",
  media_type: "application/pdf",
  data: Buffer.from(data).toString("base64"),
  name,
  ...more
})
const drawn = {
  type: "file",
  media_type: "application/pdf",
  data: btoa("drawn"),
  name: "drawn.pdf"
} as const
const digestOf = (data: string) => createHash("sha256").update(data).digest("hex")
const shared = { for: "customer" } as const

/** What each order has attached, and why it was refused what it was. */
const scenes: Readonly<Record<string, ReadonlyArray<AttachedFile>>> = {
  both: [fileOf("bill", "bill.pdf", shared), fileOf("margin", "margin-1003.pdf")],
  renamed: [fileOf("bill", "internal-name.pdf"), fileOf("bill", "bill.pdf", shared)],
  twice: [
    fileOf("bill", "bill.pdf"),
    fileOf("bill", "bill.pdf", shared),
    fileOf("bill", "bill.pdf")
  ],
  staff: [fileOf("bill", "bill.pdf", { for: "staff" })],
  many: Array.from({ length: 20 }, (_, i) => fileOf(`bill ${i}`, `${i}.pdf`, shared)),
  others: Array.from({ length: 20 }, (_, i) => fileOf(`other ${i}`, `${i}.pdf`, shared)),
  failed: [fileOf("bill", "bill.pdf", shared)]
}
const refusals: Array<string> = []

const bill = tool(
  {
    namespace: "shop",
    name: "bill",
    description: "Makes the bill.",
    side_effects: "read",
    input: Schema.Struct({ scene: Schema.String })
  },
  async ({ scene }, { attach }) => {
    for (const file of scenes[scene] ?? []) {
      await attach(file).catch((error: Error) => refusals.push(error.message))
    }
    if (scene === "failed") throw new ToolUserError({ kind: "invalid_args", message: "no" })
    return "made"
  }
)

const open = () =>
  start({
    agents: [AgentSpec.make({ name: "desk", instructions: "Help.", tools: ["bill"] })],
    tools: [bill],
    // Each word of a message that is a scene is a call.
    model: scripted(({ step, transcript }) => {
      const words = String(Object(transcript[0])["text"]).split(" ")
      const scene = words.filter((word) => word in scenes)[step - 1]
      return scene === undefined
        ? text("Here it is.", { generated: [drawn] })
        : call("bill", { scene })
    }),
    customer_agents: ["desk"],
    http: { tokens: [carl, olga, vera, adam, ...strangers] }
  })

type Service = Awaited<ReturnType<typeof open>>

const within = async (use: (troupe: Service) => Promise<void>) => {
  refusals.length = 0
  const troupe = await open()
  try {
    await use(troupe)
  } finally {
    await troupe.stop()
  }
}

const get = async (troupe: Service, path: string, { token }: typeof carl = carl) => {
  const headers = { authorization: `Bearer ${token}` }
  const response = await troupe.handler(new Request(`http://localhost/v1${path}`, { headers }))
  return response
}

const eventsOf = async (troupe: Service, conversation: string, who: typeof carl) => {
  const { body } = await get(troupe, `/conversations/${conversation}/events`, who)
  let said = ""
  for await (const piece of body!.pipeThrough(new TextDecoderStream())) {
    said += piece
    if (said.includes("caught up")) break
  }
  return said
}

const ask = (troupe: Service, scene: string) =>
  troupe.ask({ agent: "desk", text: scene }, carl.principal)

const names = (answer: object) =>
  (answer as { files?: ReadonlyArray<{ name?: string }> }).files?.map(({ name }) => name)

describe("a file that a tool attaches for the customer", () => {
  it("is in the answer, in messages and in events; one for staff is nowhere, nor its name and size", () =>
    within(async (troupe) => {
      const answer = await ask(troupe, "both")
      const expected = {
        type: "file",
        digest: digestOf("bill"),
        media_type: "application/pdf",
        name: "bill.pdf",
        size: 4
      }
      assert.deepStrictEqual((answer as { files?: ReadonlyArray<object> }).files?.[0], expected)
      assert.deepStrictEqual(names(answer), ["bill.pdf", "drawn.pdf"])
      const { conversation } = answer
      const shown = await (await get(troupe, `/conversations/${conversation}`)).text()
      const { messages } = JSON.parse(shown) as { messages: ReadonlyArray<{ files?: unknown[] }> }
      assert.deepStrictEqual(messages.at(-1)?.files?.[0], expected)
      const events = await eventsOf(troupe, conversation, carl)
      assert.include(events, JSON.stringify(expected.digest))
      for (const text of [shown, events, JSON.stringify(answer)]) {
        for (const hidden of ["margin", digestOf("margin"), "for_customer", '"size":6']) {
          assert.notInclude(text, hidden)
        }
      }
      // Staff see both, and which one the customer sees.
      const whole = await eventsOf(troupe, conversation, olga)
      for (const text of ["margin-1003.pdf", "for_customer"]) assert.include(whole, text)
    }))

  it("is fetched by its customer and staff, and by nobody else; what is for staff by staff alone", () =>
    within(async (troupe) => {
      const { conversation } = await ask(troupe, "both")
      const own = await troupe.ask({ agent: "desk", text: "nothing" }, cora.principal)
      const fetched = (who: typeof carl, data: string, place = conversation) =>
        get(troupe, `/conversations/${place}/files/${digestOf(data)}`, who)
      for (const who of [carl, olga, vera]) {
        const bytes = await fetched(who, "bill")
        assert.strictEqual(bytes.status, 200)
        assert.strictEqual(await bytes.text(), "bill")
      }
      assert.strictEqual((await fetched(carl, "margin")).status, 404)
      assert.strictEqual(await (await fetched(vera, "margin")).text(), "margin")
      for (const who of strangers) {
        for (const place of [conversation, own.conversation]) {
          assert.strictEqual((await fetched(who, "bill", place)).status, 404, who.principal.id)
        }
      }
      const mine = await troupe.file(conversation, digestOf("bill"), carl.principal)
      assert.strictEqual(Buffer.from(mine.data).toString(), "bill")
    }))

  it("keeps the name for the customer where staff have the same bytes under another one", () =>
    within(async (troupe) => {
      const answer = await ask(troupe, "renamed")
      assert.deepStrictEqual(names(answer), ["bill.pdf", "drawn.pdf"])
      const path = `/conversations/${answer.conversation}/files/${digestOf("bill")}`
      const { headers } = await get(troupe, path)
      assert.include(headers.get("content-disposition"), '"bill.pdf"')
      const twice = await ask(troupe, "twice twice")
      assert.deepStrictEqual(names(twice), ["bill.pdf", "drawn.pdf"])
    }))

  it("is one of at most 32 in an answer, and for nobody but a customer", () =>
    within(async (troupe) => {
      const many = await ask(troupe, "many")
      assert.lengthOf(names(many) ?? [], 21)
      assert.lengthOf(names(await ask(troupe, "many many")) ?? [], 21)
      assert.deepStrictEqual(refusals, [])
      assert.lengthOf(names(await ask(troupe, "many others")) ?? [], 33)
      assert.deepStrictEqual(
        refusals.splice(0),
        Array<string>(8).fill("an answer has at most 32 files of tools for its customer")
      )
      const staff = await ask(troupe, "staff")
      assert.deepStrictEqual(names(staff), ["drawn.pdf"])
      assert.deepStrictEqual(refusals, ['file.for: Expected "customer", or no such member'])
    }))

  it("is gone after an erasure of its customer", () =>
    within(async (troupe) => {
      const { conversation } = await ask(troupe, "both")
      await troupe.erase({ subject: "carl" }, adam.principal)
      for (const who of [carl, olga]) {
        for (const data of ["bill", "margin"]) {
          const path = `/conversations/${conversation}/files/${digestOf(data)}`
          assert.strictEqual((await get(troupe, path, who)).status, 404)
        }
      }
    }))

  it("is not in an answer whose call failed", () =>
    within(async (troupe) => {
      assert.deepStrictEqual(names(await ask(troupe, "failed")), ["drawn.pdf"])
    }))
})
