/**
 * Checks the nodes of a graph against the tools that they name, to find before the first run what would fail in every run.
 * A value from the state is not known yet, so only its declared type is checked.
 */
import { Cause, Effect, Exit, Result } from "effect"
import { parseCapability, grantsOf, uncoveredCapability } from "../capability/Capability.ts"
import { truncateUnits } from "../value/CutText.ts"
import type { Json } from "../value/Canonical.ts"
import { isObject } from "../value/PlainObject.ts"
import type { GovernedTool } from "../tool/GovernedTool.ts"
import { suggestNames } from "../value/Nearest.ts"
import type { Registry } from "../tool/Registry.ts"
import { jsonSchemaInput } from "../tool/ToolCodec.ts"
import { refusalText } from "../schema/SchemaIssues.ts"
import { templatePath, pathsReadBy } from "./StateTemplate.ts"
import type { GraphNode, GraphRefused, ToolGraph } from "./ToolGraph.ts"
import { broker_key, graphRefused } from "./ToolGraph.ts"

type JsonObject = Readonly<Record<string, unknown>>

interface Wrong {
  readonly field: string
  readonly why: string
}

type Tool = Pick<GovernedTool<unknown>, "decode" | "key" | "spec">

type Declared = ReadonlyMap<string, unknown>

const propertiesOf = (schema: unknown): JsonObject => {
  const properties = isObject(schema) ? schema["properties"] : undefined
  return isObject(properties) ? properties : {}
}

const own = (properties: JsonObject, name: string): unknown =>
  Object.hasOwn(properties, name) ? properties[name] : undefined

/** The names that arguments may have; undefined where the schema allows others, or declares none. */
const namesOf = (schema: JsonObject): ReadonlyArray<string> | undefined => {
  const open = ["patternProperties", "anyOf", "oneOf", "allOf", "$ref"]
  return (schema["additionalProperties"] ?? !isObject(schema["properties"])) === false &&
    !open.some((keyword) => schema[keyword] !== undefined)
    ? Object.keys(propertiesOf(schema))
    : undefined
}

const typeOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value

/** The types that values of the schema have; undefined where it does not restrict them. An integer is a number. */
const typesOf = (schema: unknown): ReadonlySet<string> | undefined => {
  if (!isObject(schema)) return undefined
  const { anyOf, enum: values, type } = schema
  if (typeof type === "string") return new Set([type === "integer" ? "number" : type])
  if (Array.isArray(type)) {
    return new Set(type.map((each) => (each === "integer" ? "number" : String(each))))
  }
  if (Array.isArray(values)) return new Set(values.map(typeOf))
  if (!Array.isArray(anyOf)) return undefined
  const types = new Set<string>()
  for (const each of anyOf) {
    const those = typesOf(each)
    if (those === undefined) return undefined
    for (const name of those) types.add(name)
  }
  return types
}

/** The types that an input with templates will have. A template within a longer text yields a text. */
const givenTypes = (input: Json, state: Declared): ReadonlySet<string> | undefined => {
  const path = typeof input === "string" ? templatePath(input) : undefined
  if (path === undefined) return new Set([typeOf(input)])
  const [field = "", ...names] = path
  let schema = state.get(field)
  for (const name of names) schema = own(propertiesOf(schema), name)
  return typesOf(schema)
}

const either = (types: ReadonlySet<string>): string => [...types].join(" or ")

/** The refusal on one line; an issue has its path on a line of its own. */
const refusalOf = (cause: Cause.Cause<unknown>): string =>
  truncateUnits(refusalText(Cause.squash(cause)).replaceAll(/\s*\n\s*/g, " "), 300)

/** Why a value does not fit this schema of an argument. Undefined if it fits, or the schema cannot be checked alone. */
const literalRefusal = Effect.fnUntraced(function* (
  name: string,
  value: Json,
  schema: JsonObject,
  definitions: unknown
) {
  const codec = yield* Effect.result(
    jsonSchemaInput("argument", {
      ...(isObject(definitions) ? { $defs: definitions } : undefined),
      type: "object",
      properties: { [name]: schema }
    })
  )
  if (Result.isFailure(codec)) return undefined
  const read = codec.success.decode({ [name]: value })
  return Exit.isSuccess(read) ? undefined : refusalOf(read.cause)
})

const fieldOf = (name: string, literals: GraphNode["literals"]): string =>
  `${Object.hasOwn(literals, name) ? "static" : "inputs"}.${name}`

const isLiteral = (name: string, literals: GraphNode["literals"], value: Json): boolean =>
  Object.hasOwn(literals, name) || pathsReadBy(value).length === 0

/** An argument that the tool does not declare. A server may ignore it, but it is always a mistake of the author. */
const strayWrong = (
  { inputs, literals }: GraphNode,
  { key, spec: { input_schema } }: Tool
): Wrong | undefined => {
  const names = namesOf(input_schema)
  if (names === undefined) return undefined
  const stray = Object.keys({ ...literals, ...inputs }).find((name) => !names.includes(name))
  if (stray === undefined) return undefined
  const there = suggestNames(stray, names)
  return {
    field: fieldOf(stray, literals),
    why: `"${key}" takes no such argument.${there === "" ? " Leave it out" : there}`
  }
}

