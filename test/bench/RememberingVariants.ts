/**
 * The variants of the row `send` whose agent remembers: its conversation and its workspace have memories, each run is told what its
 * message brings to mind, notes something in its first call, and passes on what lasts at its end.
 */
import { Principal, Tenant } from "troupe"
import { start } from "troupe/embed"
import * as BareAgent from "./BareAgent.ts"
import { BareMemory } from "./BareMemory.ts"
import * as BareReader from "./BareReader.ts"
import type { Script } from "./Reader.ts"
import { eventsOf, model } from "./Reader.ts"
import { agent, bareBody, lookup, messageOf, recall_tokens_max, rule } from "./Remembering.ts"
import type { Sample } from "./Row.ts"
import { compileSchemas, measure } from "./Work.ts"

const messages_per_batch = 10
const operator = new Principal({ id: "bench", tenant: Tenant.make("default"), roles: ["operator"] })

/** What a watcher sees of one run. */
interface Watched {
  readonly events: number
  /** What the run was told of memory. */
  readonly lines: number
}

/** Runs so many turns with one call each, all in one conversation; gives the time of a call. */
const measured = async (
  script: Script,
  events: number,
  newBatch: () => (text: string) => Promise<Watched>
): Promise<Sample> => {
  let sent = 0
  const sendOne = async (send: ReturnType<typeof newBatch>, isFirst = false) => {
    const seen = await send(messageOf(sent++))
    if (seen.events !== events) throw new Error(`${seen.events} events instead of ${events}`)
    if (seen.lines > 0 === isFirst) throw new Error(`a run was told ${seen.lines} lines`)
  }
  // It fills the memory, of which it is told nothing.
  await sendOne(newBatch(), true)
  return measure({
    prepare: async () => newBatch(),
    run: async (send) => {
      for (let n = 0; n < messages_per_batch; n++) await sendOne(send)
      return messages_per_batch * script.steps
    }
  })
}

export const remembered = async (steps: string): Promise<Sample> => {
  const script: Script = { steps: Number(steps) }
  const troupe = await start({ agents: [agent], tools: [lookup()], model: model(script) })
  await troupe.registerText(rule, operator)
  const sendAndWatch = async (text: string): Promise<Watched> => {
    const { run } = await troupe.send({ agent: agent.name, conversation: "c", text })
    let events = 0
    let lines = 0
    for await (const item of troupe.watch(run)) {
      if (item._tag !== "Event") continue
      events++
      const { event } = item.entry
      if (event._tag === "MemoryRecalled") lines = event.lines.length
    }
    return { events, lines }
  }
  // Beside those of other runs, one says of what it was told.
  return measured(script, eventsOf(script) + 1, () => sendAndWatch)
}

export const bare = async (steps: string): Promise<Sample> => {
  await compileSchemas()
  const script: Script = { steps: Number(steps) }
  const memory = new BareMemory({ now: Date.now, tokens_max: recall_tokens_max })
  memory.register(rule.name, rule.text)
  const send = BareAgent.make({
    model: BareReader.model(script),
    body: bareBody(memory),
    memory
  })
  const sendAndWatch = async (text: string, to: BareAgent.Conversation): Promise<Watched> => {
    let events = 0
    let lines = 0
    for await (const { event } of BareAgent.watch(await send(text, to))) {
      events++
      if (event._tag === "MemoryRecalled") lines = event.lines.length
    }
    return { events, lines }
  }
  // It claims no run. A batch has a list of runs of its own, which are not kept for ever.
  return measured(script, eventsOf(script), () => {
    const to = BareAgent.conversation("c")
    return (text) => sendAndWatch(text, to)
  })
}
