import { HttpAgent } from "@ag-ui/client"
import { Schema } from "effect"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    input: Schema.Struct({ order: Schema.String, euros: Schema.Int }),
    side_effects: "external"
  },
  ({ euros }) => `paid back ${euros} euros`
)
const shop = agent({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
const token = "5d2c81f09e7a4b3688d1c0a9f4e6b275"
const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([
    call("refund", { order: "1003", euros: 40 }, { text: "That is 40 euros." }),
    text("It is paid back.")
  ]),
  http: {
    port: 0,
    tokens: [{ token, principal: olga }],
    settings: { wires: ["ag-ui"] }
  }
})

const client = new HttpAgent({
  url: `${troupe.url}/wires/ag-ui/shop`,
  headers: { authorization: `Bearer ${token}` }
})
client.addMessage({ id: "1", role: "user", content: "Pay order 1003 back, please." })
await client.runAgent()
// An approval is an interrupt. The arguments may be others than the proposed ones.
const resume = client.pendingInterrupts.map(({ id }) => ({
  interruptId: id,
  status: "resolved" as const,
  payload: { approved: true, editedArgs: { order: "1003", euros: 20 } }
}))
await client.runAgent({ resume })
for (const { content, role } of client.messages) console.log(`${role}: ${content}`)
await troupe.stop()

// Output:
// user: Pay order 1003 back, please.
// assistant: That is 40 euros.
// tool: paid back 20 euros
// assistant: It is paid back.
