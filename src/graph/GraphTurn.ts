/**
 * The next turn of a graph, computed from the events of its frame: each turn is a wave of calls, and the last one the
 * answer. A graph takes the place of a model, so its calls are governed and journaled like any others.
 */
import { Result } from "effect"
import { canonical } from "../value/Canonical.ts"
import type { Json } from "../value/Canonical.ts"
import { resultText } from "../conversation/Transcript.ts"
import { bounds_result, readJson } from "../value/BoundedJson.ts"
import type { FrameId } from "../value/Ids.ts"
import { callId, rootFrame } from "../value/Ids.ts"
import type { Turn } from "../run/RunDecider.ts"
import type { Outcome, ProposedCall, RunEvent } from "../run/RunEvent.ts"
import { fillTemplates } from "./StateTemplate.ts"
import type { GraphNode, ToolGraph } from "./ToolGraph.ts"

interface Progress {
  input: string
  /** What made the turns so far, as it is written in them; undefined where a turn does not say it. */
  readonly origins: Set<string | undefined>
  readonly outcomes: Map<string, Outcome>
}

const progressOf = (frame: FrameId, events: Iterable<RunEvent>): Progress => {
  const progress: Progress = { input: "", origins: new Set(), outcomes: new Map() }
  const nodes = new Map<string, string>()
  for (const event of events) {
    switch (event._tag) {
      case "RunAccepted":
        if (frame === rootFrame) progress.input = event.message
        break
      case "FrameOpened":
        if (event.frame === frame) progress.input = event.input
        break
      case "HandedOff":
        // What another agent called before the graph took over is none of its nodes.
        if (frame === rootFrame) {
          nodes.clear()
          progress.origins.clear()
          progress.outcomes.clear()
        }
        break
      case "ModelTurned":
        if (event.frame !== frame) break
        progress.origins.add(event.origin)
        for (const [index, { model_id }] of event.calls.entries()) {
          nodes.set(callId(frame, event.step, index), model_id)
        }
        break
      case "CallSettled": {
        const node = nodes.get(event.call)
        if (node !== undefined) progress.outcomes.set(node, event.outcome)
      }
    }
  }
  return progress
}

const failed = ({ id, tool }: GraphNode, outcome: Outcome): string =>
  `node "${id}" failed: ${resultText({ role: "tool", call: callId(rootFrame, 0, 0), model_id: id, name: tool, outcome })}`

/** The plain name in a key `namespace.name@version`, as a model would call it. */
const plainName = (tool: string): string => /^[^.]+\.(.+)@[^@]+$/.exec(tool)?.[1] ?? tool

/** But for calls that repeat another one of them: the second would be refused as a mistake, and here it has the next turn. */
const callsOf = (
  nodes: ReadonlyArray<GraphNode>,
  state: ReadonlyMap<string, Json>
): Result.Result<ReadonlyArray<ProposedCall>, string> => {
  const calls = new Map<string, ProposedCall>()
  for (const { id, inputs, literals, tool } of nodes) {
    for (const [argument, input] of Object.entries(inputs)) {
      const filled = fillTemplates(input, state)
      if (Result.isSuccess(filled)) continue
      return Result.fail(
        `node "${id}", argument "${argument}": the state has no field "${filled.failure}"`
      )
    }
    const filled = Result.getOrThrow(fillTemplates(inputs, state)) as Readonly<Record<string, Json>>
    const call = { name: plainName(tool), arguments: { ...literals, ...filled } }
    const same = canonical(call)
    if (!calls.has(same)) calls.set(same, { model_id: id, ...call })
  }
  return Result.succeed([...calls.values()])
}

const turnOf = (origin: string, text: string, calls: ReadonlyArray<ProposedCall>): Turn => ({
  text,
  calls,
  finish: calls.length > 0 ? "tool_calls" : "stop",
  model: "graph",
  origin
})

const inputRefused = "the input is not JSON, or is beyond its bounds (128 deep, 20,000 values)"
const changed = "it is another graph than the one that this began with"

/** A blank text would be no answer. */
const answerText = (value: Json): string =>
  typeof value === "string" && value.trim() !== "" ? value : JSON.stringify(value)

/** Writes the results of these nodes to the state. Fails with the first one that failed. */
const writeResults = (
  state: Map<string, Json>,
  nodes: ReadonlyArray<GraphNode>,
  outcomes: Progress["outcomes"]
): Result.Result<void, string> => {
  for (const node of nodes) {
    const outcome = outcomes.get(node.id)
    if (outcome === undefined) continue
    if (outcome._tag !== "Value") return Result.fail(failed(node, outcome))
    const result = readJson(outcome.json, bounds_result)
    if (Result.isFailure(result)) {
      return Result.fail(
        `node "${node.id}" has a result that cannot be read: ${result.failure.message}`
      )
    }
    state.set(node.out, result.success)
  }
  return Result.void
}

/** Or why the graph cannot go on. `origin` names the graph as it is now: a frame that began with another one does not go on. */
export const nextTurn = (
  graph: ToolGraph,
  origin: string,
  frame: FrameId,
  events: Iterable<RunEvent>
): Result.Result<Turn, string> => {
  const { input, origins, outcomes } = progressOf(frame, events)
  origins.delete(undefined)
  origins.delete(origin)
  if (origins.size > 0) return Result.fail(changed)
  const read = readJson(input)
  const begun = Result.isFailure(read) ? Result.fail(inputRefused) : graph.begin(read.success)
  if (Result.isFailure(begun)) return Result.fail(`its input is refused: ${begun.failure}`)
  const state = new Map(begun.success)
  const ended = writeResults(state, graph.waves.flat(), outcomes)
  if (Result.isFailure(ended)) return Result.fail(ended.failure)
  for (const wave of graph.waves) {
    const left = wave.filter(({ id }) => !outcomes.has(id))
    if (left.length > 0) {
      return Result.map(callsOf(left, state), (calls) => turnOf(origin, "", calls))
    }
  }
  const { output } = graph.spec
  const answer =
    output === undefined ? Result.succeed(Object.fromEntries(state)) : fillTemplates(output, state)
  return Result.mapBoth(answer, {
    onSuccess: (value: Json) => turnOf(origin, answerText(value), []),
    onFailure: (field) => `its output: the state has no field "${field}"`
  })
}
