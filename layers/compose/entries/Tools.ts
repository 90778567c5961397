/**
 * The package's entry `troupe/tools`: tools that come with the package. An agent has none of them unless it is registered.
 */
export * as BrokerTools from "../../agents/BrokerTools.ts"
export * as ClientTools from "../../agents/ClientTools.ts"
export * as CodeTool from "../../agents/CodeTool.ts"
export * as CommandTool from "../../agents/CommandHandler.ts"
export * as CoordinationTools from "../../agents/CoordinationTools.ts"
export * as FileTools from "../../agents/FileHandlers.ts"
export * as MemoryTools from "../../agents/MemoryHandlers.ts"
export * as ObservationTools from "../../agents/ObservationTools.ts"
export * as OperationsTools from "../../agents/OperationsTools.ts"
export * as BuiltinTools from "../assembly/BuiltinTools.ts"
export * as ConfiguredTools from "../../calls/ConfiguredTools.ts"
export * as HttpRequestTool from "../../calls/HttpRequestTool.ts"
export * as OpenApiImport from "../../calls/OpenApiImport.ts"
