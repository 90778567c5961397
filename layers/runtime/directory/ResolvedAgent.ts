/**
 * One agent of the directory, resolved: each tool and each specialist that its definition names, or what is wrong with it.
 */
import { Effect, Schema } from "effect"
import type { Digest } from "effect/crypto"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { Guard } from "../../../src/agent/Guard.ts"
import { guards_max } from "../../../src/agent/Guard.ts"
import type { Declared } from "../../../src/agent/DeclaredAgent.ts"
import { providerToolId, providerToolsOf } from "../../../src/agent/ProviderTools.ts"
import type { AgentName } from "../../../src/value/Ids.ts"
import type { GovernedTool } from "../../../src/tool/GovernedTool.ts"
import type { GuardedText } from "../../../src/run/GuardVerdict.ts"
import {
  misplaced_secret,
  place_secret,
  secretMembers,
  withoutSecrets
} from "../../../src/run/RunContext.ts"
import type { DeclaredRoles } from "../../../src/principal/Rights.ts"
import { unknownRole } from "../../../src/principal/Rights.ts"
import { suggestNames } from "../../../src/value/Nearest.ts"
import { closedDecoder, jsonSchemaInput, plainDecoder } from "../../../src/tool/ToolCodec.ts"
import { groupOf, known_groups } from "../../../src/tool/ToolGroup.ts"
import { model_name_max } from "../../../src/tool/ToolSpec.ts"
import type { AgentGuards, ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ModelTool } from "../../../services/ModelGateway.ts"
import type { ToolRegistry } from "../../../services/ToolRegistry.ts"
import { digestedSpec, digestOf } from "../tool/CallDigests.ts"
import * as DeclaredTurns from "./DeclaredTurns.ts"

/**
 * An agent that cannot be right. `message` names the agent, the field and what is wrong there; `value` is what stands there, such
 * as the name of a tool that does not exist. It has no member `name`, which is the error's own.
 */
export class MisdeclaredAgent extends Schema.TaggedError<MisdeclaredAgent>()("MisdeclaredAgent", {
  /** The name of the agent. */
  agent: Schema.String,
  /** The member of its definition at fault. */
  field: Schema.String,
  /** What stands there, such as the name of a tool that does not exist. */
  value: Schema.String,
  /** What is wrong with it, and what to write instead. */
  message: Schema.String
}) {}

/** `problem` says what is wrong with the value. */
export const misdeclaredAgent = (
  agent: string,
  field: string,
  value: string,
  problem: string
): MisdeclaredAgent =>
  new MisdeclaredAgent({
    agent,
    field,
    value,
    message: `agent "${agent}", field "${field}": ${problem}`
  })

/** The model's name of the tool that hands the conversation over. */
const handoffName = (agent: AgentName): string => `transfer_to_${agent}`

/** The model's name of the tool that delegates to a specialist. */
const delegationName = (agent: AgentName): string => `ask_${agent}`

/** Why no model can be offered a tool of this name for another agent; undefined = it can. */
const tooLong = (tool: string, { name }: Pick<AgentSpec, "name">): string | undefined =>
  tool.length <= model_name_max
    ? undefined
    : `models know "${name}" as the tool ${tool}, and tools have names of at most ${model_name_max} characters: give it a shorter name`

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

interface Services {
  readonly declared_roles: DeclaredRoles
  readonly guards: ReadonlyArray<Guard>
  readonly registry: ToolRegistry["Service"]
  readonly digest: Digest.Digest["Service"]
  /** Is there a price table? */
  readonly isPriced: boolean
  /** Every agent of the directory, by name. */
  readonly specs: ReadonlyMap<string, AgentSpec>
}

const misdeclared = (spec: AgentSpec, field: string, value: string, problem: string) =>
  misdeclaredAgent(spec.name, field, value, problem)

const noAgent = ({ specs }: Services, name: string): string =>
  `there is no agent "${name}".${suggestNames(name, [...specs.keys()])}`

/** What is wrong with a definition. */
type Problem = readonly [field: string, value: string, problem: string]

