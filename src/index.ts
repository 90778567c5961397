/**
 * The facts of Troupe: what declares agents, tools, policies, limits and prices; ids, events and errors. The facade for a Node
 * service is in `troupe/embed`, ports and the shapes they speak of are in `troupe/services`, and the Layers that implement them
 * in `troupe/layers`, `troupe/http` and `troupe/models`.
 */

// Agents and their limits.
export { agent } from "./agent/DeclaredAgent.ts"
export type { AgentOptions, DeclaredAgent, TurnRun } from "./agent/DeclaredAgent.ts"
export { AgentKind } from "./agent/AgentSpec.ts"
export {
  AgentNotFound,
  AgentSpec,
  CompactionPolicy,
  MailboxPolicy,
  OnChange,
  Supervision
} from "./agent/AgentSpec.ts"
export * as Guard from "./agent/Guard.ts"
export { ModelSettings, OutputFormat, ToolChoice } from "./agent/ModelSettings.ts"
export { MemorySpec } from "./memory/MemoryAnchors.ts"
export * as Graph from "./graph/ToolGraph.ts"
export type { RunContext } from "./run/RunContext.ts"
export { OnBreach, RunLimits } from "./run/RunLimits.ts"
export * as PriceTable from "./cost/PriceTable.ts"

// Tools.
export { tool } from "./tool/DeclaredTool.ts"
export type { DeclaredTool, ToolOptions } from "./tool/DeclaredTool.ts"
export { govern, MisdeclaredTool } from "./tool/GovernedTool.ts"
export type {
  CallContext,
  CallOfRun,
  FamilyGovernance,
  GovernedContext,
  GovernedTool,
  Governance,
  Intercepted,
  Interceptor,
  Precondition,
  Reconciled,
  ToolHandler
} from "./tool/GovernedTool.ts"
export { wrap } from "./tool/DeclaredTool.ts"
export { Circuit, CostEstimate, OnLoss, RateLimit, ToolExample, ToolSpec } from "./tool/ToolSpec.ts"
export type { RetryConfig, RetryPolicy } from "./tool/RetryPolicy.ts"
export { ApprovalGate, ReplayPolicy, SideEffects, ToolCategory } from "./tool/SideEffects.ts"
export { PluginManifest, PluginRefused } from "./tool/ToolPlugin.ts"
export type { ToolPlugin } from "./tool/ToolPlugin.ts"
export { originOfCall } from "./memory/MemoryRow.ts"
export * as Capability from "./capability/Capability.ts"
export * as CallTarget from "./call/CallTarget.ts"
export type { HostContext } from "./call/HostContext.ts"
export type { PlatformOp } from "./call/PlatformOp.ts"
export type { ToolConfig } from "./call/ToolConfig.ts"
export { ToolConfigRefused } from "./call/ToolConfig.ts"
export * as Mcp from "./mcp/McpServer.ts"

// Policies, and what people are asked.
export { PermissionMode, Policy, no_policy, policyOf } from "./permission/Policy.ts"
export { PermissionRule } from "./permission/PermissionRule.ts"
export { MisdeclaredPolicy } from "./permission/PolicyCheck.ts"
export type { CallPermission, JudgedRun } from "./permission/Policy.ts"
export { Permission } from "./tool/SideEffects.ts"
export {
  Approval,
  ApprovalAltered,
  ApprovalExpired,
  ApprovalNotFound,
  ApprovalSettled,
  ClientResult,
  ClientResultRefused,
  Decision,
  DecisionUnfit
} from "./approval/Approval.ts"

// Principals and ids.
export { NotEntitled } from "./principal/NotEntitled.ts"
export { Principal, Role } from "./principal/Principal.ts"
export type { PrincipalInput } from "./principal/Principal.ts"
export {
  Address,
  AgentName,
  ApprovalId,
  AuthorizationId,
  CallId,
  ConversationId,
  FrameId,
  MessageId,
  RunId,
  Tenant,
  TokenId
} from "./value/Ids.ts"

// What happens in a run.
export { EndStatus, Outcome, RunEvent, Usage } from "./run/RunEvent.ts"
export type {
  ApprovalDecided,
  ApprovalRequested,
  CallDispatched,
  CallSettled,
  ClientRequested,
  Compacted,
  HandedOff,
  JournalEntry,
  MemoryRecalled,
  ModelTurned,
  RunAccepted,
  RunEnded,
  RunStopping
} from "./run/RunEvent.ts"

// Other errors.
export {
  ToolError,
  ToolPolicyError,
  ToolTerminalError,
  ToolTransientError,
  ToolUserError
} from "./error/ToolError.ts"
export { ConversationNotFound } from "./conversation/Conversation.ts"
export { RunIsOver, RunNotFound } from "./run/RunCommand.ts"
export { InvalidInput } from "./schema/InvalidInput.ts"
