/**
 * The operations on tools: those of the service and the policy that judges their calls, and those that others run: workers, and MCP
 * servers with the definitions that are accepted of them.
 */
import { Schema } from "effect"
import { Name, Word } from "../entry/ArgumentReaders.ts"
import { McpPin, McpServerStatus } from "../mcp/McpPin.ts"
import { Policy } from "../permission/Policy.ts"
import { PolicyInput } from "../permission/PolicyInput.ts"
import { Role } from "../principal/Principal.ts"
import { Idempotency } from "../tool/Idempotency.ts"
import { ToolListing } from "../tool/Registry.ts"
import { Permission, SideEffects, ToolCategory } from "../tool/SideEffects.ts"
import { OnLoss } from "../tool/ToolSpec.ts"
import { AgentName, CallId, RunId } from "../value/Ids.ts"
import { JsonObject } from "../value/JsonObject.ts"
import { operation } from "./Operation.ts"
import { Limit, Moment, orderedRange } from "./Page.ts"

const Tool = Schema.Struct({
  name: Schema.String,
  key: Schema.String,
  description: Schema.String,
  /** The plugin or server that it comes from, such as `mcp:github`; `internal` = the program. */
  provider: Schema.String,
  available: Schema.Boolean,
  deprecated: Schema.Boolean,
  side_effects: SideEffects,
  category: ToolCategory,
  /** What the policy says of its calls; `by_call` = that depends on a call's arguments or its sender. */
  permission: Schema.Literals(["allow", "ask", "deny", "by_call"]),
  /** Who may decide about its calls; empty = any approver or operator. */
  approvers: Schema.Array(Role),
  /** How long a question waits, in ms. Absent = it never expires. */
  approval_expires_ms: Schema.optionalKey(Schema.Int),
  /** May its calls be authorised in advance? */
  can_be_authorized: Schema.Boolean,
  /** Calls with the same key are one side effect. Absent = each call is one of its own. */
  idempotency: Schema.optionalKey(Idempotency),
  /** What becomes of a call whose outcome got lost: it runs `again`, the tool is asked, or it is `unknown`. */
  on_loss: OnLoss,
  timeout_ms: Schema.Int,
  /** The capabilities that an agent must have for it. */
  capabilities: Schema.Array(Schema.String),
  /** JSON Schema of a call's arguments. */
  input_schema: JsonObject,
  /** The agents that have it. */
  agents: Schema.Array(AgentName)
}).annotate({ identifier: "Tool" })

export const list = operation({
  id: "list",
  name: "tools",
  method: "GET",
  path: "/v1/tools",
  success: Schema.Struct({ items: Schema.Array(Tool) }),
  right: "inspect",
  gives: "items",
  summary: "Tools, by key, with what the policy says of their calls"
})

export const policy = operation({
  id: "policy",
  name: "policy",
  method: "GET",
  path: "/v1/policy",
  success: Schema.Struct({
    /** The version that questions name. */
    version: Schema.String,
    policy: Policy,
    /** What of the policy has no effect, or lets everything run. */
    warnings: Schema.Array(Schema.String)
  }),
  right: "inspect",
  summary: "The policy in force",
  description:
    "It is the same for all tenants, and holds from the start of a process to its end: a changed one comes with the next start."
})

const Counts = Schema.Struct({ allow: Schema.Int, ask: Schema.Int, deny: Schema.Int }).annotate({
  identifier: "CallCounts"
})

