/**
 * `recall`, `remember` and `correct` over the memory of the call's actor. The place is the run's; the model cannot name another.
 */
import { Effect } from "effect"
import * as MemoryTools from "../../src/builtin/MemoryTools.ts"
import { storeUnavailable } from "../../src/error/ToolError.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { MemoryRefused } from "../../src/memory/MemoryRow.ts"
import { originOfCall, supersedingFault } from "../../src/memory/MemoryRow.ts"
import { toldText } from "../../src/memory/RecalledLines.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import type { Note } from "../../services/AgentMemory.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import type { StoreError } from "../../services/StoreError.ts"

const dependencies = [AgentMemory] as const

const failed = (error: MemoryRefused | StoreError): ToolError =>
  error._tag === "MemoryRefused"
    ? MemoryTools.refusedMemory(error)
    : storeUnavailable("the store of memories", "network")

const noted = (note: Note, call: CallContext) =>
  Effect.mapError(
    AgentMemory.use((memory) =>
      memory.remember(
        { ...note, ...(call.key === undefined ? undefined : { key: call.key }) },
        originOfCall(call, "model")
      )
    ),
    failed
  )

const recall = tool({ ...MemoryTools.recall, dependencies }, ({ query }, { run }) =>
  Effect.mapBoth(
    AgentMemory.use((memory) =>
      memory.recall({ text: query, tokens_max: MemoryTools.recall_tokens_max, run })
    ),
    {
      onSuccess: ({ lines }) =>
        lines.map(({ at, id, text, tier }) => ({
          id,
          text,
          tier,
          noted_at: new Date(at).toISOString()
        })),
      onFailure: failed
    }
  )
)

const remember = tool({ ...MemoryTools.remember, dependencies }, (fact, call) =>
  Effect.map(noted({ ...fact, tier: "persistent" }, call), ({ row: { id, text } }) => ({
    id,
    text
  }))
)

const correct = tool(
  {
    ...MemoryTools.correct,
    dependencies,
    // Nobody is asked about a memory that cannot be replaced, or without its text.
    precondition: ({ id, was }) =>
      Effect.gen(function* () {
        const row = yield* Effect.mapError(
          AgentMemory.use((memory) => memory.get(id)),
          failed
        )
        const fault = supersedingFault(row)
        if (fault !== undefined) return yield* failed(fault)
        const text = toldText(row?.text ?? "")
        if (toldText(was) !== text) return yield* MemoryTools.otherMemory(text)
      })
  },
  ({ id: supersedes, text }, call) =>
    Effect.map(noted({ text, supersedes }, call), ({ row, superseded }) => ({
      id: row.id,
      text: row.text,
      superseded: { id: supersedes, text: superseded?.text ?? "" }
    }))
)

/** For a registry. */
export const tools: Effect.Effect<
  ReadonlyArray<GovernedTool<AgentMemory>>,
  MisdeclaredTool
> = Effect.map(Effect.all([recall, remember, correct]), (families) => families.flat())
