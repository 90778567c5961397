/**
 * The variants of the rows that go through `send` and leave nothing when the process ends.
 */
import { Guard } from "troupe"
import type { Run } from "./BareAgent.ts"
import * as BareAgent from "./BareAgent.ts"
import * as BareReader from "./BareReader.ts"
import type { Governed, Script } from "./Reader.ts"
import { sendAndWatch, startReader } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { median } from "./Row.ts"
import { compileSchemas, measure, sized, sliced, steps_per_run } from "./Work.ts"

/** One message after the other, each in a conversation of its own, so many calls in all. */
const calls_per_batch = 100

const batchOf = ({ calls = 1, steps }: Script) => {
  const messages = Math.ceil(calls_per_batch / (steps * calls))
  return { messages, calls: messages * steps * calls }
}

const bareMessages = async (script: Script): Promise<Sample> => {
  await compileSchemas()
  const send = BareAgent.make({ model: BareReader.model(script) })
  const batch = batchOf(script)
  return measure({
    // Kept until the next batch: what the runtime's store keeps for ever would be a gigabyte here.
    prepare: async () => [] as Array<Run>,
    run: async (kept) => {
      for (let n = 0; n < batch.messages; n++)
        kept.push(await BareReader.sendAndWatch(send, script))
      return batch.calls
    }
  })
}

const sentMessages = async (script: Script, governed?: Governed): Promise<Sample> => {
  const troupe = await startReader(script, "ephemeral", governed)
  const batch = batchOf(script)
  return measure({
    prepare: () => Promise.resolve(),
    run: async () => {
      for (let n = 0; n < batch.messages; n++) await sendAndWatch(troupe, script)
      return batch.calls
    }
  })
}

const scriptOf = (steps: string, calls: string): Script => ({
  steps: Number(steps),
  calls: Number(calls)
})

/** Per call, in runs of so many turns with so many calls each. */
export const bare = (steps: string, calls: string) => bareMessages(scriptOf(steps, calls))
export const sent = (steps: string, calls: string) => sentMessages(scriptOf(steps, calls))

/** One message with one call, in a process with a guard that lets every text pass and a budget that is never used up. */
export const governed = () => {
  const guard = Guard.make({
    name: "patterns",
    on: ["message", "result", "answer"],
    judge: ({ text }) =>
      text.includes("sk-") ? { verdict: "refuse", reason: "a key" } : { verdict: "pass" }
  })
  const budget = { name: "daily", scope: "tenant", period: "day", calls: 1_000_000_000 } as const
  return sentMessages({ steps: 1, verdicts: 3 }, { guards: [guard], budgets: [budget] })
}

const runs_at_once = sized(10, 1_000)
const turn_ms = 5

/** Wall time of all runs at once, from the first message to the last end: the median of the trials. */
const atOnce = (all: () => Promise<unknown>): Promise<Sample> => {
  const trials: Array<number> = []
  const trial = async () => {
    // A young collection only: see the loop's own row.
    globalThis.gc?.({ type: "minor" })
    const began = performance.now()
    await all()
    trials.push(performance.now() - began)
  }
  return sliced(
    {
      warm: async () => {
        for (let n = 0; n < sized(1, 4); n++) await trial()
        trials.length = 0
      },
      slice: trial,
      sample: () => ({ wall_ms: median(trials) })
    },
    sized(1, 5)
  )
}

const crowd: Script = { steps: steps_per_run, turn_ms }

export const bareCrowd = async (): Promise<Sample> => {
  await compileSchemas()
  const send = BareAgent.make({ model: BareReader.model(crowd) })
  return atOnce(() =>
    Promise.all(Array.from({ length: runs_at_once }, () => BareReader.sendAndWatch(send, crowd)))
  )
}

export const sentCrowd = async (): Promise<Sample> => {
  const troupe = await startReader(crowd)
  return atOnce(() =>
    Promise.all(Array.from({ length: runs_at_once }, () => sendAndWatch(troupe, crowd)))
  )
}
