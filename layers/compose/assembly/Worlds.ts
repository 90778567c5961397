/**
 * The agents of worlds for a runtime: their definitions, their tools, the runner that asks them, and the tool with which other
 * agents ask them.
 */
import type { Effect } from "effect"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import type { World } from "../../../src/spectral/worlds/World.ts"
import type { RuleProposals } from "../../../services/spectral/worlds/RuleProposals.ts"
import type { WorldReader } from "../../../services/spectral/worlds/WorldReader.ts"
import * as WorldTools from "../../spectral/worlds/WorldTools.ts"

export { layer as remoteRunner } from "../../spectral/worlds/HttpWorldAgentRunner.ts"
export type { RemoteWorlds } from "../../spectral/worlds/HttpWorldAgentRunner.ts"
export { connected, layer as runner } from "../../spectral/worlds/LocalWorldAgentRunner.ts"
export { AnswerLimit } from "../../spectral/worlds/WorldQuestions.ts"
export { worldAgents as agents } from "../../../src/spectral/worlds/WorldAgent.ts"
export { tools as askWorldAgent } from "./WorldBridge.ts"

/** The tools for a registry: one family for each world. */
export const tools = (
  worlds: ReadonlyArray<World>
): ReadonlyArray<
  Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, WorldReader | RuleProposals>
> => worlds.map(({ world_id }) => WorldTools.tools(world_id))
