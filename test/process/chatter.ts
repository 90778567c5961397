/**
 * A service with an agent that says something slowly, and then asks its customer before it pays. Arguments: its store, as JSON, and a
 * file that has a line for each payment. Prints its address and when its model is asked, and stays.
 */
import { appendFileSync } from "node:fs"
import { Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { wire_names } from "../../layers/http/boundary/HttpSettings.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const [, , store = "", paid = ""] = process.argv

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String }),
    approvers: ["customer"]
  },
  ({ order }) => {
    appendFileSync(paid, `${order}\n`)
    return "paid back"
  }
)

const troupe = await start({
  agents: [agent({ name: "shop", instructions: "Help.", tools: ["refund"] })],
  tools: [refund],
  customer_agents: ["shop"],
  store: JSON.parse(store) as { readonly directory: string },
  model: layer(
    ({ step }) => {
      process.stdout.write("asked\n")
      return step === 1
        ? call("refund", { order: "1003" }, { text: "That is 40 euros, which I pay back at once." })
        : text("It is paid back.")
    },
    { piece_units: 4, piece_delay_ms: 100 }
  ),
  http: {
    port: 0,
    settings: { wires: wire_names },
    tokens: [
      {
        token: "a-token-for-carl-of-the-shop",
        principal: new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
      }
    ]
  }
})
process.stdout.write(`serving ${troupe.url}\n`)
