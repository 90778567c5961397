import { Schema } from "effect"
import { AgentSpec, tool } from "troupe"
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

export const agents = [
  AgentSpec.make({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
]
export const tools = [refund]
export const customer_agents = ["shop"]
// A script plays the model's part: safe to restart, because it looks at the request alone.
export const model = scripted(({ step }) =>
  step === 1 ? call("refund", { order: "1003" }) : text("It is paid back.")
)
