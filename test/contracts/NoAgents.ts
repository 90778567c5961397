/** A process that hosts no agent. */
import { Layer } from "effect"
import { AgentDirectory } from "../../services/AgentDirectory.ts"

export const layer = Layer.succeed(AgentDirectory, { get: () => undefined, all: [] })
