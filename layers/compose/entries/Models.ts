/**
 * The package's entry `troupe/models`: implementations of the port `ModelGateway`, and wrappers around them. A provider's client
 * is loaded only when it is chosen.
 */
export * as AiSdkModelGateway from "../../model/providers/AiSdkModelGateway.ts"
export * as CassetteModelGateway from "../../model/tape/CassetteModelGateway.ts"
export { fileTape, memoryTape } from "../../model/tape/CassetteTape.ts"
export * as ChosenModels from "../../model/providers/ChosenModels.ts"
export * as GptTokenizer from "../../model/providers/GptTokenizer.ts"
export * as GraphModelGateway from "../../model/tape/GraphModelGateway.ts"
export * as LanguageModelGateway from "../../model/providers/LanguageModelGateway.ts"
export { metered } from "../../model/providers/MeteredModels.ts"
export * as ModelFromEnv from "../../model/providers/ModelFromEnv.ts"
export type { ModelPlan } from "../../model/plan/ModelPlan.ts"
export { gatewayOf } from "../../model/plan/ModelPlan.ts"
export * as ResilientModelGateway from "../../model/plan/ResilientModelGateway.ts"
