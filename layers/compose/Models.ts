/**
 * The package's entry `troupe/models`: implementations of the port `ModelGateway`, and wrappers around them. A provider's client
 * is loaded only when it is chosen.
 */
export * as AiSdkModelGateway from "../model/AiSdkModelGateway.ts"
export * as CassetteModelGateway from "../model/CassetteModelGateway.ts"
export { fileTape, memoryTape } from "../model/CassetteTape.ts"
export * as ChosenModels from "../model/ChosenModels.ts"
export * as GptTokenizer from "../model/GptTokenizer.ts"
export * as GraphModelGateway from "../model/GraphModelGateway.ts"
export * as LanguageModelGateway from "../model/LanguageModelGateway.ts"
export { metered } from "../model/MeteredModels.ts"
export * as ModelFromEnv from "../model/ModelFromEnv.ts"
export type { ModelPlan } from "../model/ModelPlan.ts"
export { gatewayOf } from "../model/ModelPlan.ts"
export * as ResilientModelGateway from "../model/ResilientModelGateway.ts"
