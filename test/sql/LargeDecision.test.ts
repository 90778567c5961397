/** What somebody asks to be written and no reader of the database could take. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { start } from "../../layers/compose/NodeService.ts"
import { call, layer as scripted, text } from "../../layers/model/ScriptedModelGateway.ts"
import { event_bytes_max } from "../../layers/sql/journal/JournalWriter.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Principal } from "../../src/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { launch, password, user } from "./PostgresServer.ts"

const boss = new Principal({ id: "boss", tenant: "default" as never, roles: ["approver"] })

const note = tool(
  {
    namespace: "shop",
    name: "note",
    description: "Notes something.",
    side_effects: "external",
    input: Schema.Struct({ text: Schema.String })
  },
  async (given) => given.text.length
)

describe("a decision that PostgreSQL's client could not read back", () => {
  it("is refused, and the question stays open", { timeout: 60_000 }, async () => {
    const server = await launch()
    const troupe = await start({
      agents: [AgentSpec.make({ name: "shop" as never, instructions: "Help.", tools: ["note"] })],
      tools: [note],
      model: scripted(({ step }) => (step === 1 ? call("note", { text: "short" }) : text("done"))),
      store: { postgres: `postgres://${user}:${password}@127.0.0.1:${server.port}/postgres` }
    })
    try {
      const asked = await troupe.ask({ agent: "shop", text: "hello" })
      assert.strictEqual(asked.status, "awaiting_approval")
      const id = asked.status === "awaiting_approval" ? asked.approvals[0]!.id : ""
      // Two bytes each: within the bound of characters.
      const large = { text: "ü".repeat(event_bytes_max) }
      const refused = await troupe
        .decide(id, { _tag: "Modify", arguments: large }, boss)
        .catch((error: unknown) => error)
      assert.deepInclude(refused, { _tag: "JournalError", lost: false })
      const again = await troupe.result(asked.run)
      assert.strictEqual(again.status, "awaiting_approval")
      await troupe.decide(id, { _tag: "Approve" }, boss)
      assert.strictEqual((await troupe.result(asked.run)).status, "complete")
    } finally {
      await troupe.stop()
      await server.stop()
    }
  })
})
