/**
 * A service whose agent writes a long text slowly, after a call that needs an approval where the message says so. Arguments: its
 * store as JSON, and its port. Says when it listens, and stays.
 */
import { Schema } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, scripted, text } from "../../layers/compose/entries/Testing.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { long_text, token } from "./LongText.ts"

const [store = "", port = ""] = process.argv.slice(2)

const pay = tool(
  {
    namespace: "shop",
    name: "pay",
    description: "Pays.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `paid ${order}`
)

await start({
  agents: [AgentSpec.make({ name: "clerk", instructions: "Help.", tools: ["pay"] })],
  tools: [pay],
  model: scripted(
    ({ transcript: [first, ...more] }) =>
      more.length === 0 && first?.role === "user" && first.text === "pay"
        ? call("pay", { order: "1" })
        : text(long_text),
    { piece_units: 10, piece_delay_ms: 20 }
  ),
  store: JSON.parse(store) as { readonly directory: string },
  http: {
    port: Number(port),
    tokens: [
      { token, principal: { id: "olga", tenant: "default", roles: ["operator", "approver"] } }
    ]
  }
} as Parameters<typeof start>[0])
process.stdout.write("listens\n")
