/**
 * What a side run may use of its agent: tools that read, and specialists, whose calls pass the same gate. Nothing that a
 * provider runs by itself, because nobody here can tell what that changes.
 */
import type { ModelSettings } from "../../../src/agent/ModelSettings.ts"
import { isDispatched } from "../../../src/tool/ToolSpec.ts"
import { memoised } from "../../../src/value/Memoised.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentTool } from "./CallHost.ts"

/** The tool changes nothing, and no person or client is asked for its result. */
export const isReading = ({ client, spec }: AgentTool): boolean =>
  client === undefined && !isDispatched(spec)

/** The settings of a side run's turns: no tool is forced, because it may be one that is not offered. */
export const sideRunSettings = (settings: ModelSettings | undefined): ModelSettings | undefined => {
  if (settings === undefined) return undefined
  const { tool_choice: _forced, ...others } = settings
  return others
}

/** Of what an agent's model is shown, what it is shown in a side run. */
export const readingTools = memoised(
  ({ modelTools, specialists, tools }: ResolvedAgent): ResolvedAgent["modelTools"] =>
    modelTools.filter(({ name }) => {
      const tool = tools.get(name)
      return tool === undefined ? specialists.has(name) : isReading(tool)
    })
)
