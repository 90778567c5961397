/**
 * Tells a run's first turn what its agent remembers. The lines are an input for the decider, so that each later turn, a
 * restart and a replay have the same ones from the journal.
 */
import { Effect } from "effect"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import type { TranscriptEntry } from "../../../src/conversation/Transcript.ts"
import { promptText } from "../../../src/memory/RecalledLines.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { MemoryRecalled } from "../../../src/run/RunEvent.ts"
import type { FrameState, RunState } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { RecallQuery, Recalled } from "../../../services/AgentMemory.ts"
import { AgentMemory } from "../../../services/AgentMemory.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { InputWork } from "../tool/CallHost.ts"

/** Asks the memory of the run's actor, or of a recording. */
export type Recall = (query: RecallQuery) => Effect.Effect<Recalled, StoreError, AgentMemory>

const recallLive: Recall = (query) => AgentMemory.use((memory) => memory.recall(query))

/** A turn before which memory may have to be asked. */
interface Subject {
  readonly services: { readonly recall?: Recall | undefined }
  readonly run: RunId
  readonly state: RunState
  readonly frame: FrameState
  readonly agent: ResolvedAgent
}

const inputOf = (recalled: Omit<MemoryRecalled, "_tag">): RunInput => ({
  _tag: "Recalls",
  recalled: { _tag: "MemoryRecalled", ...recalled }
})

/** The recall that the turn needs first. Undefined = none: memory was asked, or the agent has none to be told. */
export const recallBefore = (turn: Subject): InputWork | undefined => {
  const { agent, frame, run, services, state } = turn
  const tokens_max = agent.spec.memory?.recall_tokens_max ?? 0
  if (tokens_max === 0 || state.recalled !== undefined) return undefined
  if (frame.id !== rootFrame || frame.step > 0) return undefined
  const { recall = recallLive } = services
  // As guards have left it.
  const [message] = frame.transcript
  const text = message?.role === "user" ? message.text : state.accepted.message
  return {
    effect: Effect.match(recall({ text, tokens_max, run }), {
      onFailure: ({ message }) => inputOf({ lines: [], tokens: 0, failure: message }),
      onSuccess: ({ lines, tokens }) => inputOf({ lines, tokens })
    })
  }
}

/** The entry before the run's message that tells the model what it remembers; undefined where that is nothing. */
export const memoryEntry = (recalled: MemoryRecalled): TranscriptEntry | undefined =>
  recalled.lines.length === 0 ? undefined : { role: "user", text: promptText(recalled.lines) }
