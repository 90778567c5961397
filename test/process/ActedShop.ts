/** A shop whose backend acts for customers, and whose back office acts for approvers. */
import { Schema } from "effect"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, tool } from "../../src/index.ts"

const tenant = "default"
const web = { id: "web", tenant, roles: ["shop-backend"] }
const office = { id: "office", tenant, roles: ["back-office"] }
export const carl = { id: "carl", tenant, roles: ["customer"], via: web }
export const anna = { id: "anna", tenant, roles: ["approver"], via: office }

export const options = {
  agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["refund"] })],
  customer_agents: ["shop"],
  tools: [
    tool(
      {
        namespace: "shop",
        name: "refund",
        description: "Pays an order back.",
        input: Schema.Struct({}),
        side_effects: "external",
        // The process may be killed while its body runs, which the next one then does again.
        idempotent: true
      },
      () => "paid back"
    )
  ],
  roles: {
    "shop-backend": { actFor: { customer: ["send", "follow", "deleteConversations"] as const } },
    "back-office": { actFor: { approver: ["inspect", "decide"] as const } }
  },
  model: layer(({ step }) => (step === 1 ? call("refund") : text("It is paid back.")))
}
