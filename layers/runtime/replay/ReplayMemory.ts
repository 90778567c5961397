/**
 * The memory of a replay. Its run is told what the recorded run was told. A tool that runs again reads the live memory, and
 * cannot write to it.
 */
import { Context, Effect } from "effect"
import { promptText } from "../../../src/memory/RecalledLines.ts"
import type { Recording } from "../../../src/replay/Recording.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import { MemoryRefused } from "../../../src/memory/MemoryRefused.ts"
import { StoreError } from "../../../services/StoreError.ts"
import type { Recall } from "../loop/PromptMemory.ts"

/** Gives the recorded recall: its lines, or its failure. If the recorded run recalled nothing, there are no lines. */
export const recallOf =
  ({ recalled }: Recording): Recall =>
  () => {
    const { failure, lines = [], tokens = 0 } = recalled ?? {}
    return failure === undefined
      ? Effect.succeed({ lines, text: promptText(lines), tokens })
      : Effect.fail(new StoreError({ message: failure }))
  }

const refused = Effect.fail(
  new MemoryRefused({ reason: "replay", message: "a replay changes no memories" })
)

/** The memory with which the replay's tools run. */
export const withoutWrites = (live: Context.Context<AgentMemory>): Context.Context<AgentMemory> => {
  const { get, list, recall } = Context.get(live, AgentMemory)
  return AgentMemory.context(
    AgentMemory.of({
      get,
      list,
      recall,
      remember: () => refused,
      undo: () => refused,
      endRun: () => Effect.succeed({ promoted: 0, dropped: 0 }),
      endConversation: Effect.succeed({ promoted: 0, dropped: 0 })
    })
  )
}
