import { Schema } from "effect"
import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is paid back`
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const tenant = "default"
const carl = new Principal({ id: "carl", tenant, roles: ["operator"] })
const boss = new Principal({ id: "boss", tenant, roles: ["approver"] })
// 32 random bytes, from your secrets. Only their digest stays in the process.
const token = "1f48e2a6c4b8d0f2e4a6c87b0a3c5e9d"

const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([call("refund", { order: "1003" }), text("It is paid back.")]),
  http: { port: 0, tokens: [{ token, principal: boss }] }
})
const { run } = await troupe.ask({ agent: "shop", text: "Pay order 1003 back" }, carl)

const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" }
const listed = await fetch(`${troupe.url}/v1/approvals`, { headers })
const { items } = (await listed.json()) as {
  readonly items: ReadonlyArray<{
    readonly id: string
    readonly payload: { readonly tool_name: string; readonly args_summary: string }
  }>
}
for (const { id, payload } of items) {
  console.log(payload.tool_name, payload.args_summary)
  const url = `${troupe.url}/v1/approvals/${id}/decision`
  const approve = { method: "POST", headers, body: JSON.stringify({ decision: "approve" }) }
  // The second one comes too late: a question is decided once.
  console.log((await fetch(url, approve)).status, (await fetch(url, approve)).status)
}
console.log((await troupe.result(run)).text)
await troupe.stop()

// Output:
// refund order: "1003"
// 200 409
// It is paid back.