const failFor = (spec: AgentSpec, problem: Problem | undefined) =>
  problem === undefined ? Effect.void : Effect.fail(misdeclared(spec, ...problem))

const limitsProblem = (
  { isPriced }: Services,
  { limits: { cost_max } }: AgentSpec
): Problem | undefined =>
  cost_max === undefined || isPriced
    ? undefined
    : ["limits.cost_max", cost_max, "a bound on cost needs prices: give the runtime a price table"]

const groupsProblem = (
  { declared_roles, registry }: Services,
  { groups, groups_by_role = {} }: AgentSpec
): Problem | undefined => {
  const roles = Object.keys(groups_by_role)
  const noRole = unknownRole(roles, declared_roles)
  if (noRole !== undefined) return ["groups_by_role", roles[noRole[0]] ?? "", noRole[1]]
  const known = new Set([...known_groups, ...registry.all.map((tool) => groupOf(tool.spec))])
  const byRole = Object.values(groups_by_role).flat()
  const named = { groups: groups ?? [], groups_by_role: byRole }
  for (const [field, given] of Object.entries(named)) {
    const unknown = given.find((group) => !known.has(group))
    if (unknown === undefined) continue
    return [
      field,
      unknown,
      `no tool is of the group "${unknown}".${suggestNames(unknown, [...known])}`
    ]
  }
  const odd = byRole.find((group) => groups !== undefined && !groups.includes(group))
  return odd === undefined
    ? undefined
    : [
        "groups_by_role",
        odd,
        `a role is given the group ${odd}, which is none of the agent's groups`
      ]
}

/** What the provider runs is declared, once each, and under names that are not those of the agent's tools. */
const providerToolsProblem = (
  spec: AgentSpec,
  modelTools: ReadonlyArray<ModelTool>
): Problem | undefined => {
  const seen = new Set<string>()
  for (const each of providerToolsOf(spec.provider_tools ?? [])) {
    const id = providerToolId(each)
    if (seen.has(id)) return ["provider_tools", id, `${id} is declared twice`]
    seen.add(id)
    if (modelTools.some(({ name }) => name === each.tool)) {
      const problem = `one of the agent's own tools has the name ${each.tool}: leave one of them out`
      return ["provider_tools", id, problem]
    }
  }
  return undefined
}

const toolOf = ({ registry }: Services, spec: AgentSpec, name: string) =>
  Effect.mapError(Effect.fromResult(registry.resolve(name)), ({ message }) =>
    misdeclared(spec, "tools", name, message)
  )

/** Tools by their plain names, without those of groups that the agent does not have. */
const toolsOf = Effect.fnUntraced(function* (services: Services, spec: AgentSpec) {
  const tools = new Map<string, GovernedTool<AgentMemory>>()
  for (const name of spec.tools) {
    const tool = yield* toolOf(services, spec, name)
    if (tools.has(tool.spec.name)) {
      const problem = `two tools have the plain name ${tool.spec.name}`
      return yield* misdeclared(spec, "tools", name, problem)
    }
    if (spec.groups !== undefined && !spec.groups.includes(groupOf(tool.spec))) continue
    tools.set(tool.spec.name, tool)
  }
  return tools
})

/** Has it neither tools nor others to delegate to? As a specialist it is left out: its supervisor can say whatever it would. */
const isIdle = ({ provider_tools = [], specialists, tools }: AgentSpec): boolean =>
  tools.length === 0 && provider_tools.length === 0 && specialists.length === 0

/** One warning for each specialist that its supervisor names and cannot delegate to. */
export const idleSpecialists = (agents: ReadonlyArray<ResolvedAgent>): ReadonlyArray<string> =>
  agents.flatMap(({ spec, specialists }) => {
    const known = new Set(specialists.values())
    return spec.specialists
      .filter((name) => !known.has(name))
      .map(
        (name) =>
          `${spec.name} cannot delegate to ${name}, which has no tools, and is not shown it: give ${name} tools, or name it in handoffs.`
      )
  })

