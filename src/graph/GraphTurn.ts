/**
 * The next turn of a graph, computed from the events of its frame: each turn is a wave of calls, and the last one the
 * answer. A graph takes the place of a model, so its calls are governed and journaled like any others.
 */
import { Result } from "effect"
import type { Json } from "../Canonical.ts"
import { resultText } from "../conversation/Transcript.ts"
import { bounds_result, readJson } from "../entry/BoundedJson.ts"
import type { FrameId } from "../Ids.ts"
import { callId, rootFrame } from "../Ids.ts"
import type { Turn } from "../run/RunDecider.ts"
import type { Outcome, ProposedCall, RunEvent } from "../run/RunEvent.ts"
import { fillTemplates } from "./StateTemplate.ts"
import type { GraphNode, ToolGraph } from "./ToolGraph.ts"

/** The input of a frame, and the outcomes of its nodes' calls. */
interface Progress {
  input: string
  readonly outcomes: Map<string, Outcome>
}

const progressOf = (frame: FrameId, events: Iterable<RunEvent>): Progress => {
  const progress: Progress = { input: "", outcomes: new Map() }
  const nodes = new Map<string, string>()
  for (const event of events) {
    switch (event._tag) {
      case "RunAccepted":
        if (frame === rootFrame) progress.input = event.message
        break
      case "FrameOpened":
        if (event.frame === frame) progress.input = event.input
        break
      case "ModelTurned":
        if (event.frame !== frame) break
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

const callsOf = (
  wave: ReadonlyArray<GraphNode>,
  state: ReadonlyMap<string, Json>
): Result.Result<ReadonlyArray<ProposedCall>, string> => {
  const calls: Array<ProposedCall> = []
  for (const { id, inputs, literals, tool } of wave) {
    for (const [argument, input] of Object.entries(inputs)) {
      const filled = fillTemplates(input, state)
      if (Result.isSuccess(filled)) continue
      return Result.fail(
        `node "${id}", argument "${argument}": the state has no field "${filled.failure}"`
      )
    }
    const filled = Result.getOrThrow(fillTemplates(inputs, state)) as Readonly<Record<string, Json>>
    calls.push({ model_id: id, name: plainName(tool), arguments: { ...literals, ...filled } })
  }
  return Result.succeed(calls)
}

const turnOf = (text: string, calls: ReadonlyArray<ProposedCall>): Turn => ({
  text,
  calls,
  finish: calls.length > 0 ? "tool_calls" : "stop"
})

const inputRefused = "the input is not JSON, or is beyond its bounds (128 deep, 20,000 values)"

/** The turn of a frame at a step (from 1 on), or why the graph cannot go on, in a sentence. */
export const nextTurn = (
  graph: ToolGraph,
  frame: FrameId,
  step: number,
  events: Iterable<RunEvent>
): Result.Result<Turn, string> => {
  const { input, outcomes } = progressOf(frame, events)
  const read = readJson(input)
  const begun = Result.isFailure(read) ? Result.fail(inputRefused) : graph.begin(read.success)
  if (Result.isFailure(begun)) return Result.fail(`its input is refused: ${begun.failure}`)
  const state = new Map(begun.success)
  for (const node of graph.waves.slice(0, step - 1).flat()) {
    const outcome = outcomes.get(node.id)
    if (outcome === undefined) return Result.fail(`node "${node.id}" was never run`)
    if (outcome._tag !== "Value") return Result.fail(failed(node, outcome))
    const result = readJson(outcome.json, bounds_result)
    if (Result.isFailure(result)) {
      return Result.fail(
        `node "${node.id}" has a result that cannot be read: ${result.failure.message}`
      )
    }
    state.set(node.out, result.success)
  }
  const wave = graph.waves[step - 1]
  if (wave !== undefined) {
    return Result.map(callsOf(wave, state), (calls) => turnOf("", calls))
  }
  const { output } = graph.spec
  const answer =
    output === undefined ? Result.succeed(Object.fromEntries(state)) : fillTemplates(output, state)
  return Result.mapBoth(answer, {
    onSuccess: (value: Json) =>
      turnOf(typeof value === "string" ? value : JSON.stringify(value), []),
    onFailure: (field) => `its output: the state has no field "${field}"`
  })
}
