import { Schema } from "effect"
import { AgentSpec, Principal, RunLimits, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted } from "troupe/testing"

const look = tool(
  {
    namespace: "shop",
    name: "look",
    description: "Looks into an order.",
    side_effects: "read",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is on its way`
)
const limits = { steps_max: 10, cost_max: "0.25" }
const shop = AgentSpec.make({
  name: "shop",
  instructions: "Help customers.",
  tools: ["look"],
  limits: RunLimits.make(limits)
})
// It would look for ever. Each turn costs 0.10.
const turn = { model: "large", usage: { input_tokens: 10_000, output_tokens: 5_000 } }
const model = scripted(({ step }) => call("look", { order: `100${step}` }, turn))
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })

const troupe = await start({
  agents: [shop],
  tools: [look],
  model,
  // Per million tokens.
  prices: {
    version: "2026-11",
    currency: "USD",
    prices: [{ model: "large", input: "5", output: "10" }]
  }
})
const answer = await troupe.ask({ agent: "shop", text: "Where are my orders?" })
if (answer.status === "failed") console.log(answer.status, answer.reason)
for (const { amounts, key } of await troupe.costs({ by: "agent" }, olga)) console.log(key, amounts)
await troupe.stop()

// Output:
// failed cost_max
// shop [ { currency: 'USD', amount: '0.3' } ]
