/**
 * Groups of tools by purpose, under names of the application's own; SemStreams' categories are six of them. They choose the tools for a role. A group grants nothing, and is
 * unrelated to the `category` that follows from side effects.
 */
import { Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import { ToolPolicyError } from "../error/ToolError.ts"
import type { Roles } from "../principal/Principal.ts"
import { hasRole, Role } from "../principal/Principal.ts"

export const ToolGroup = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,62}$/, { description: "a lower-case name such as inspect" })
)
export type ToolGroup = typeof ToolGroup.Type

/** The groups of SemStreams' own tools (its `categories.go`). An application has others beside them. */
const known: Readonly<Record<string, ReadonlyArray<string>>> = {
  core: ["submit_work", "write_todos", "github_init", "github_client"],
  knowledge: ["graph_query", "graph_search", "graph_summary", "github_read"],
  network: ["web_search", "http_request"],
  inspect: ["bash", "github_write"],
  orchestration: ["spawn_agent", "decompose_task", "ask_question", "answer_question"],
  meta: [
    "create_rule",
    "update_rule",
    "delete_rule",
    "create_flow",
    "deploy_flow",
    "start_flow",
    "stop_flow",
    "undeploy_flow"
  ]
}

/** SemStreams' six. */
export const known_groups: ReadonlyArray<ToolGroup> = Object.keys(known)

const byName: ReadonlyMap<string, ToolGroup> = new Map(
  Object.entries(known).flatMap(([group, names]) => names.map((name) => [name, group] as const))
)

/** The declared group of a tool, else the one that its name has in SemStreams, else `core`. */
export const groupOf = (tool: { readonly name: string; readonly group?: ToolGroup }): ToolGroup =>
  tool.group ?? byName.get(tool.name) ?? "core"

/**
 * The groups for an agent that only explores. They contain no tools for execution, orchestration or changes to rules and flows.
 */
export const read_only_groups: ReadonlyArray<ToolGroup> = ["core", "knowledge", "network"]

/** Lists the groups of each role. A role without an entry has none. */
export const GroupsByRole = Schema.Record(
  Role,
  Schema.Array(ToolGroup).check(Schema.isMaxLength(64))
)
export type GroupsByRole = typeof GroupsByRole.Type

/** The groups of any of these roles. */
export const groupsFor = (byRole: GroupsByRole, roles: Roles | undefined): ReadonlySet<ToolGroup> =>
  new Set(
    Object.entries(byRole).flatMap(([role, groups]) => (hasRole(roles, [role]) ? groups : []))
  )

/** The error for a call to a tool whose group is not listed for the sender's roles. The model reads neither. */
export const groupDenied = (tool: string): ToolPolicyError =>
  new ToolPolicyError({
    kind: "permission",
    reason: "ROLE_DENIED",
    message: `"${truncateUnits(tool, 64)}" is not for whoever sent the message.`
  })
