/** An agent whose ends a webhook is told of, in a process that is killed and in the one after it. */
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"

export const ada = { id: "ada", tenant: "acme", roles: ["admin"] } as const

export const options = {
  agents: [AgentSpec.make({ name: "clerk", instructions: "Help." })],
  model: layer(() => text("done")),
  webhooks: { allow_ranges: ["127.0.0.0/8"], http: true },
  telemetry: false
}
