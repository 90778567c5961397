/**
 * A graph as an agent: its tools are those of the nodes, and its turns are computed from the graph.
 */
import { AgentSpec } from "../agent/AgentSpec.ts"
import { RunLimits } from "../run/RunLimits.ts"
import type { ToolGraph } from "./ToolGraph.ts"
import { graphText } from "./ToolGraph.ts"

/**
 * The agent of a graph, to be added to a runtime's agents. Its message is the graph's initial state as JSON. A run that
 * began with another graph of this name fails when it is resumed.
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