/** Specialists by the names of the tools that delegate to them, with those tools. */
const specialistsOf = Effect.fnUntraced(function* (
  services: Services,
  spec: AgentSpec,
  tools: ReadonlyMap<string, GovernedTool<AgentMemory>>
) {
  const specialists = new Map<string, AgentName>()
  const delegations: Array<ModelTool> = []
  const [lent] = spec.specialist_capabilities ?? []
  if (lent !== undefined && spec.specialists.length === 0) {
    return yield* misdeclared(spec, "specialist_capabilities", lent, "it has no specialists")
  }
  for (const name of spec.specialists) {
    const specialist = services.specs.get(name)
    if (specialist === undefined) {
      return yield* misdeclared(spec, "specialists", name, noAgent(services, name))
    }
    if (isIdle(specialist)) continue
    const tool = delegationName(name)
    const wrong = specialists.has(tool)
      ? `"${name}" is named twice`
      : tools.has(tool)
        ? `a tool has its name, ${tool}`
        : tooLong(tool, specialist)
    if (wrong !== undefined) return yield* misdeclared(spec, "specialists", name, wrong)
    specialists.set(tool, name)
    delegations.push(delegation(specialist))
  }
  return { specialists, delegations }
})

const handoff = ({ description, name }: AgentSpec): ModelTool => ({
  name: handoffName(name),
  description:
    `Hand the conversation over to ${name}, who goes on with it in your place. ${description}`.trim(),
  input_schema: {
    type: "object",
    properties: {
      note: { type: "string", description: "What it should know beside the conversation." }
    },
    additionalProperties: false
  }
})

/** Agents that the conversation may be handed over to, by the names of the tools that do, with those tools. */
const handoffsOf = Effect.fnUntraced(function* (
  services: Services,
  spec: AgentSpec,
  taken: ReadonlySet<string>
) {
  const handoffs = new Map<string, AgentName>()
  const transfers: Array<ModelTool> = []
  for (const name of spec.handoffs ?? []) {
    const to = services.specs.get(name)
    const wrong =
      to === undefined
        ? noAgent(services, name)
        : name === spec.name
          ? "it is the agent itself"
          : handoffs.has(handoffName(name))
            ? `"${name}" is named twice`
            : taken.has(handoffName(name))
              ? `a tool has its name, ${handoffName(name)}`
              : tooLong(handoffName(name), to)
    if (to === undefined || wrong !== undefined) {
      return yield* misdeclared(spec, "handoffs", name, wrong ?? "")
    }
    handoffs.set(handoffName(name), to.name)
    transfers.push(handoff(to))
  }
  return { handoffs, transfers }
})

const shownToModel = ({ spec }: GovernedTool<AgentMemory>): ModelTool => ({
  name: spec.name,
  description: spec.description,
  input_schema: spec.input_schema
})

/** Reads what a message tells a run of the agent: all of it, with secrets, and what its functions may see. */
const contextOf = Effect.fnUntraced(function* (spec: AgentSpec, { context }: Declared) {
  if (context === undefined) return undefined
  const secrets = secretMembers(context)
  if (secrets === undefined) {
    return yield* misdeclared(spec, "context", spec.name, `${misplaced_secret}. ${place_secret}.`)
  }
  return {
    whole: { decode: closedDecoder(context), decodeWithExcess: plainDecoder(context), secrets },
    shown: { decode: plainDecoder(withoutSecrets(context, secrets)), secrets: [] }
  }
})

/** The functions of the agent, by the plain names of its tools, and the texts of their code, which the definition is pinned by. */
const turnPartsOf = Effect.fnUntraced(function* (
  services: Services,
  spec: AgentSpec,
  declared: Declared
) {
  const offers = new Map<string, Declared["offers"][string]>()
  for (const [name, offer] of Object.entries(declared.offers)) {
    const tool = yield* toolOf(services, spec, name)
    offers.set(tool.spec.name, offer)
  }
  const context = yield* contextOf(spec, declared)
  const { instructions } = declared
  return {
    context: context?.whole,
    code: [
      String(instructions),
      ...[...offers].map(([name, offer]) => `${name}: ${String(offer)}`)
    ],
    forTurn:
      instructions === undefined && offers.size === 0
        ? undefined
        : DeclaredTurns.make({
            digest: services.digest,
            instructions,
            offers,
            context: context?.shown
          })
  }
})