export const tryPolicy = operation({
  id: "tryPolicy",
  name: "tryPolicy",
  method: "POST",
  path: "/v1/policy/trial",
  payload: Schema.Struct({
    /** The policy that is tried, as options have it. Absent = the one in force. */
    policy: Schema.optionalKey(PolicyInput),
    /** Only runs of this agent, as the list of runs has them. */
    agent: Schema.optionalKey(AgentName),
    /** Only runs that were accepted at or after this, in ms since 1970. */
    created_from: Schema.optionalKey(Moment),
    /** Only runs that were accepted before this. */
    created_to: Schema.optionalKey(Moment),
    /** How many runs are read, newest first: 1 to 500, by default 50. */
    limit: Schema.optionalKey(Limit),
    /** Goes on behind this run. */
    after: Schema.optionalKey(RunId)
  }).check(orderedRange("created_from", "created_to")),
  success: Schema.Struct({
    /** How many runs were read. */
    runs: Schema.Int,
    /** Calls that reached the policy, of tools that there still are. */
    calls: Schema.Int,
    /** What became of them. */
    was: Counts,
    /** What the policy says of them. */
    now: Counts,
    /** Calls of tools that there are no more. */
    unknown: Schema.Int,
    /** Calls of which the policy says something else than became of them. */
    changed: Schema.Int,
    /** The same by agent and tool, the most called first; at most 1,000. */
    items: Schema.Array(
      Schema.Struct({ agent: AgentName, tool: Schema.String, was: Counts, now: Counts })
    ),
    /** The changed calls, the newest runs first; at most 200. */
    changes: Schema.Array(
      Schema.Struct({
        run_id: RunId,
        call: CallId,
        agent: AgentName,
        tool: Schema.String,
        was: Permission,
        now: Permission
      })
    ),
    /** Runs that could not be read: in quarantine, erased, or of more than 2,000,000 characters. */
    left_out: Schema.Array(RunId),
    /** The last run, where there are older ones. */
    next_after: Schema.optionalKey(RunId)
  }),
  right: "inspect",
  summary: "What a policy says of past calls, and what became of them",
  description:
    "Nothing runs and nothing is changed. Forks are left out, whose calls nobody made. A policy is judged with today's tools."
})

/** The calls of a tool or of a day. */
const Times = Schema.Struct({
  /** The tool's name as models call it, or a day in UTC such as `2026-11-30`. */
  key: Schema.String,
  /** Calls whose body ran, with those that were tried again. */
  calls: Schema.Int,
  failed: Schema.Int,
  /** Calls that were refused, have expired or were left. */
  refused: Schema.Int,
  /** Half of the calls took no longer, in ms. Absent = none ran. */
  median_ms: Schema.optionalKey(Schema.Int),
  /** Of twenty calls, nineteen took no longer. */
  slow_ms: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "ToolTimes" })

export const times = operation({
  id: "times",
  name: "toolTimes",
  method: "GET",
  path: "/v1/tool-times",
  query: Schema.Struct({
    /** Absent = `tool`. */
    by: Schema.optionalKey(Schema.Literals(["tool", "day"])),
    /** Only calls that ended at or after this, in ms since 1970. Absent = a day ago. */
    from: Schema.optionalKey(Moment)
  }),
  success: Schema.Struct({
    items: Schema.Array(Times),
    /** Present = there are older ones, which were not looked at. */
    is_cut: Schema.optionalKey(Schema.Literal(true))
  }),
  right: "inspect",
  summary:
    "How many of the last 2,000 recorded calls failed, and how long they took, by tool or day",
  description: "Calls are recorded where the service was started with `observe: { record: true }`."
})

export const workers = operation({
  id: "workers",
  name: "workerTools",
  method: "GET",
  path: "/v1/worker-tools",
  success: Schema.Struct({ items: Schema.Array(ToolListing) }),
  right: "inspect",
  gives: "items",
  summary: "Tools that workers offer to run, by name"
})

export const servers = operation({
  id: "servers",
  name: "mcpServers",
  method: "GET",
  path: "/v1/mcp-servers",
  success: Schema.Struct({ items: Schema.Array(McpServerStatus) }),
  right: "acceptMcpTool",
  gives: "items",
  summary: "MCP servers, what they offer, and what of it is accepted"
})

export const accept = operation({
  id: "accept",
  name: "acceptMcpTool",
  method: "POST",
  path: "/v1/mcp-servers/accept",
  payload: Schema.Struct({ server: Word, tool: Name, hash: Word }),
  success: McpPin,
  problems: [404, 409],
  right: "acceptMcpTool",
  args: ["server", "tool", "hash"],
  summary: "Accept the definition that a server offers now, by its hash",
  description: "For all tenants of the store. It is used from the next start on."
})
