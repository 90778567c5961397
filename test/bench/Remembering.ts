/**
 * The agent of the line with three tiers of memory, and what it is told: its first call of all fills the memories of its
 * conversation and its workspace, the first call of each run notes something. Beside it the same in plain JavaScript.
 */
import { Effect } from "effect"
import { AgentName, AgentSpec, MemorySpec, originOfCall, RunLimits, tool } from "troupe"
import { AgentMemory } from "troupe/services"
import type { Body } from "./BareAgent.ts"
import type { BareMemory } from "./BareMemory.ts"
import { Parameters, record, sized, Success } from "./Work.ts"

/** Of the conversation, and of the workspace. */
const rows_each = sized(2, 50)

export const recall_tokens_max = 500

/** Each message is another one, so that nobody gains by knowing the answer to the last. */
export const messageOf = (n: number): string =>
  `Question ${n}: which region does the customer prefer, and which order was late?`

/** A text of record of the workspace, of which no note may be a copy. */
export const rule = {
  name: "late-orders",
  text: "An order that was late by more than thirty days is paid back, whoever asks for it."
}

type Kept = readonly [text: string, tier: "interaction" | "session" | "persistent"]

/** Before the first run. */
const filling: ReadonlyArray<Kept> = Array.from(
  { length: rows_each },
  (_, n): ReadonlyArray<Kept> => [
    [`The order ${n} of the customer was late`, "session"],
    [`The customer ${n} prefers parcels of region ${n * 7}`, "persistent"]
  ]
).flat()

/** In the first call of a run. */
const noted = (region: string): Kept => [
  `The record of ${region} was read for a customer`,
  "interaction"
]

export const agent = AgentSpec.make({
  name: AgentName.make("remembering"),
  instructions: "Read.",
  tools: ["lookup"],
  limits: RunLimits.make({ steps_max: 1_000, calls_max: 100_000 }),
  // As in the other lines, where each message has a conversation of its own.
  history_tokens_max: 0,
  memory: MemorySpec.make({ anchor: "workspace", recall_tokens_max })
})

/** The tool of one process. */
export const lookup = () => {
  let isFilled = false
  return tool(
    {
      namespace: "bench",
      name: "lookup",
      description: "Reads one record.",
      side_effects: "read",
      input: Parameters,
      output: Success,
      dependencies: [AgentMemory]
    },
    Effect.fnUntraced(function* (args, call) {
      if (args.id > 1) return record(args)
      const memory = yield* AgentMemory
      const keep = ([text, tier]: Kept) =>
        Effect.orDie(memory.remember({ text, tier }, originOfCall(call)))
      if (!isFilled) yield* Effect.forEach(filling, keep)
      isFilled = true
      yield* keep(noted(args.region))
      return record(args)
    })
  )
}

/** The body of the same tool. */
export const bareBody = (memory: BareMemory): Body => {
  let isFilled = false
  return (args, run, call) => {
    if (args.id > 1) return record(args)
    const step = Number(call.slice(call.indexOf("/") + 1, call.indexOf(".")))
    const origin = { source: "tool_call", author: "tool", run: run.id, step, call } as const
    const keep = ([text, tier]: Kept): void => {
      const outcome = memory.note(text, tier, origin)
      if (outcome !== "noted") throw new Error(`a note was ${outcome}`)
    }
    if (!isFilled) for (const each of filling) keep(each)
    isFilled = true
    keep(noted(args.region))
    return record(args)
  }
}
