/** An agent with a tool of its client, in a process that is killed and in the one after it. */
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"

export const waiter = AgentSpec.make({
  name: AgentName.make("waiter"),
  instructions: "Wait.",
  tools: ["pick"]
})

export const toolConfigs: NonNullable<Options["toolConfigs"]> = {
  tools: [{ type: "client", name: "pick", permission: "allow" }]
}
