/**
 * The agents that this process can run. Every tool and every specialist is resolved here, at start, so that a name that
 * nobody knows ends the start and not a run.
 */
import { Effect, Layer, Result, Schema } from "effect"
import { Digest } from "effect/crypto"
import { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { AgentName } from "../../../src/Ids.ts"
import type { GovernedTool } from "../../../src/tool/GovernedTool.ts"
import { jsonSchemaInput } from "../../../src/tool/ToolCodec.ts"
import { groupOf } from "../../../src/tool/ToolGroup.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import { AgentDirectory } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ModelTool } from "../../../services/ModelGateway.ts"
import { PriceBook } from "../../../services/PriceBook.ts"
import { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { digestOf } from "../tool/CallDigests.ts"

/** An agent that cannot be right: the field, the name at fault, and what is wrong with it. */
export class MisdeclaredAgent extends Schema.TaggedError<MisdeclaredAgent>()("MisdeclaredAgent", {
  agent: Schema.String,
  field: Schema.String,
  name: Schema.String,
  message: Schema.String
}) {}

/** The model's name of the tool that delegates to a specialist. */
export const delegationName = (agent: AgentName): string => `ask_${agent}`

const delegation = (spec: AgentSpec): ModelTool => ({
  name: delegationName(spec.name),
  description: `Delegate a task to ${spec.name}. ${spec.description}`.trim(),
  input_schema: spec.takes ?? {
    type: "object",
    properties: {
      task: { type: "string", minLength: 1, description: "The whole task, in words." }
    },
    required: ["task"],
    additionalProperties: false
  }
})

const decode = Schema.decodeUnknownResult(AgentSpec, { onExcessProperty: "error" })

/** From JavaScript it may be anything: a limit that is a text would hold nothing back. */
export const decodedSpec = (
  spec: unknown,
  index: number
): Effect.Effect<AgentSpec, MisdeclaredAgent> => {
  const read = decode(spec)
  if (Result.isSuccess(read)) return Effect.succeed(read.success)
  const named = typeof spec === "object" && spec !== null && "name" in spec ? spec.name : ""
  const agent = String(named).slice(0, 64)
  return Effect.fail(
    new MisdeclaredAgent({
      agent,
      field: `agents.${index}`,
      name: agent,
      message: read.failure.message.slice(0, 500)
    })
  )
}

const make = Effect.fnUntraced(function* (specs: ReadonlyArray<AgentSpec>) {
  const registry = yield* ToolRegistry
  const priced = (yield* PriceBook) !== undefined
  const digest = yield* Digest.Digest
  const byName = new Map<string, AgentSpec>()
  for (const [index, given] of specs.entries()) {
    const spec = yield* decodedSpec(given, index)
    if (byName.has(spec.name)) {
      return yield* new MisdeclaredAgent({
        agent: spec.name,
        field: "name",
        name: spec.name,
        message: "two agents have this name"
      })
    }
    byName.set(spec.name, spec)
  }

  const resident = Effect.fnUntraced(function* (spec: AgentSpec) {
    const wrong = (field: string, name: string, message: string) =>
      new MisdeclaredAgent({ agent: spec.name, field, name, message })
    if (spec.limits.cost_max !== undefined && !priced) {
      const message = "a bound on cost needs prices: give the runtime a price table"
      return yield* wrong("limits.cost_max", spec.limits.cost_max, message)
    }
    for (const group of Object.values(spec.groups_by_role ?? {}).flat()) {
      if (spec.groups !== undefined && !spec.groups.includes(group)) {
        const message = "a role is given a group that is none of the agent's groups"
        return yield* wrong("groups_by_role", group, message)
      }
    }
    const tools = new Map<string, GovernedTool<AgentMemory>>()
    const modelTools: Array<ModelTool> = []
    for (const name of spec.tools) {
      const found = registry.resolve(name)
      if (Result.isFailure(found)) return yield* wrong("tools", name, found.failure.message)
      const tool = found.success
      if (tools.has(tool.spec.name))
        return yield* wrong("tools", name, "two tools have this plain name")
      if (spec.groups !== undefined && !spec.groups.includes(groupOf(tool.spec))) continue
      tools.set(tool.spec.name, tool)
      modelTools.push({
        name: tool.spec.name,
        description: tool.spec.description,
        input_schema: tool.spec.input_schema
      })
    }
    const specialists = new Map<string, AgentName>()
    for (const name of spec.specialists) {
      const specialist = byName.get(name)
      if (specialist === undefined)
        return yield* wrong("specialists", name, "no agent has this name")
      // A specialist without tools can do nothing that its supervisor cannot; it is left out (SA-13).
      if (specialist.tools.length === 0) continue
      if (tools.has(delegationName(name)))
        return yield* wrong("specialists", name, "a tool has its name")
      specialists.set(delegationName(name), name)
      modelTools.push(delegation(specialist))
    }
    const governance = [...tools.values()].map((tool) => tool.spec)
    const takes =
      spec.takes === undefined
        ? undefined
        : yield* Effect.mapError(jsonSchemaInput(spec.name, spec.takes), ({ message }) =>
            wrong("takes", spec.name, message)
          )
    const agent: ResolvedAgent = {
      spec,
      tools,
      specialists,
      modelTools,
      ...(takes === undefined ? undefined : { takes: takes.decode }),
      pins: {
        definition: yield* digestOf(digest, spec),
        tools: yield* digestOf(digest, governance)
      }
    }
    return agent
  })

  const all = yield* Effect.forEach(
    [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    resident
  )
  const agents = new Map(all.map((agent) => [agent.spec.name as string, agent]))
  return AgentDirectory.of({ all, get: (name) => agents.get(name) })
})

export const layer = (
  specs: ReadonlyArray<AgentSpec>
): Layer.Layer<AgentDirectory, MisdeclaredAgent, ToolRegistry | Digest.Digest> =>
  Layer.effect(AgentDirectory, make(specs))
