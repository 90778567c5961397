/**
 * Checks what a message tells the tools of its run, before it is accepted: each tool of the agent that declares a context has
 * to be able to read it.
 */
import { Cause, Exit } from "effect"
import { truncateUnits } from "../../../src/CutText.ts"
import { InvalidInput } from "../../../src/entry/InvalidInput.ts"
import type { RunContext } from "../../../src/run/RunContext.ts"
import { contextFor } from "../../../src/run/RunContext.ts"
import { refusalText } from "../../../src/tool/ToolCodec.ts"
import type { AgentDirectory, ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentTool } from "../tool/CallHost.ts"

/** The tools of an agent, and of the specialists that it may delegate to, that read the context of a run. */
const readersOf = (
  directory: AgentDirectory["Service"],
  agent: ResolvedAgent
): ReadonlyArray<AgentTool> => {
  const seen = new Set([agent])
  // A set is read to its end while it grows: specialists may have specialists.
  for (const { specialists } of seen) {
    for (const name of specialists.values()) {
      const specialist = directory.get(name)
      if (specialist !== undefined) seen.add(specialist)
    }
  }
  return [...seen].flatMap(({ tools }) =>
    [...tools.values()].filter(({ context }) => context !== undefined)
  )
}

/** Which tool cannot read the context of a message, and why. Undefined = each can. */
const contextRefusal = (readers: ReadonlyArray<AgentTool>, context: RunContext | undefined) => {
  for (const tool of readers) {
    const read = contextFor(tool, context)
    if (Exit.isSuccess(read)) continue
    const why = refusalText(Cause.squash(read.cause))
    return new InvalidInput({
      field: "message.context",
      message: truncateUnits(`the tool "${tool.spec.name}" reads it: ${why}`, 300)
    })
  }
  return undefined
}

/** Gives the refusal of a message to an agent; undefined = its context can be read. What an agent reads is found once. */
export const contextReaders = (directory: AgentDirectory["Service"]) => {
  const known = new WeakMap<ResolvedAgent, ReadonlyArray<AgentTool>>()
  return (agent: ResolvedAgent, context: RunContext | undefined): InvalidInput | undefined => {
    let readers = known.get(agent)
    if (readers === undefined) known.set(agent, (readers = readersOf(directory, agent)))
    return contextRefusal(readers, context)
  }
}
