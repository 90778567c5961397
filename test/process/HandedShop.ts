/** Two agents of one conversation, with a typed context, in a process that is killed and in the one after it. */
import { Redacted, Schema } from "effect"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const Customer = Schema.Struct({
  customer: Schema.FiniteFromString,
  token: Schema.RedactedFromValue(Schema.String)
})
export const context = { customer: "1003", token: "t-1003" }

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays back.",
    side_effects: "external",
    input: Schema.Struct({ amount: Schema.Finite }),
    context: Schema.Struct({ customer: Schema.FiniteFromString })
  },
  ({ amount }, { context }) => amount + context.customer
)
const verify = tool(
  {
    namespace: "shop",
    name: "verify",
    description: "Asks.",
    side_effects: "read",
    context: Customer
  },
  (_, { context }) => Redacted.value(context.token)
)

export const triage = agent({
  name: "triage",
  context: Customer,
  instructions: "Sort.",
  handoffs: ["billing"]
})
const billing = agent({
  name: "billing",
  context: Customer,
  instructions: ({ context }) => `Bill customer ${context.customer + 0}.`,
  tools: { refund: true, verify: true }
})

export const options = { agents: [triage, billing], tools: [refund, verify] }
