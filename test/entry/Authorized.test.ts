/** What is authorised in advance, through the facade. */
import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const tenant = Tenant.make("default")
const carl = new Principal({ id: "carl", tenant, roles: ["customer"] })
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })

const refund = (approved: Array<string | undefined>) =>
  tool(
    {
      namespace: "shop",
      name: "refund",
      description: "Pays an order back.",
      side_effects: "external",
      approvers: ["customer", "operator"],
      input: Schema.Struct({ order: Schema.String }),
      output: Schema.String
    },
    ({ order }, { approved_by }) => {
      approved.push(approved_by)
      return Promise.resolve(order)
    }
  )

const agentOf = (name: string) =>
  AgentSpec.make({ name: AgentName.make(name), instructions: "Help.", tools: ["refund"] })

const model = layer(({ transcript }) =>
  transcript.some(({ role }) => role === "tool")
    ? text("It is paid back.")
    : call("refund", { order: "7" })
)

describe("what is authorised in advance through the facade", () => {
  it("SA-28 lets a customer's calls run, is listed with its uses, and ends when it is revoked", async () => {
    const approved: Array<string | undefined> = []
    const troupe = await start({
      agents: [agentOf("shop"), agentOf("backoffice")],
      tools: [refund(approved)],
      model,
      customer_agents: ["shop"]
    })
    try {
      const message = { agent: "shop", text: "Pay order 7 back" }
      const given = await troupe.authorize({ agent: "shop", action: "refund" }, carl)
      assert.strictEqual(given.expires_at - given.granted_at, 30 * 86_400_000)
      assert.strictEqual((await troupe.ask(message, carl)).status, "complete")
      assert.deepStrictEqual(approved, ["carl"])
      const listed = await troupe.authorizations({}, carl)
      assert.deepStrictEqual(
        listed.map(({ id, uses }) => [id, uses]),
        [[given.id, 1]]
      )
      // Another agent's is neither granted, seen nor revoked by a customer.
      const theirs = await troupe.authorize({ agent: "backoffice", action: "refund" }, olga)
      const refusals = await Promise.allSettled([
        troupe.authorize({ agent: "backoffice", action: "refund" }, carl),
        troupe.revokeAuthorization(theirs.id, carl)
      ])
      assert.deepStrictEqual(
        refusals.map((each) => each.status === "rejected" && each.reason._tag),
        ["AgentNotFound", "AuthorizationNotFound"]
      )
      assert.lengthOf(await troupe.authorizations({}, carl), 1)
      assert.lengthOf(await troupe.authorizations({}, olga), 2)
      await troupe.revokeAuthorization(given.id, carl)
      assert.lengthOf(await troupe.authorizations({}, carl), 0)
      assert.lengthOf(await troupe.authorizations({ all: true, limit: 10 }, carl), 1)
      assert.strictEqual((await troupe.ask(message, carl)).status, "awaiting_approval")
      assert.lengthOf(approved, 1)
    } finally {
      await troupe.stop()
    }
  })
})
