/**
 * The facts of Troupe: shapes and pure rules. Ports are in `troupe/services/*`, answers in `troupe/layers/*`, the facade
 * for a Node service in `troupe/embed`.
 */
export * from "./agent/AgentSpec.ts"
export * from "./approval/Approval.ts"
export * from "./Canonical.ts"
export * as Classify from "./error/Classify.ts"
export * from "./error/ToolError.ts"
export * from "./conversation/Conversation.ts"
export * from "./conversation/Transcript.ts"
export * as AgentTasks from "./delivery/AgentTask.ts"
export * as Outbox from "./delivery/Outbox.ts"
export * from "./Ids.ts"
export * from "./Principal.ts"
export * as RunCommand from "./run/RunCommand.ts"
export * as RunConclusion from "./run/RunConclusion.ts"
export * as RunDecider from "./run/RunDecider.ts"
export * from "./run/RunEvent.ts"
export * from "./run/RunLimits.ts"
export * as RunState from "./run/RunState.ts"
export * as RunWork from "./run/RunWork.ts"
export * from "./tool/GovernedTool.ts"
export * from "./tool/ToolSpec.ts"
