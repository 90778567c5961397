/** The statuses of errors that an application is given for routes of its own: those of the HTTP API. */
import { afterAll, assert, beforeAll, it } from "@effect/vitest"
import { error_status, start } from "../../layers/compose/entries/Embed.ts"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"

const token = "a-viewer's-token-of-more-than-32-bytes"
const viewer = { id: "vera", tenant: "default", roles: ["viewer"] }
const customer = { id: "carl", tenant: "default", roles: ["customer"] }
const none = "0b9c1f7e-7c1e-4f3a-9d3b-0a1b2c3d4e5f"
let troupe: NodeService
beforeAll(async () => {
  troupe = await start({
    agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
    model: layer(() => text("hello")),
    http: { tokens: [{ token, principal: viewer }] }
  })
})
afterAll(() => troupe.stop())

it("the status of an error that a method rejects with is the one that HTTP answers", async () => {
  const tagOf = (promise: Promise<unknown>) =>
    promise.then(
      () => "none",
      ({ _tag }: { readonly _tag: string }) => _tag
    )
  const asked = async (method: string, path: string, json?: object) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
    const init =
      json === undefined ? { method, headers } : { method, headers, body: JSON.stringify(json) }
    return (await troupe.handler(new Request(`http://localhost${path}`, init))).status
  }
  const cases = [
    ["RunNotFound", tagOf(troupe.run(none, viewer)), await asked("GET", `/v1/runs/${none}`)],
    [
      "ConversationNotFound",
      tagOf(troupe.messages("none", {}, viewer)),
      await asked("GET", "/v1/conversations/none")
    ],
    [
      "InvalidInput",
      tagOf(troupe.runs({ limit: 0 }, viewer)),
      await asked("GET", "/v1/runs?limit=0")
    ],
    [
      "NotEntitled",
      tagOf(troupe.send({ agent: "shop", text: "hi" }, viewer)),
      await asked("POST", "/v1/messages", { agent: "shop", text: "hi" })
    ],
    ["NotEntitled", tagOf(troupe.costs({}, customer)), 403]
  ] as const
  for (const [tag, rejected, status] of cases) {
    assert.strictEqual(await rejected, tag)
    assert.strictEqual(error_status[tag], status, tag)
  }
})