const guardsOf = (guards: ReadonlyArray<Guard>): AgentGuards => {
  const by = (text: GuardedText) => guards.filter(({ on }) => on.includes(text))
  const byText = { message: by("message"), result: by("result"), answer: by("answer") }
  return ({ on }) => byText[on]
}

/** Those of the start, then its own. */
const guardsFor = (
  { guards }: Services,
  { name }: AgentSpec,
  declared: Declared | undefined
): ReadonlyArray<Guard> => [
  ...guards.filter(({ agents }) => agents?.includes(name) !== false),
  ...(declared?.guards ?? [])
]

const guardsProblem = ({ length }: ReadonlyArray<Guard>): Problem | undefined =>
  length <= guards_max
    ? undefined
    : [
        "guards",
        String(length),
        `${length} guards judge its texts, with those of the start: at most ${guards_max} may`
      ]

const isHolding = ({ mode, on }: Guard): boolean => mode === "enforce" && on.includes("answer")

/** What the definition is pinned by. Functions count with their code, and guards with what is declared of them. */
const definitionOf = (
  spec: AgentSpec,
  parts: { readonly forTurn: unknown; readonly code: ReadonlyArray<string> } | undefined,
  guards: ReadonlyArray<Guard>
) => {
  const declared = parts?.forTurn === undefined ? spec : [spec, parts.code]
  return guards.length === 0
    ? declared
    : [declared, guards.map(({ mode, name, on }) => ({ mode, name, on }))]
}

/** Fails with the first thing that is wrong with the definition. */
export const resolveAgent = Effect.fnUntraced(function* (
  services: Services,
  spec: AgentSpec,
  declared?: Declared
) {
  const { digest } = services
  yield* failFor(spec, limitsProblem(services, spec) ?? groupsProblem(services, spec))
  const tools = yield* toolsOf(services, spec)
  const { delegations, specialists } = yield* specialistsOf(services, spec, tools)
  const governed = [...tools.values()]
  const taken = new Set([...tools.keys(), ...specialists.keys()])
  const { handoffs, transfers } = yield* handoffsOf(services, spec, taken)
  const modelTools = [...governed.map(shownToModel), ...delegations, ...transfers]
  yield* failFor(spec, providerToolsProblem(spec, modelTools))
  const takes =
    spec.takes === undefined
      ? undefined
      : yield* Effect.mapError(jsonSchemaInput(spec.name, spec.takes), ({ message }) =>
          misdeclared(spec, "takes", spec.name, message)
        )
  const parts = declared === undefined ? undefined : yield* turnPartsOf(services, spec, declared)
  const guards = guardsFor(services, spec, declared)
  yield* failFor(spec, guardsProblem(guards))
  const agent: ResolvedAgent = {
    spec,
    tools,
    specialists,
    ...(handoffs.size === 0 ? undefined : { handoffs }),
    modelTools,
    ...(takes === undefined ? undefined : { takes: takes.decode }),
    ...(parts?.context === undefined ? undefined : { context: parts.context }),
    ...(parts?.forTurn === undefined ? undefined : { forTurn: parts.forTurn }),
    ...(guards.length === 0 ? undefined : { guards: guardsOf(guards) }),
    ...(guards.some(isHolding) ? { holdsAnswers: true } : undefined),
    ...(declared?.title === undefined ? undefined : { title: declared.title }),
    pins: {
      definition: yield* digestOf(digest, definitionOf(spec, parts, guards)),
      tools: yield* digestOf(
        digest,
        governed.map((tool) => digestedSpec(tool.spec))
      )
    }
  }
  return agent
})
