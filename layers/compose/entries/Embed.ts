/**
 * Troupe for a Node service that does not speak Effect: promises and async iterables over a runtime.
 * ```ts
 * const troupe = await start({ agents, tools, model, store: { directory: ".troupe" } })
 * const { run } = await troupe.send({ agent: "operations", text: "What is stuck?" })
 * for await (const item of troupe.watch(run)) console.log(item)
 * ```
 */
import type { NodeService } from "../promises/NodeService.ts"
import type { Options } from "../options/ServiceOptions.ts"
import type { AgentSpec } from "../../../src/agent/AgentSpec.ts"
import type { ContextsOf } from "../promises/SendTo.ts"

export type * from "../promises/NodeService.ts"
export type * from "../options/ServiceOptions.ts"
export { service_principal } from "../promises/ServicePrincipal.ts"
export type * from "../promises/Answer.ts"
export type { AnswerTo, ContextsOf, PartTo, SendTo, ToAgent } from "../promises/SendTo.ts"
export { error_status } from "../../../src/operation/ErrorStatus.ts"
export { WaitTimedOut } from "../promises/Answer.ts"
export type { FeedItem } from "../../../src/run/FeedItem.ts"
export type { RunPart } from "../promises/RunStream.ts"
export type { HttpMethods } from "../assembly/ServedHttp.ts"
export type { ConsoleOptions, Http, Token } from "../options/ServerOptions.ts"
export type { Claims, OpenIdOptions, PrincipalRule } from "../../console/OpenIdOptions.ts"
export type { ObserversInput } from "../options/ObserversInput.ts"
export type { RetentionOptions } from "../assembly/StoreLayers.ts"
export type { PostgresStore } from "../options/ServiceOptions.ts"
export type { IssuedToken } from "../../../src/permission/AccessToken.ts"
export type * from "../promises/MethodShapes.ts"

/** Starts a runtime and recovers the work that an earlier one left. Rejects with the typed error that prevented the start. */
export const start = async <const Known extends ReadonlyArray<AgentSpec>>(
  options: Options<Known>
): Promise<NodeService<ContextsOf<Known>>> => {
  // This is process-wide and compiles code at run time, so a start enables it, not the import alone.
  await import("effect/schema/SchemaJITCompiler/enable")
  // An import that starts nothing, such as that of a test or a command line, does not load a hundred further modules.
  const { startService } = await import("../promises/StartedService.ts")
  return startService(options)
}
