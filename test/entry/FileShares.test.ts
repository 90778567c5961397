/** The room for files of one tenant: customers take their shares of it, and staff keep the rest. */
import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const person = (id: string, role: Role, tenant = "acme") => ({
  token: id.padEnd(32, "q"),
  principal: new Principal({ id, tenant, roles: [role] })
})
const [carl, cora, olga, eve] = [
  person("carl", "customer"),
  person("cora", "customer"),
  person("olga", "operator"),
  person("eve", "customer", "other")
]
const bytesOf = (size: number, fill: number) => new Uint8Array(size).fill(fill)

let made = 0
const paint = tool(
  {
    namespace: "w",
    name: "paint",
    description: "Paints.",
    side_effects: "read",
    input: Schema.Struct({}),
    output: Schema.String
  },
  async (_, { attach }) => {
    const data = bytesOf(30_000, 200 + made++)
    await attach({ type: "file", media_type: "application/pdf", data })
    return "painted"
  }
)

const open = (files: object) =>
  start({
    agents: [AgentSpec.make({ name: "desk", instructions: "Help.", tools: ["paint"] })],
    tools: [paint],
    model: scripted(({ transcript }) =>
      transcript.at(-1)?.role === "user" && JSON.stringify(transcript.at(-1)).includes("paint")
        ? call("paint")
        : text("ok")
    ),
    customer_agents: ["desk"],
    files,
    http: { port: 0, tokens: [carl, cora, olga, eve] }
  })

type Service = Awaited<ReturnType<typeof open>>

const upload = async (troupe: Service, { token }: typeof carl, size: number, fill: number) => {
  const response = await fetch(`${troupe.url}/v1/files?name=a`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "text/plain" },
    body: bytesOf(size, fill)
  })
  const { detail } = (await response.json()) as { readonly detail?: string }
  return [response.status, detail] as const
}

const send = (troupe: Service, { principal }: typeof carl, size: number, fill: number) => {
  const part = { type: "file", media_type: "text/plain", data: bytesOf(size, fill) } as const
  return troupe.send({ agent: "desk", text: "x", parts: [part] }, principal).then(
    () => "done",
    (error: { readonly _tag: string; readonly share?: string }) => `${error._tag} ${error.share}`
  )
}

describe("the files of a tenant", () => {
  it("leave room for staff, whatever customers upload", async () => {
    const troupe = await open({ file_bytes_max: 100_000, tenant_bytes_max: 300_000 })
    try {
      const statuses = []
      for (let i = 0; i < 4; i++) statuses.push((await upload(troupe, carl, 99_000, i))[0])
      assert.deepStrictEqual(statuses, [201, 413, 413, 413])
      const [, detail] = await upload(troupe, carl, 99_000, 9)
      assert.strictEqual(
        detail,
        "the files of one customer may have 100000 bytes together, which they would exceed. Nothing was stored."
      )
      assert.strictEqual((await upload(troupe, cora, 99_000, 10))[0], 201)
      assert.strictEqual((await upload(troupe, eve, 99_000, 11))[0], 201)
      assert.strictEqual((await upload(troupe, olga, 30_000, 77))[0], 201)
      assert.strictEqual((await upload(troupe, olga, 70_000, 78))[0], 201)
      assert.strictEqual((await upload(troupe, olga, 99_000, 79))[0], 413)
    } finally {
      await troupe.stop()
    }
  })

  it("count messages and what a customer's runs make for the customer, in code too", async () => {
    const troupe = await open({
      tenant_bytes_max: 1_000_000,
      customer_bytes_max: 100_000,
      customers_bytes_max: 150_000
    })
    try {
      assert.strictEqual(await send(troupe, carl, 60_000, 1), "done")
      // The same bytes take no more room.
      assert.strictEqual(await send(troupe, carl, 60_000, 1), "done")
      assert.strictEqual(await send(troupe, carl, 60_000, 2), "FilesFull customer")
      const painted = { agent: "desk", text: "paint" }
      for (const isFull of [false, true]) {
        const { run } = await troupe.ask(painted, carl.principal)
        const records = JSON.stringify(await eventsOf(troupe, run))
        assert.strictEqual(records.includes("FILE_REFUSED"), isFull)
      }
      assert.strictEqual(await send(troupe, cora, 70_000, 3), "FilesFull customers")
      assert.strictEqual(await send(troupe, cora, 50_000, 4), "done")
      for (const fill of [5, 6, 7])
        assert.strictEqual(await send(troupe, olga, 200_000, fill), "done")
      const { run } = await troupe.ask(painted, olga.principal)
      assert.notInclude(JSON.stringify(await eventsOf(troupe, run)), "FILE_REFUSED")
    } finally {
      await troupe.stop()
    }
  })
})

const eventsOf = async (troupe: Service, run: string) => {
  const seen = []
  for await (const item of troupe.watch(run, undefined, olga.principal)) seen.push(item)
  return seen
}
