/**
 * The agents of one runtime, each with the tools it may use. Checked at start: every name resolves.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentSpec } from "../src/agent/AgentSpec.ts"
import type { Guard } from "../src/agent/Guard.ts"
import type { Budget } from "../src/cost/Budget.ts"
import type { AgentName } from "../src/value/Ids.ts"
import type { JudgedRun } from "../src/permission/Policy.ts"
import type { Principal } from "../src/principal/Principal.ts"
import { isLimitedToOwn } from "../src/principal/Rights.ts"
import type { GuardedPlace } from "../src/run/GuardVerdict.ts"
import type { Need } from "../src/run/Needs.ts"
import { toolOf, versionOf } from "../src/run/Needs.ts"
import type { ContextReader } from "../src/run/RunContext.ts"
import type { Pins, TurnInputs } from "../src/run/RunEvent.ts"
import type { GovernedTool } from "../src/tool/GovernedTool.ts"
import { readOnlyHintOf } from "../src/tool/SideEffects.ts"
import type { InputCodec } from "../src/tool/ToolCodec.ts"
import type { AgentMemory } from "./AgentMemory.ts"
import type { ModelTool } from "./ModelGateway.ts"

/** An agent of this process with its tools and specialists found. */
export interface ResolvedAgent {
  /** Its definition. */
  readonly spec: AgentSpec
  /** The agent's tools by the name that the model uses. */
  readonly tools: ReadonlyMap<string, GovernedTool<AgentMemory>>
  /** The names of the agent's other tools, which the sender of the message may not use. Absent = there are none. */
  readonly withheld?: ReadonlySet<string>
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
  /** Digests of the definition and of its tools. */
  readonly pins: Pins
  /** Makes the title of a conversation from its first message; it may throw. Absent = its first words. */
  readonly title?: (message: { readonly text: string }) => unknown
  /** The budgets that its turns are under: those of the runtime, then its own. Absent = none. */
  readonly budgets?: ReadonlyArray<Budget>
  /** Decodes the context that messages carry for its runs. Absent = the agent declares no context. */
  readonly context?: ContextReader & {
    /** As `decode`, for runs that begin with another agent, whose context may have more members. */
    readonly decodeWithExcess: ContextReader["decode"]
  }
  /** The guards of its texts, in the order in which they judge. Absent = it has none. */
  readonly guards?: AgentGuards
  /** One of them may refuse or change its answers: nothing of a turn is shown before, and no result is an answer. Absent = none. */
  readonly holdsAnswers?: true
  /**
   * This agent, or a copy of it, with the instructions and tools of one turn of a run: calls the agent's functions, and throws
   * what they throw. Absent = every turn has the same instructions and tools.
   */
  readonly forTurn?: (agent: ResolvedAgent, run: Omit<JudgedRun, "agent">) => AgentOfTurn
}

/** The guards that judge a text. */
export type AgentGuards = (place: GuardedPlace) => ReadonlyArray<Guard>

/** The guards of this start, in the order in which they judge; none by default. */
export const DeclaredGuards: Context.Reference<ReadonlyArray<Guard>> = Context.Reference<
  ReadonlyArray<Guard>
>("troupe/services/DeclaredGuards", { defaultValue: () => [] })

/** An agent with the instructions of one turn and the tools that it is offered in it. */
export interface AgentOfTurn {
  /** The agent. */
  readonly agent: ResolvedAgent
  /** What its functions gave for the turn, as the journal has it. */
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

/** The agents that this process hosts. */
export class AgentDirectory extends Context.Service<
  AgentDirectory,
  {
    /** The agent of this name; undefined = this process has none. */
    get(name: string): ResolvedAgent | undefined
    /** Sorted by name. */
    readonly all: ReadonlyArray<ResolvedAgent>
  }
>()("troupe/services/AgentDirectory") {}
