/**
 * The variants of the rows that go through `send` and leave nothing when the process ends.
 */
import type { Run } from "./BareAgent.ts"
import * as BareAgent from "./BareAgent.ts"
import type { Script } from "./Reader.ts"
import { eventsOf, sendAndWatch, startReader } from "./Reader.ts"
import type { Sample } from "./Row.ts"
import { median } from "./Row.ts"
import { compileSchemas, measure, sized, sliced, steps_per_run, turnAt } from "./Work.ts"

/** The bare agent's model: the same turns. */
export const bareModel = ({ calls = 1, steps, turn_ms }: Script): BareAgent.Model =>
  turn_ms === undefined
    ? (_, step) => turnAt(step, steps, calls)
    : (_, step) =>
        new Promise((resolve) => setTimeout(() => resolve(turnAt(step, steps, calls)), turn_ms))

/** Sends to a bare agent and watches to the end; gives the run, for as long as it is to be kept. */
export const bareSendAndWatch = async (
  send: ReturnType<typeof BareAgent.make>,
  script: Script
): Promise<Run> => {
  const run = await send("read")
  let events = 0
  for await (const _ of BareAgent.watch(run)) events++
  // It claims no run.
  const expected = eventsOf(script) - 1
  if (events !== expected) throw new Error(`${events} events instead of ${expected}`)
  return run
}

/** One message after the other, each in a conversation of its own, so many calls in all. */
const calls_per_batch = 100

const batchOf = ({ calls = 1, steps }: Script) => {
  const messages = Math.ceil(calls_per_batch / (steps * calls))
  return { messages, calls: messages * steps * calls }
}

const bareMessages = async (script: Script): Promise<Sample> => {
  await compileSchemas()
  const send = BareAgent.make({ model: bareModel(script) })
  const batch = batchOf(script)
  return measure({
    // Kept until the next batch: what the runtime's store keeps for ever would be a gigabyte here.
    prepare: async () => [] as Array<Run>,
    run: async (kept) => {
      for (let n = 0; n < batch.messages; n++) kept.push(await bareSendAndWatch(send, script))
      return batch.calls
    }
  })
}

const sentMessages = async (script: Script): Promise<Sample> => {
  const troupe = await startReader(script)
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
  const send = BareAgent.make({ model: bareModel(crowd) })
  return atOnce(() =>
    Promise.all(Array.from({ length: runs_at_once }, () => bareSendAndWatch(send, crowd)))
  )
}

export const sentCrowd = async (): Promise<Sample> => {
  const troupe = await startReader(crowd)
  return atOnce(() =>
    Promise.all(Array.from({ length: runs_at_once }, () => sendAndWatch(troupe, crowd)))
  )
}
