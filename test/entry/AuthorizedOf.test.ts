/** Who sees and revokes what a workspace authorised in advance: in code and over HTTP alike. */
import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const acts = (name: string, approvers?: ReadonlyArray<Role>) =>
  tool(
    {
      namespace: "shop",
      name,
      description: "Pays an order back.",
      side_effects: "external",
      ...(approvers === undefined ? undefined : { approvers }),
      input: Schema.Struct({ order: Schema.String })
    },
    ({ order }) => Promise.resolve(order)
  )

const person = (id: string, tenant: string, ...roles: ReadonlyArray<Role>) =>
  new Principal({ id, tenant: Tenant.make(tenant), roles })
const adam = person("adam", "acme", "admin")
const carl = person("carl", "acme", "customer")
const cora = person("cora", "acme", "customer")
const vic = person("vic", "acme", "viewer")
const olga = person("olga", "acme", "operator")
const eve = person("eve", "other", "customer", "viewer")
const people = [adam, carl, cora, vic, olga, eve]
const tokenOf = ({ id }: Principal) => id.padEnd(32, "q")

const open = async (named: ReadonlyArray<Role>) => {
  const troupe = await start({
    agents: [
      AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund", "gift"] }),
      AgentSpec.make({ name: "backoffice", instructions: "Help.", tools: ["gift"] })
    ],
    tools: [acts("refund"), acts("gift", named)],
    model: scripted([]),
    customer_agents: ["shop"],
    http: { port: 0, tokens: people.map((who) => ({ token: tokenOf(who), principal: who })) }
  })
  const refund = await troupe.authorize({ agent: "shop", action: "refund" }, adam)
  const http = async (who: Principal, path: string, method = "GET") => {
    const response = await fetch(`${troupe.url}/v1/authorizations${path}`, {
      method,
      headers: { authorization: `Bearer ${tokenOf(who)}` }
    })
    return { status: response.status, json: (await response.json()) as never }
  }
  return { troupe, refund, http }
}

const tagOf = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => "done",
    (error: { readonly _tag?: string }) => error._tag
  )

describe("an authorisation in advance", () => {
  it("is neither listed for nor revoked by a customer or viewer whom no tool names", async () => {
    const { http, refund, troupe } = await open(["approver"])
    try {
      for (const who of [carl, vic, eve]) {
        for (const page of [{}, { all: true }, { limit: 1, after: refund.id }]) {
          assert.strictEqual(await tagOf(troupe.authorizations(page, who)), "NotEntitled", who.id)
        }
        for (const id of [refund.id, "00000000-0000-4000-8000-000000000000"]) {
          assert.strictEqual(await tagOf(troupe.revokeAuthorization(id, who)), "NotEntitled")
          assert.strictEqual((await http(who, `/${id}/revoke`, "POST")).status, 403)
        }
        const listed = await http(who, "?all=true")
        assert.strictEqual(listed.status, 403)
        assert.notInclude(JSON.stringify(listed.json), "adam")
      }
      const [kept] = await troupe.authorizations({}, olga)
      assert.deepInclude(kept, { id: refund.id, granted_by: "adam" })
      assert.notProperty(kept, "revoked_by")
    } finally {
      await troupe.stop()
    }
  })

  it("of a tool that names them is all they find, and a customer reads no id but its own", async () => {
    const { http, refund, troupe } = await open(["customer", "viewer", "operator"])
    try {
      const theirs = await troupe.authorize({ agent: "backoffice", action: "gift" }, olga)
      const staffs = await troupe.authorize({ agent: "shop", action: "gift" }, olga)
      const seen = await troupe.authorizations({}, carl)
      assert.deepStrictEqual(
        seen.map(({ granted_by, id }) => [id, granted_by]),
        [[staffs.id, "another person"]]
      )
      assert.notInclude(JSON.stringify(await http(carl, "?all=true&limit=500")), "olga")
      assert.deepStrictEqual(
        (await troupe.authorizations({}, vic)).map(({ granted_by, id }) => [id, granted_by]),
        [
          [staffs.id, "olga"],
          [theirs.id, "olga"]
        ]
      )
      for (const id of [refund.id, theirs.id]) {
        assert.strictEqual(
          await tagOf(troupe.revokeAuthorization(id, carl)),
          "AuthorizationNotFound"
        )
        assert.strictEqual((await http(carl, `/${id}/revoke`, "POST")).status, 404)
      }
      assert.strictEqual(
        await tagOf(troupe.revokeAuthorization(refund.id, vic)),
        "AuthorizationNotFound"
      )
      assert.deepStrictEqual(await troupe.authorizations({ all: true }, eve), [])
      assert.strictEqual(
        await tagOf(troupe.revokeAuthorization(staffs.id, eve)),
        "AuthorizationNotFound"
      )
      const revoked = await http(carl, `/${staffs.id}/revoke`, "POST")
      assert.deepInclude(revoked.json, { revoked_by: "carl", granted_by: "another person" })
      // A second time it stays as it is, whoever asks.
      const again = await troupe.revokeAuthorization(staffs.id, cora)
      assert.strictEqual(again.revoked_by, "another person")
      const all = await troupe.authorizations({ all: true }, olga)
      assert.deepStrictEqual(
        all.map(({ id, revoked_by }) => [id, revoked_by]),
        [
          [staffs.id, "carl"],
          [theirs.id, undefined],
          [refund.id, undefined]
        ]
      )
    } finally {
      await troupe.stop()
    }
  })
})
