/** An imported operation whose body is a form: what a person is asked, and what is sent once they have approved it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as OpenApiImport from "../../layers/calls/OpenApiImport.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { endpointOf, platform } from "./Platform.ts"

const boss = new Principal({ id: "boss", tenant: Tenant.make("default"), roles: ["approver"] })
const properties = {
  to: { type: "string" },
  text: { type: "string" },
  copies: { type: "array", items: { type: "string" } }
}
const document = {
  openapi: "3.0.3",
  info: { title: "Letters", version: "1" },
  servers: [{ url: "https://letters.example/api" }],
  paths: {
    "/letters": {
      post: {
        operationId: "send",
        parameters: [
          { name: "Letter-Version", in: "header", required: true, schema: { type: "string" } }
        ],
        requestBody: {
          content: {
            "application/x-www-form-urlencoded": {
              schema: { type: "object", required: ["to"], properties }
            }
          }
        },
        responses: { "200": { description: "" } }
      }
    }
  }
}

describe("an imported operation with a form", () => {
  it.live("AG-34 is shown whole to the approver, and sent as it was approved", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const operations = yield* OpenApiImport.operations(document, [
        { operation: "send", headers: { "Letter-Version": "7" } }
      ])
      const args = { to: "a@b.example", text: "Hi & bye", copies: ["c", "d"] }
      const clerk = AgentSpec.make({
        name: AgentName.make("clerk"),
        instructions: "Send letters.",
        tools: ["send"]
      })
      yield* Effect.promise(async () => {
        const troupe = await start({
          agents: [clerk],
          model: scripted([call("send", args), text("It is sent.")]),
          toolConfigs: {
            tools: [{ type: "platform", op: "send" }],
            operations,
            callback: { endpoint: endpointOf(web) }
          }
        })
        try {
          const { run, status } = await troupe.ask({ agent: "clerk", text: "Write." })
          assert.strictEqual(status, "awaiting_approval")
          const [question] = await troupe.pending(boss)
          const shown = JSON.stringify(question)
          assert.include(shown, "as application/x-www-form-urlencoded")
          assert.include(shown, "Letter-Version")
          assert.include(shown, "Hi & bye")
          assert.lengthOf(web.seen, 0)
          await troupe.decide(question!.id, { _tag: "Approve" }, boss)
          assert.strictEqual((await troupe.result(run)).text, "It is sent.")
        } finally {
          await troupe.stop()
        }
      })
      assert.lengthOf(web.seen, 1)
      const [sent] = web.seen
      assert.strictEqual(sent?.body, "to=a%40b.example&text=Hi+%26+bye&copies=c&copies=d")
      assert.strictEqual(sent?.headers["letter-version"], "7")
      assert.match(String(sent?.headers["idempotency-key"]), /^[0-9a-f]{64}$/)
    })
  )
})
