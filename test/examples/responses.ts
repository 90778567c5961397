import OpenAI from "openai"
import { Schema } from "effect"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    input: Schema.Struct({ order: Schema.String }),
    side_effects: "external"
  },
  () => "paid back"
)
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
const token = "58d1f0b7c24a4e9d8b6f3a1c9e7d5b20"
const troupe = await start({
  agents: [agent({ name: "shop", instructions: "Help customers.", tools: ["refund"] })],
  tools: [refund],
  model: scripted([call("refund", { order: "1003" }), text("It is paid back.")]),
  http: {
    port: 0,
    tokens: [{ token, principal: olga }],
    settings: { wires: ["responses", "chat-completions"] }
  }
})

const client = new OpenAI({ baseURL: `${troupe.url}/wires/v1`, apiKey: token })
const asked = await client.responses.create({ model: "shop", input: "Pay order 1003 back." })
const question = asked.output.find((item) => item.type === "mcp_approval_request")
console.log(question?.name, question?.arguments)
const done = await client.responses.create({
  model: "shop",
  previous_response_id: asked.id,
  input: [
    {
      type: "mcp_approval_response",
      approval_request_id: question?.id ?? "",
      approve: true
    }
  ]
})
console.log(done.output_text)
await troupe.stop()

// Output:
// refund {"order":"1003"}
// It is paid back.
