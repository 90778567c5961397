/**
 * The variant of the row `send` whose agent remembers: its conversation and its workspace have memories, each run is told what its
 * message brings to mind, notes something in its first call, and passes on what lasts at its end.
 */
import { Effect } from "effect"
import { AgentName, AgentSpec, MemorySpec, originOfCall, RunLimits, tool } from "troupe"
import { start } from "troupe/embed"
import { AgentMemory } from "troupe/services/AgentMemory"
import type { Script } from "./Reader.ts"
import { eventsOf, model } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { measure, Parameters, record, sized, Success } from "./Work.ts"

/** Of the conversation, and of the workspace. */
const rows_each = sized(2, 50)
const messages_per_batch = 10

const remembering = AgentSpec.make({
  name: AgentName.make("remembering"),
  instructions: "Read.",
  tools: ["lookup"],
  limits: RunLimits.make({ steps_max: 1_000, calls_max: 100_000 }),
  // As in the other lines, where each message has a conversation of its own.
  history_tokens_max: 0,
  memory: MemorySpec.make({ anchor: "workspace", recall_tokens_max: 500 })
})

const lookupOf = (isFilled: () => boolean) =>
  tool(
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
      const note = (text: string, tier: "interaction" | "session" | "persistent") =>
        Effect.orDie(memory.remember({ text, tier }, originOfCall(call)))
      for (let n = 0; !isFilled() && n < rows_each; n++) {
        yield* note(`The order ${n} of the customer was late`, "session")
        yield* note(`The customer ${n} prefers parcels of region ${n * 7}`, "persistent")
      }
      yield* note(`The record of ${args.region} was read for a customer`, "interaction")
      return record(args)
    })
  )

/** Per call, in runs of so many turns with one call each, all in one conversation. */
export const remembered = async (steps: string): Promise<Sample> => {
  const script: Script = { steps: Number(steps) }
  let isFilled = false
  const troupe = await start({
    agents: [remembering],
    tools: [lookupOf(() => isFilled)],
    model: model(script)
  })
  let isTold = false
  const sendAndWatch = async () => {
    const text = "Which region does the customer prefer, and which order was late?"
    const { run } = await troupe.send({ agent: remembering.name, conversation: "c", text })
    let events = 0
    for await (const item of troupe.watch(run)) {
      if (item._tag !== "Event") continue
      events++
      const { event } = item.entry
      if (event._tag === "MemoryRecalled") isTold = event.lines.length > 0
    }
    // Beside the others one says of what it was told.
    const expected = eventsOf(script) + 1
    if (events !== expected) throw new Error(`${events} events instead of ${expected}`)
  }
  await sendAndWatch()
  isFilled = true
  const sample = await measure({
    prepare: () => Promise.resolve(),
    run: async () => {
      for (let n = 0; n < messages_per_batch; n++) await sendAndWatch()
      return messages_per_batch * script.steps
    }
  })
  if (!isTold) throw new Error("no run was told of its memories")
  return sample
}
