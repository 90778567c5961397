/**
 * A graph of tool calls, as data: which tools are called, which fields of the state they read and which they write.
 *
 * ```yaml
 * name: refund
 * input: { type: object, properties: { order: { type: string } }, required: [order] }
 * nodes:
 *   - { id: find, kind: tool, tool: shop.find_order@1, inputs: { id: "{{state.order}}" }, out: found }
 *   - { id: pay, kind: tool, tool: shop.refund@1, inputs: { amount: "{{state.found.total}}", note: as asked }, out: paid }
 * output: { receipt: "{{state.paid.receipt}}" }
 * ```
 *
 * A node runs when the nodes whose results it reads, and those that it names in `after`, have ended. Nodes that do not
 * depend on each other run at the same time. Contradictions are found when the graph is loaded. As an agent, a graph has the tools of
 * its nodes, and computes its turns.
 */
import type { SchemaIssue } from "effect"
import { Cause, Effect, Exit, Result, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { Capability } from "../capability/Capability.ts"
import type { Json } from "../value/Canonical.ts"
import { canonical } from "../value/Canonical.ts"
import { firstSchemaIssue, refusalText } from "../schema/SchemaIssues.ts"
import { bounds_default, isWithinBounds } from "../value/BoundedJson.ts"
import { AgentName } from "../value/Ids.ts"
import { isObject } from "../value/PlainObject.ts"
import { didYouMean } from "../value/Nearest.ts"
import { jsonSchemaInput } from "../tool/ToolCodec.ts"
import { malformedTemplate, pathsReadBy } from "./StateTemplate.ts"
import { AgentSpec } from "../agent/AgentSpec.ts"
import { repairs_max } from "../run/AnswerSchema.ts"
import { RunLimits } from "../run/RunLimits.ts"

/** An invalid graph: the node and the field at fault, and the fix. */
export class GraphRefused extends Schema.TaggedError<GraphRefused>()("GraphRefused", {
  /** The name of the graph, or where it was loaded from. */
  graph: Schema.String,
  /** Absent = the graph as a whole. */
  node: Schema.optionalKey(Schema.String),
  /** The member at fault. */
  field: Schema.String,
  /** What is wrong with it, and what to write instead. */
  message: Schema.String
}) {}

const NodeId = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { description: "1 to 64 letters, digits, _ or -" })
)
const Field = Schema.String.check(
  Schema.isPattern(/^[A-Za-z_][\w-]{0,63}$/, {
    description: "a letter or _, then letters, digits, _ or -, at most 64"
  })
)
const Arguments = Schema.Record(Schema.String, Schema.Json)
const after = Schema.optionalKey(Schema.Array(NodeId).check(Schema.isMaxLength(200)))

const ToolNode = Schema.Struct({
  id: NodeId,
  kind: Schema.Literal("tool"),
  /** A registry key, or a plain name that means one tool. */
  tool: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  /** Arguments: literals, and templates that read the state. */
  inputs: Schema.optionalKey(Arguments),
  /** Arguments that are passed as they are; braces in them are not templates. */
  static: Schema.optionalKey(Arguments),
  /** The field of the state that the result is written to. Absent = `tool_result`. */
  out: Schema.optionalKey(Field),
  after
})

/** A node as Nautilus writes it: a call of `nautilus.broker_request@1`, given by the names of three fields. */
const BrokerNode = Schema.Struct({
  id: NodeId,
  kind: Schema.Literal("broker"),
  agent_id_field: Field,
  intent_field: Field,
  output_field: Field,
  after
})

/** An agent that runs tools in a fixed order and calls no model. */
export const GraphSpec = Schema.Struct({
  /** The name of the agent. */
  name: AgentName,
  /** What it is for, at most 4,000 characters. Absent = empty. */
  description: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(4_000))),
  /** JSON Schema of the initial state, an object. Absent = any object. */
  input: Schema.optionalKey(Arguments),
  /** The calls, 1 to 200. Those that do not read one another's results run at the same time. */
  nodes: Schema.Array(Schema.Union([ToolNode, BrokerNode])).check(
    Schema.isMinLength(1),
    Schema.isMaxLength(200)
  ),
  /** The answer of the run, with templates that read the state. Absent = the whole state. */
  output: Schema.optionalKey(Schema.Json),
  /** The capabilities that its tools may use. Absent = every tool that needs a capability is refused. */
  capabilities: Schema.optionalKey(Schema.Array(Capability).check(Schema.isMaxLength(256)))
})
export interface GraphSpec extends Schema.Schema.Type<typeof GraphSpec> {}

/** One call of a graph, with its tool resolved. */
export interface GraphNode {
  /** The node's id, unique in its graph. */
  readonly id: string
  /** The registry key or plain name of its tool. */
  readonly tool: string
  /** Arguments with templates. */
  readonly inputs: Readonly<Record<string, Json>>
  /** Arguments that are passed as they are. */
  readonly literals: Readonly<Record<string, Json>>
  /** The field of the state that its result is written to. */
  readonly out: string
}

