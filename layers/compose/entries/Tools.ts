/**
 * The package's entry `troupe/tools`: tools that come with the package. An agent has none of them unless it is registered.
 */
export * as BrokerTools from "../../builtin/BrokerTools.ts"
export * as ClientTools from "../../builtin/ClientTools.ts"
export * as CodeTool from "../../builtin/CodeTool.ts"
export * as CommandTool from "../../builtin/CommandHandler.ts"
export * as FileTools from "../../builtin/FileHandlers.ts"
export * as MemoryTools from "../../builtin/MemoryHandlers.ts"
export * as OperationsTools from "../../spectral/agents/OperationsTools.ts"
export * as ConfiguredTools from "../../calls/ConfiguredTools.ts"
export * as HttpRequestTool from "../../calls/HttpRequestTool.ts"
export * as OpenApiImport from "../../calls/OpenApiImport.ts"
