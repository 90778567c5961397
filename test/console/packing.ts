/**
 * A process that serves the console over its store: an agent packs boxes, and a person decides about each of three. Arguments: the
 * store's directory, and the port, 0 = any. Prints its address once it serves, and stays.
 */
import { Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const [directory = "", port, token = ""] = process.argv.slice(2)

const pack = tool(
  {
    namespace: "store",
    name: "pack",
    description: "Packs a box.",
    side_effects: "write",
    input: Schema.Struct({ box: Schema.String })
  },
  ({ box }) => `box ${box} is packed`
)
const principal = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })

const { url } = await start({
  agents: [AgentSpec.make({ name: "packer", instructions: "Pack.", tools: ["pack"] })],
  tools: [pack],
  store: { directory },
  model: layer(({ step }) =>
    step <= 3 ? call("pack", { box: `number ${step}` }) : text("All boxes are packed.")
  ),
  http: { port: Number(port), console: true, tokens: [{ token, principal }] }
})
process.stdout.write(`serving ${url}\n`)
