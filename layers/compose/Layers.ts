/**
 * The package's entry `troupe/layers`: the Layers from which an Effect program composes a runtime, and their settings.
 */
export * as WebhookDelivery from "../channel/WebhookDelivery.ts"
export * as ImportedMcpServers from "../mcp/ImportedMcpServers.ts"
export * as CallRecorder from "../runtime/desk/CallRecorder.ts"
export { ToolQueueConfig } from "../runtime/queue/ToolQueueConfig.ts"
export { RelayConfig } from "../runtime/relay/OutboxRelay.ts"
export { RuntimeConfig } from "../runtime/actor/RuntimeConfig.ts"
export * as ModelUsageTelemetry from "../telemetry/ModelUsageTelemetry.ts"
export * as OpenTelemetry from "../telemetry/OpenTelemetry.ts"
export * as ToolCallTelemetry from "../telemetry/ToolCallTelemetry.ts"
export * as UnhostedTelemetry from "../telemetry/UnhostedTelemetry.ts"
export * as UnknownCallsTelemetry from "../telemetry/UnknownCallsTelemetry.ts"
export * as NodeMain from "./NodeMain.ts"
export * as Runtime from "./Runtime.ts"
export * as Stores from "./Stores.ts"
export * as ToolWorker from "./ToolWorker.ts"
