/**
 * The agents of one runtime, each with the tools it may use. Checked at start: every name resolves.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentSpec } from "../src/agent/AgentSpec.ts"
import type { AgentName } from "../src/value/Ids.ts"
import type { JudgedRun } from "../src/permission/Policy.ts"
import type { Principal } from "../src/principal/Principal.ts"
import { isLimitedToOwn } from "../src/principal/Rights.ts"
import type { Need } from "../src/run/Needs.ts"
import { toolOf, versionOf } from "../src/run/Needs.ts"
import type { ContextReader } from "../src/run/RunContext.ts"
import type { Pins, TurnInputs } from "../src/run/RunEvent.ts"
import type { GovernedTool } from "../src/tool/GovernedTool.ts"
import { readOnlyHintOf } from "../src/tool/SideEffects.ts"
import type { ToolGroup } from "../src/tool/ToolGroup.ts"
import type { InputCodec } from "../src/tool/ToolCodec.ts"
import type { AgentMemory } from "./AgentMemory.ts"
import type { ModelTool } from "./ModelGateway.ts"

export interface ResolvedAgent {
  readonly spec: AgentSpec
  /** The agent's tools by the name that the model uses. */
  readonly tools: ReadonlyMap<string, GovernedTool<AgentMemory>>
  /** The groups of the agent's other tools, by name, which the sender of the message may not use. Absent = there are none. */
  readonly withheld?: ReadonlyMap<string, ToolGroup>
  /** Specialists by the name of the tool that delegates to them, `ask_<name>`. */
  readonly specialists: ReadonlyMap<string, AgentName>
  /**
   * Agents to which it may hand the conversation over, by the name of the tool that does so, `transfer_to_<name>`. Absent = none.
   */
  readonly handoffs?: ReadonlyMap<string, AgentName>
  /** Decodes the arguments with which another agent delegates to this one, if its spec declares them. */
  readonly takes?: InputCodec["decode"]
  /** The tools as the model is shown them, built once. */
  readonly modelTools: ReadonlyArray<ModelTool>
  readonly pins: Pins
  /** Decodes the context that messages carry for its runs. Absent = the agent declares no context. */
  readonly context?: ContextReader & {
    /** As `decode`, for runs that begin with another agent, whose context may have more members. */
    readonly decodeWithExcess: ContextReader["decode"]
  }
  /**
   * This agent, or a copy of it, with the instructions and tools of one turn of a run: calls the agent's functions, and throws
   * what they throw. Absent = every turn has the same instructions and tools.
   */
  readonly forTurn?: (agent: ResolvedAgent, run: Omit<JudgedRun, "agent">) => AgentOfTurn
}

/** An agent with the instructions of one turn and the tools that it is offered in it. */
export interface AgentOfTurn {
  readonly agent: ResolvedAgent
  readonly inputs: Effect.Effect<TurnInputs>
}

/** The agents that customers may talk to; none by default. */
export const CustomerAgents: Context.Reference<ReadonlyArray<AgentName>> = Context.Reference<
  ReadonlyArray<AgentName>
>("troupe/services/CustomerAgents", { defaultValue: () => [] })

/**
 * What a process with these agents hosts: each agent, this version of it, and those of its tools that declare side effects other
 * than reading.
 */
export const hostedBy = (agents: ReadonlyArray<ResolvedAgent>): ReadonlyArray<Need> =>
  agents.flatMap(({ pins, spec, tools }) => [
    spec.name,
    versionOf(spec.name, pins),
    ...[...tools.values()]
      .filter((tool) => readOnlyHintOf(tool.spec.side_effects) === false)
      .map(({ key }) => toolOf(spec.name, key))
  ])

/**
 * The agents that the principal may know of; undefined = all. For a customer these are the agents for customers and their
 * specialists.
 */
export const knownTo = (
  directory: Pick<AgentDirectory["Service"], "get">,
  by: Principal,
  customer_agents: ReadonlyArray<AgentName>
): ReadonlyArray<AgentName> | undefined => {
  if (!isLimitedToOwn(by, "follow")) return undefined
  // Iterating a set also visits what is added meanwhile: specialists may have specialists.
  const known = new Set(customer_agents)
  for (const name of known) {
    for (const specialist of directory.get(name)?.specialists.values() ?? []) known.add(specialist)
  }
  return [...known]
}

export class AgentDirectory extends Context.Service<
  AgentDirectory,
  {
    get(name: string): ResolvedAgent | undefined
    /** Sorted by name. */
    readonly all: ReadonlyArray<ResolvedAgent>
  }
>()("troupe/services/AgentDirectory") {}