/** A graph that was checked, in the order in which it runs. */
export interface ToolGraph {
  /** The graph as it was declared. */
  readonly spec: GraphSpec
  /** The nodes of one wave run at the same time; the waves run one after the other. */
  readonly waves: ReadonlyArray<ReadonlyArray<GraphNode>>
  /** The initial state for an input. Fails with what is wrong with the input, in a sentence. */
  readonly begin: (input: unknown) => Result.Result<ReadonlyMap<string, Json>, string>
}

const out_default = "tool_result"
/** The tool that a node of the kind `broker` calls. */
export const broker_key = "nautilus.broker_request@1"

type Written = GraphSpec["nodes"][number]

const nodeOf = (written: Written): GraphNode =>
  written.kind === "tool"
    ? {
        id: written.id,
        tool: written.tool,
        inputs: written.inputs ?? {},
        literals: written.static ?? {},
        out: written.out ?? out_default
      }
    : {
        id: written.id,
        tool: broker_key,
        inputs: {
          agent_id: `{{state.${written.agent_id_field}}}`,
          intent: `{{state.${written.intent_field}}}`
        },
        literals: {},
        out: written.output_field
      }

const nameOf = (value: unknown): string =>
  typeof value === "object" && value !== null && "name" in value && typeof value.name === "string"
    ? truncateUnits(value.name, 64)
    : "(unnamed)"

const issueText = (message: string, field: string): string =>
  field === "kind"
    ? "write kind: tool, with id and tool, or kind: broker, with id, agent_id_field, intent_field and output_field"
    : truncateUnits(message, 300)

/** The refusal of a graph of the wrong shape: its first issue, and the node that has it. */
const misshapen = (value: unknown, issue: SchemaIssue.Issue): GraphRefused => {
  const { message = "it cannot be read", path } = firstSchemaIssue(issue)
  const nodes = typeof value === "object" && value !== null && "nodes" in value ? value.nodes : []
  const index = path[0] === "nodes" && path.length > 1 ? Number(path[1]) : -1
  const node: unknown = Array.isArray(nodes) ? nodes[index] : undefined
  const id =
    typeof node === "object" && node !== null && "id" in node
      ? truncateUnits(String(node.id), 64)
      : ""
  const field = (index >= 0 ? path.slice(2) : path).join(".") || (index >= 0 ? "kind" : "nodes")
  return graphRefused(
    nameOf(value),
    index < 0 ? undefined : id === "" ? `nodes.${index}` : id,
    field,
    issueText(message, field)
  )
}

/** Makes a refusal whose message names graph, node and field. */
export const graphRefused = (
  graph: string,
  node: string | undefined,
  field: string,
  why: string
): GraphRefused =>
  new GraphRefused({
    graph,
    ...(node === undefined ? undefined : { node }),
    field,
    message: `graph "${graph}"${node === undefined ? "" : `, node "${node}"`}, field "${field}": ${why}`
  })

/** The first contradiction between the nodes, or with the graph's input; undefined if there is none. */
const contradiction = (spec: GraphSpec, nodes: ReadonlyArray<GraphNode>) => {
  const refused = (node: string | undefined, field: string, why: string) =>
    graphRefused(spec.name, node, field, why)
  const ids = new Set<string>()
  const writers = new Map<string, string>()
  const given = fieldsOf(spec)
  for (const { id, inputs, literals, out } of nodes) {
    if (ids.has(id)) return refused(id, "id", "two nodes have this id. Give one another")
    ids.add(id)
    const twice = Object.keys(inputs).filter((name) => Object.hasOwn(literals, name))
    if (twice.length > 0) {
      return refused(
        id,
        `static.${twice[0]}`,
        `"${twice.join('", "')}" stands in inputs and in static. Leave it out of one of them`
      )
    }
    const other = writers.get(out)
    if (other !== undefined) {
      return refused(id, "out", `node "${other}" writes "${out}" too. Give one of them another out`)
    }
    if (given?.has(out) === true) {
      return refused(id, "out", `"${out}" is a field of the input. Choose another`)
    }
    writers.set(out, id)
    for (const [name, input] of Object.entries(inputs)) {
      const odd = malformedTemplate(input)
      if (odd !== undefined) {
        return refused(
          id,
          `inputs.${name}`,
          `"${odd}" is no template. Write {{state.field}}, or use static`
        )
      }
    }
  }
  for (const written of spec.nodes) {
    const stray = written.after?.find((id) => !ids.has(id))
    if (stray !== undefined) {
      return refused(written.id, "after", `no node has the id "${stray}".${didYouMean(stray, ids)}`)
    }
  }
  return unwrittenField(spec, nodes, writers, given)
}

