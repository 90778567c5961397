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
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const model = scripted(({ step }) =>
  step === 1 ? call("refund", { order: "1003" }) : text("It is paid back.")
)
const troupe = await start({ agents: [shop], tools: [refund], model })

const grant = { agent: "shop", action: "refund", uses_max: 1, holds_ms: "1 day" } as const
await troupe.authorize(grant, boss)
const message = { agent: "shop", text: "Pay order 1003 back" }
console.log((await troupe.ask(message)).status)
// It was good for one call.
console.log((await troupe.ask(message)).status)
await troupe.stop()

// Output:
// complete
// awaiting_approval
