/**
 * A graph as an agent: it has the tools of its nodes and nothing else, and its turns come from the graph.
 */
import { AgentSpec } from "../agent/AgentSpec.ts"
import { RunLimits } from "../run/RunLimits.ts"
import type { ToolGraph } from "./ToolGraph.ts"
import { graphText } from "./ToolGraph.ts"

/**
 * For the agents of a runtime. Its message is the state that the graph begins with, as JSON. A run that began with
 * another graph of this name fails where it is resumed.
 */
export const graphAgent = (graph: ToolGraph): AgentSpec => {
  const { capabilities, description = "", input = { type: "object" }, name } = graph.spec
  return AgentSpec.make({
    name,
    description,
    takes: input,
    instructions: graphText(graph),
    tools: [...new Set(graph.waves.flat().map(({ tool }) => tool))],
    limits: RunLimits.make({ steps_max: graph.waves.length + 1 }),
    on_change: "fail",
    history_tokens_max: 0,
    context_tokens_max: 10_000_000,
    ...(capabilities === undefined ? undefined : { capabilities })
  })
}
