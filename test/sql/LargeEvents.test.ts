/** Large events on PostgreSQL: what a tool gives is read back, and what somebody asks for is refused beyond its bound. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { event_bytes_max } from "../../layers/sql/journal/JournalWriter.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

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

const large = tool(
  {
    namespace: "shop",
    name: "large",
    description: "Gives a text of 20 MB.",
    side_effects: "read",
    result_bytes_max: 40_000_000,
    input: Schema.Struct({ text: Schema.String })
  },
  async () => "x".repeat(20_000_000)
)

const database = () => Effect.runPromise(EmbeddedPostgres.database)

const open = (postgres: string, name: "note" | "large") =>
  start({
    agents: [AgentSpec.make({ name: "shop" as never, instructions: "Help.", tools: [name] })],
    tools: [note, large],
    model: scripted(({ step }) => (step === 1 ? call(name, { text: "short" }) : text("done"))),
    store: { postgres }
  })

describe("a result of 20 MB", () => {
  it("is read back, by the next process too", { timeout: 60_000 }, async () => {
    const postgres = await database()
    const troupe = await open(postgres, "large")
    const { run, status } = await troupe.ask({ agent: "shop", text: "hello" })
    assert.strictEqual(status, "complete")
    await troupe.stop()
    const next = await open(postgres, "large")
    try {
      assert.strictEqual((await next.result(run)).status, "complete")
      let most = 0
      for await (const item of next.watch(run)) {
        if (item._tag !== "Event" || item.entry.event._tag !== "CallSettled") continue
        const { outcome } = item.entry.event
        most = outcome._tag === "Value" ? outcome.json.length : 0
      }
      assert.strictEqual(most, 20_000_002)
    } finally {
      await next.stop()
    }
  })
})

describe("a decision of more bytes than an event may have", () => {
  it("is refused, and the question stays open", { timeout: 60_000 }, async () => {
    const postgres = await database()
    const troupe = await open(postgres, "note")
    try {
      const asked = await troupe.ask({ agent: "shop", text: "hello" })
      assert.strictEqual(asked.status, "awaiting_approval")
      const id = asked.status === "awaiting_approval" ? asked.approvals[0]!.id : ""
      // Two bytes each: within the bound of characters.
      const text = "ü".repeat(event_bytes_max)
      const refused = await troupe
        .decide(id, { _tag: "Modify", arguments: { text } }, boss)
        .catch((error: unknown) => error)
      assert.deepInclude(refused, { _tag: "JournalError", lost: false })
      const again = await troupe.result(asked.run)
      assert.strictEqual(again.status, "awaiting_approval")
      await troupe.decide(id, { _tag: "Approve" }, boss)
      assert.strictEqual((await troupe.result(asked.run)).status, "complete")
    } finally {
      await troupe.stop()
    }
  })
})
