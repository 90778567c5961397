/**
 * Tools that agents name and that no server has offered yet: closed ones stand for them until their server is connected, so that
 * the start need not fail.
 */
import { Effect, Result } from "effect"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import { McpServers } from "../../../services/McpServers.ts"
import { declarationOf } from "../../../src/agent/DeclaredAgent.ts"
import type { GovernedTool, MisdeclaredTool } from "../../../src/tool/GovernedTool.ts"
import type { Registry } from "../../../src/tool/Registry.ts"

/** The tools that a definition names. From JavaScript it may be anything; what is wrong with it is said elsewhere. */
const namedBy = (agent: unknown): ReadonlyArray<string> => {
  const { tools } = { tools: [], ...(declarationOf(agent).spec as { readonly tools?: unknown }) }
  return Array.isArray(tools) ? tools.filter((name) => typeof name === "string") : []
}

export const resolver =
  (agents: ReadonlyArray<unknown>) =>
  (
    registered: Registry<AgentMemory>
  ): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool, McpServers> => {
    const isUnknown = (name: string) =>
      Result.match(registered.resolve(name), {
        onSuccess: () => false,
        onFailure: ({ _tag }) => _tag === "ToolNotFound"
      })
    const names = [...new Set(agents.flatMap(namedBy))].filter(isUnknown)
    return McpServers.use(({ awaited }) => awaited(names))
  }
