/**
 * The bare agent with the script of the runtime's, and its client.
 */
import type { Run } from "./BareAgent.ts"
import * as BareAgent from "./BareAgent.ts"
import type { Script } from "./Reader.ts"
import { eventsOf } from "./Reader.ts"
import { turnAt } from "./Work.ts"

/** The same turns. */
export const model = ({ calls = 1, steps, turn_ms }: Script): BareAgent.Model =>
  turn_ms === undefined
    ? (_, step) => turnAt(step, steps, calls)
    : (_, step) =>
        new Promise((resolve) => setTimeout(() => resolve(turnAt(step, steps, calls)), turn_ms))

/** Sends a message and watches its run to the end; gives the run, for as long as it is to be kept. */
export const sendAndWatch = async (
  send: ReturnType<typeof BareAgent.make>,
  script: Script,
  seen?: (tag: string) => void
): Promise<Run> => {
  const run = await send("read")
  let events = 0
  for await (const { event } of BareAgent.watch(run)) {
    events++
    seen?.(event._tag)
  }
  const expected = eventsOf(script) - (run.epoch === 0 ? 1 : 0)
  if (events !== expected) throw new Error(`${events} events instead of ${expected}`)
  return run
}