const missingWrong = (
  { inputs, literals }: GraphNode,
  { key, spec: { input_schema } }: Tool
): Wrong | undefined => {
  const { required } = input_schema
  const missing = (Array.isArray(required) ? required : []).find(
    (name): name is string =>
      typeof name === "string" && !Object.hasOwn(inputs, name) && !Object.hasOwn(literals, name)
  )
  if (missing === undefined) return undefined
  const types = typesOf(own(propertiesOf(input_schema), missing))
  const what = types === undefined ? "it" : `it (${either(types)})`
  return {
    field: `inputs.${missing}`,
    why: `"${key}" needs ${what}. Give a literal, or {{state.field}}`
  }
}

const memberWrong = Effect.fnUntraced(function* (
  { inputs, literals }: GraphNode,
  { key, spec: { input_schema } }: Tool,
  state: Declared
): Effect.fn.Return<Wrong | undefined> {
  const properties = propertiesOf(input_schema)
  for (const [name, value] of Object.entries({ ...literals, ...inputs })) {
    const schema = own(properties, name)
    if (!isObject(schema)) continue
    const field = fieldOf(name, literals)
    if (isLiteral(name, literals, value)) {
      const why = yield* literalRefusal(name, value, schema, input_schema["$defs"])
      if (why !== undefined) return { field, why: `"${key}" refuses it: ${why}` }
      continue
    }
    const wanted = typesOf(schema)
    const types = givenTypes(value, state)
    if (wanted === undefined || types === undefined) continue
    if ([...types].some((type) => wanted.has(type))) continue
    const why = `"${key}" takes ${either(wanted)}, and this is ${either(types)}. Read another field, or declare another type`
    return { field, why }
  }
  return undefined
})

/** The first mistake in a node's arguments. Where all of them are literals, the tool's own decoder checks them. */
const argumentsWrong = Effect.fnUntraced(function* (
  node: GraphNode,
  tool: Tool,
  state: Declared
): Effect.fn.Return<Wrong | undefined> {
  const wrong = strayWrong(node, tool)
  if (wrong !== undefined) return wrong
  if (pathsReadBy(node.inputs).length > 0) {
    return missingWrong(node, tool) ?? (yield* memberWrong(node, tool, state))
  }
  const read = tool.decode({ ...node.literals, ...node.inputs })
  if (Exit.isSuccess(read)) return undefined
  const why = `"${tool.key}" refuses them: ${refusalOf(read.cause)}`
  return (
    missingWrong(node, tool) ?? (yield* memberWrong(node, tool, state)) ?? { field: "inputs", why }
  )
})

/** The capability for which every call of the tool would be refused; a policy may refuse more. */
const forbidden = ({ spec: { capabilities } }: ToolGraph, tool: Tool): Wrong | undefined => {
  const grants =
    capabilities === undefined ? null : grantsOf(capabilities.map(parseCapability), false)
  const missing = uncoveredCapability(grants, tool.spec.capabilities)
  return missing === undefined
    ? undefined
    : {
        field: "tool",
        why: `"${tool.key}" needs the capability "${missing}". Add it to the graph's capabilities`
      }
}

/** The fields of a broker node from which the fields of its call are made. */
const broker_fields: JsonObject = {
  tool: "kind",
  "inputs.agent_id": "agent_id_field",
  "inputs.intent": "intent_field"
}

const refused = ({ spec: { name, nodes } }: ToolGraph, node: string, { field, why }: Wrong) => {
  const isBroker = nodes.some(({ id, kind }) => id === node && kind === "broker")
  const written = isBroker ? own(broker_fields, field) : undefined
  return graphRefused(name, node, typeof written === "string" ? written : field, why)
}

/** The tools of the nodes. Fails with the first node whose tool does not exist or is ambiguous. */
const toolsOf = <R>(
  graph: ToolGraph,
  registry: Registry<R>
): Result.Result<ReadonlyMap<string, Tool>, GraphRefused> => {
  const tools = new Map<string, Tool>()
  const written = new Map<string, string>()
  for (const { id, tool: name } of graph.waves.flat()) {
    const wrong = (why: string) => Result.fail(refused(graph, id, { field: "tool", why }))
    const found = registry.resolve(name)
    if (Result.isFailure(found)) {
      return wrong(
        name === broker_key
          ? `tool "${name}" not found in registry. Add the tools of layers/builtin/BrokerTools`
          : found.failure.message
      )
    }
    const plain = found.success.spec.name
    const other = written.get(plain) ?? name
    if (other !== name) {
      return wrong(
        `"${name}" and "${other}" of another node have the name "${plain}". Write one of them in both`
      )
    }
    written.set(plain, name)
    tools.set(id, found.success)
  }
  return Result.succeed(tools)
}

/** Fails with the first node, in the order in which they run, that would fail in every run. */
export const checkNodes = Effect.fnUntraced(function* <R>(
  graph: ToolGraph,
  registry: Registry<R>
): Effect.fn.Return<void, GraphRefused> {
  const found = toolsOf(graph, registry)
  if (Result.isFailure(found)) return yield* found.failure
  const tools = found.success
  const nodes = graph.waves.flat().flatMap((node) => {
    const tool = tools.get(node.id)
    return tool === undefined ? [] : [{ node, tool }]
  })
  const state = new Map<string, unknown>([
    ...Object.entries(propertiesOf(graph.spec.input)),
    ...nodes.map(({ node, tool }) => [node.out, tool.spec.output_schema] as const)
  ])
  for (const { node, tool } of nodes) {
    const wrong = forbidden(graph, tool) ?? (yield* argumentsWrong(node, tool, state))
    if (wrong !== undefined) return yield* refused(graph, node.id, wrong)
  }
})
