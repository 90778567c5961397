/**
 * A graph as an agent: its tools are those of the nodes, and its turns are computed from the graph.
 */
import { AgentSpec } from "../agent/AgentSpec.ts"
import { repairs_max } from "../run/AnswerSchema.ts"
import { RunLimits } from "../run/RunLimits.ts"
import type { ToolGraph } from "./ToolGraph.ts"
import { graphText } from "./ToolGraph.ts"

/** The name of the model that every graph has: none. Its turns cost nothing. */
export const graph_model = "troupe/graph"

/** No graph is stopped half-way by what bounds a model: each node runs once, and is asked about once unless a person revises. */
const limitsOf = ({ spec: { nodes } }: ToolGraph): RunLimits => {
  const usual = RunLimits.make({})
  return RunLimits.make({
    // Of nodes with equal calls each has a turn of its own.
    steps_max: nodes.length + 1 + repairs_max,
    writes_max: Math.max(usual.writes_max, nodes.length),
    questions_max: Math.max(usual.questions_max, 2 * nodes.length)
  })
}

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
    model: graph_model,
    limits: limitsOf(graph),
    on_change: "fail",
    history_tokens_max: 0,
    context_tokens_max: 10_000_000,
    ...(capabilities === undefined ? undefined : { capabilities })
  })
}
