/** An agent whose run waits for a person, in a process that is killed and in the one after it, with spans for one collector. */
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"

const pay = tool({ namespace: "shop", name: "pay", side_effects: "external" }, () => "paid")
const shop = AgentSpec.make({ name: "shop", instructions: "Pay.", tools: ["pay"] })

export const options = (endpoint: string) => ({
  agents: [shop],
  tools: [pay],
  model: layer(({ transcript }) =>
    transcript.some(({ role }) => role === "tool") ? text("done") : call("pay", {})
  ),
  telemetry: { endpoint, protocol: "http/json" as const }
})