/** A field that is read and never written. Not checked where the input may have any fields: that shows in the run. */
const unwrittenField = (
  spec: GraphSpec,
  nodes: ReadonlyArray<GraphNode>,
  writers: ReadonlyMap<string, string>,
  given: ReadonlySet<string> | undefined
) => {
  const odd = malformedTemplate(spec.output ?? null)
  if (odd !== undefined) {
    return graphRefused(
      spec.name,
      undefined,
      "output",
      `"${odd}" is no template. Write {{state.field}}`
    )
  }
  if (given === undefined) return undefined
  const fields = [...given, ...writers.keys()]
  const missing = (value: Json) =>
    pathsReadBy(value).find(([name = ""]) => !fields.includes(name))?.[0]
  const why = (name: string) =>
    `the state has no field "${name}": the input does not declare it, and no node writes it.${didYouMean(name, fields)}`
  for (const { id, inputs } of nodes) {
    for (const [argument, input] of Object.entries(inputs)) {
      const name = missing(input)
      if (name !== undefined) return graphRefused(spec.name, id, `inputs.${argument}`, why(name))
    }
  }
  const name = missing(spec.output ?? null)
  return name === undefined ? undefined : graphRefused(spec.name, undefined, "output", why(name))
}

const fieldsOf = ({ input }: GraphSpec): ReadonlySet<string> | undefined => {
  const properties = input?.["properties"]
  return isObject(properties) ? new Set(Object.keys(properties)) : undefined
}

/** The nodes in waves. Fails with the cycle that keeps some of them from running. */
const wavesOf = (
  spec: GraphSpec,
  nodes: ReadonlyArray<GraphNode>
): Result.Result<ToolGraph["waves"], GraphRefused> => {
  const writers = new Map(nodes.map(({ id, out }) => [out, id]))
  const needs = new Map(
    nodes.map(({ id, inputs }, index) => [
      id,
      new Set([
        ...(spec.nodes[index]?.after ?? []),
        ...pathsReadBy(inputs).flatMap(([name = ""]) => writers.get(name) ?? [])
      ])
    ])
  )
  const done = new Set<string>()
  const waves: Array<ReadonlyArray<GraphNode>> = []
  while (done.size < nodes.length) {
    const wave = nodes.filter(
      ({ id }) => !done.has(id) && [...(needs.get(id) ?? [])].every((need) => done.has(need))
    )
    if (wave.length === 0) {
      const way = cycle(needs, done)
      const why = `the nodes wait for each other: ${way.join(" -> ")}. Take one of these reads or afters away`
      return Result.fail(graphRefused(spec.name, way[0], "after", why))
    }
    for (const { id } of wave) done.add(id)
    waves.push(wave)
  }
  return Result.succeed(waves)
}

const cycle = (
  needs: ReadonlyMap<string, ReadonlySet<string>>,
  done: ReadonlySet<string>
): ReadonlyArray<string> => {
  const way: Array<string> = []
  const firstOpen = (ids: Iterable<string>) => [...ids].find((id) => !done.has(id))
  let next = firstOpen(needs.keys())
  while (next !== undefined && !way.includes(next)) {
    way.push(next)
    next = firstOpen(needs.get(next) ?? [])
  }
  return next === undefined ? way : [...way.slice(way.indexOf(next)), next]
}

const decode = Schema.decodeUnknownExit(GraphSpec, { onExcessProperty: "error" })

/** Decodes and checks a graph that was parsed from YAML or JSON. Fails with the first mistake. */
export const loadGraph = Effect.fnUntraced(function* (
  value: unknown
): Effect.fn.Return<ToolGraph, GraphRefused> {
  const read = isWithinBounds(value, bounds_default)
    ? decode(value)
    : Exit.die("too deep, or too large")
  if (Exit.isFailure(read)) {
    const error = Cause.squash(read.cause)
    return yield* Schema.isSchemaError(error)
      ? misshapen(value, error.issue)
      : graphRefused(nameOf(value), undefined, "nodes", "it cannot be read")
  }
  const spec = read.value
  const nodes = spec.nodes.map(nodeOf)
  const wrong = contradiction(spec, nodes)
  if (wrong !== undefined) return yield* wrong
  const waves = wavesOf(spec, nodes)
  if (Result.isFailure(waves)) return yield* waves.failure
  const codec = yield* Effect.mapError(
    jsonSchemaInput(spec.name, spec.input ?? { type: "object" }),
    (error) => graphRefused(spec.name, undefined, "input", error.message)
  )
  return {
    spec,
    waves: waves.success,
    begin: (input) => {
      if (typeof input !== "object" || input === null || Array.isArray(input)) {
        return Result.fail("the input has to be a JSON object")
      }
      const taken = codec.decode(input)
      return Exit.isSuccess(taken)
        ? Result.succeed(new Map(Object.entries(input as Readonly<Record<string, Json>>)))
        : Result.fail(refusalText(Cause.squash(taken.cause)))
    }
  }
})

/** The canonical text of a graph, by which a changed graph is recognised. */
export const graphText = ({ spec }: ToolGraph): string => canonical(spec)

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
