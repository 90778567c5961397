/**
 * The package's entry `troupe/layers`: `Troupe.layer`, the runtime of an Effect program, and what is put above and beneath it:
 * channels, webhooks, metrics and settings.
 */
export * as EmailChannel from "../../channel/EmailChannel.ts"
export { NotificationConfig } from "../../channel/NotificationService.ts"
export type { ChannelAdapter, Outgoing } from "../../channel/NotificationService.ts"
export * as SlackChannel from "../../channel/slack/SlackChannel.ts"
export * as SlackIngress from "../../channel/slack/SlackIngress.ts"
export * as WebhookDelivery from "../../channel/WebhookDelivery.ts"
export { Retention, RetentionConfig } from "../../memory/MemoryRetention.ts"
export { ToolQueueConfig } from "../../runtime/queue/ToolQueueConfig.ts"
export { RelayConfig } from "../../runtime/relay/OutboxRelay.ts"
export { RuntimeConfig } from "../../runtime/actor/RuntimeConfig.ts"
export * as ModelUsageTelemetry from "../../telemetry/ModelUsageTelemetry.ts"
export * as ToolCallTelemetry from "../../telemetry/ToolCallTelemetry.ts"
export * as NodeMain from "./NodeMain.ts"
export * as ToolWorker from "../assembly/ToolWorker.ts"
export { Troupe } from "./Troupe.ts"
export { agentTool, answerApproval, approvalRequests, runResultTool } from "./AgentTools.ts"
export type { AgentToolOptions, ToolOfAgent } from "./AgentTools.ts"
export { Governed, importToolkit } from "../../../src/tool/ImportedToolkit.ts"
export type {
  AnnotatedGovernance,
  ImportedGovernance,
  ImportOptions
} from "../../../src/tool/ImportedToolkit.ts"
export type { AnyFailures, Failures, FailureTable } from "../../../src/tool/ToolkitFailures.ts"
export type { Ports, StorePorts } from "../options/Feature.ts"
// The members of StartError, so that an application can export its Layer.
export type { ModelError } from "../../../services/ModelGateway.ts"
export type { JournalError } from "../../../services/RunJournal.ts"
export type { StoreError } from "../../../services/StoreError.ts"
export type { GraphRefused } from "../../../src/graph/ToolGraph.ts"
export type { McpServerRefused } from "../../../src/mcp/McpServer.ts"
export type { DuplicateTool, EmptyFamily } from "../../../src/tool/Registry.ts"
export type { ListenFailed } from "../../http/server/NodeServer.ts"
export type { McpClientMissing, McpServerUnavailable } from "../../mcp/McpUnavailable.ts"
export type { MisdeclaredAgent } from "../../runtime/directory/ResolvedAgent.ts"
export type { DuplicateDeliveryHandler } from "../../runtime/relay/MergedDeliveryHandlers.ts"
export type { LayerOptions, StartError, TroupeService } from "./Troupe.ts"
