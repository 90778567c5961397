/** An agent that makes a bill for its customer and then asks a person, in a process that is killed and in the one after it. */
import { Schema } from "effect"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

export const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })

const bill = tool(
  { namespace: "shop", name: "bill", description: "Makes the bill.", side_effects: "read" },
  async (_, { attach }) => {
    const file = { type: "file", media_type: "text/plain" } as const
    await attach({ ...file, data: Buffer.from("bill"), name: "bill.txt", for: "customer" })
    await attach({ ...file, data: Buffer.from("margin"), name: "margin.txt" })
    return "made"
  }
)
const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays back.",
    side_effects: "external",
    input: Schema.Struct({ amount: Schema.Finite })
  },
  ({ amount }) => amount
)
const desk = agent({
  name: "desk",
  instructions: "Help.",
  tools: { bill: true, refund: true }
})

export const options = { agents: [desk], tools: [bill, refund], customer_agents: ["desk"] }
