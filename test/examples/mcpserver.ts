import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
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
const shop = agent({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const ada = new Principal({ id: "ada", tenant: "default", roles: ["operator"] })
const token = "7c2e41d07c5e4b6f8a2d90c1e7b35d64"
const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([call("refund", { order: "1003" }), text("It is paid back.")]),
  approval_url: "https://desk.example/questions/{id}",
  http: { port: 0, tokens: [{ token, principal: ada }], settings: { wires: ["mcp"] } }
})

const transport = new StreamableHTTPClientTransport(new URL(`${troupe.url}/wires/mcp`), {
  requestInit: { headers: { authorization: `Bearer ${token}` } }
})
const client = new Client({ name: "host", version: "1" })
await client.connect(transport)
for (const { name } of (await client.listTools()).tools) console.log(name)

const Answer = Schema.Struct({
  status: Schema.String,
  text: Schema.String,
  run: Schema.String,
  waiting_for: Schema.Array(Schema.Struct({ summary: Schema.String, approval: Schema.String }))
})
const ask = async (name: string, input: Record<string, unknown>) => {
  const { structuredContent } = await client.callTool({ name, arguments: input })
  const answer = Schema.decodeUnknownSync(Answer)(structuredContent)
  console.log(answer.status, answer.text)
  return answer
}
const { run, waiting_for } = await ask("ask_shop", { message: "Pay order 1003 back." })
// People decide elsewhere.
for (const { approval, summary } of waiting_for) {
  console.log(summary)
  await troupe.decide(approval, { decision: "approve" }, ada)
}
await ask("run_result", { run })
await client.close()
await troupe.stop()

// Output:
// ask_shop
// run_result
// awaiting_approval
// Pays an order back: order: "1003"
// complete It is paid back.
