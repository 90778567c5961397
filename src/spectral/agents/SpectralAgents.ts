/**
 * The Spectral Agent, with which customers talk about their workspace: a supervisor without tools, and specialists that have
 * them. Each specialist is a frame of the supervisor's run. Those of `SA-09` to `SA-12` only read; changes are the work of one
 * more, `change-manager`, and each of them asks a person. A conversation is an address; memory belongs to the workspace, which
 * is the tenant.
 */
import { Result, Schema } from "effect"
import { spectralKinds } from "./SpectralKinds.ts"
import { AgentSpec } from "../../agent/AgentSpec.ts"
import { AgentName } from "../../value/Ids.ts"
import type { AutonomyMode } from "../platform/contracts/PlatformEvent.ts"
import { MemorySpec } from "../../memory/MemoryAnchors.ts"
import { RunLimits } from "../../run/RunLimits.ts"
import { specialistPrompts, supervisorPrompt } from "./SpectralPrompts.ts"

export const SpecialistName = Schema.Literals([
  "scan-analyst",
  "onboarding-guide",
  "framework-advisor",
  "troubleshooter",
  "change-manager"
])
export type SpecialistName = typeof SpecialistName.Type

/** The tools of each specialist, by their plain names. */
export const specialistTools = {
  "scan-analyst": [
    "list_recent_scans",
    "get_scan_detail",
    "get_scan_scores",
    "get_changeset_detail"
  ],
  "onboarding-guide": ["get_onboarding_status", "get_trace_ingestion_guide"],
  "framework-advisor": [
    "get_framework_config",
    "get_rubrics",
    "get_world_model_context",
    "get_system_card",
    "get_evaluation_framework_provenance"
  ],
  troubleshooter: ["diagnose_scan_failure", "check_workspace_health", "get_recent_errors"],
  "change-manager": ["apply_changeset", "update_framework", "change_configuration"]
} as const satisfies Readonly<Record<SpecialistName, ReadonlyArray<string>>>

/** The tools that change something. Each is one action type, which a workspace may authorise in advance. */
export const changeTools: ReadonlyArray<string> = specialistTools["change-manager"]

const descriptions: Readonly<Record<SpecialistName, string>> = {
  "scan-analyst":
    "Scans: which there are, what they found, how they scored, what changed between two, and what a change set contains.",
  "onboarding-guide":
    "Setting a workspace up: which steps are done, what is next, how traces are sent.",
  "framework-advisor":
    "How the workspace is judged: framework, rubrics, world model, system card, and where they come from.",
  troubleshooter:
    "What does not work and why: failed scans, the workspace's health, recent errors.",
  "change-manager":
    "Carries out a change that the customer has asked for: applies a change set, updates a framework, changes a configuration. The customer is asked before it takes effect."
}

/** A specialist was given a tool that is not in its table. */
export class ForeignTool extends Schema.TaggedError<ForeignTool>()("ForeignTool", {
  specialist: SpecialistName,
  tool: Schema.String
}) {
  override get message(): string {
    return `${this.specialist} has no tool ${JSON.stringify(this.tool)}: its tools are ${specialistTools[this.specialist].join(", ")}`
  }
}

export interface Options {
  /**
   * The most that it does, whatever a workspace's `autonomy_mode` says: with `observe_only` it has no `change-manager`. The
   * other two are the same here: each change asks a person, unless the workspace authorised it in advance. A workspace that is
   * itself in `observe_only` has no change set applied and no framework updated, whatever this says. Absent = `propose`.
   */
  readonly autonomy?: AutonomyMode
  /** The tools that there are for a specialist, of those in its table; absent = all of them. Without any it is left out. */
  readonly tools?: Readonly<Partial<Record<SpecialistName, ReadonlyArray<string>>>>
}

export const spectral_name: AgentName = AgentName.make("spectral")

const specialist = (name: SpecialistName, tools: ReadonlyArray<string>): AgentSpec =>
  AgentSpec.make({
    name: AgentName.make(name),
    kind: spectralKinds.spectral,
    description: descriptions[name],
    instructions: specialistPrompts[name],
    tools
  })

const supervisor = (mode: AutonomyMode, specialists: ReadonlyArray<AgentName>): AgentSpec =>
  AgentSpec.make({
    name: spectral_name,
    kind: spectralKinds.spectral,
    description: "Answers customers about their workspace, with the help of its specialists.",
    instructions: supervisorPrompt(mode === "observe_only"),
    specialists,
    // A customer gets an answer even where the run may take no more steps.
    limits: RunLimits.make({ delegations_per_turn_max: 2, depth_max: 1, on_breach: "answer" }),
    memory: MemorySpec.make({ anchor: spectralKinds.spectral.scope })
  })

/** The supervisor first, then its specialists. */
export const spectralAgents = ({ autonomy = "propose", tools = {} }: Options = {}): Result.Result<
  ReadonlyArray<AgentSpec>,
  ForeignTool
> => {
  const specialists: Array<AgentSpec> = []
  for (const name of SpecialistName.literals) {
    const table: ReadonlyArray<string> = specialistTools[name]
    const given = tools[name] ?? table
    const foreign = given.find((tool) => !table.includes(tool))
    if (foreign !== undefined) {
      return Result.fail(new ForeignTool({ specialist: name, tool: foreign }))
    }
    if (given.length === 0 || (name === "change-manager" && autonomy === "observe_only")) continue
    specialists.push(specialist(name, given))
  }
  const names = specialists.map((each) => each.name)
  return Result.succeed([supervisor(autonomy, names), ...specialists])
}
