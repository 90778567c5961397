/**
 * The lower bound of the in-process rows: an agent's loop as one would write it with Effect and nothing else. Arguments
 * are decoded by the schema's compiled decoder, the result is kept as JSON text, and that is all: no journal, no gate, no
 * deadline, no metadata, no supervision.
 */
import { Effect, Schema } from "effect"
import type { Turn } from "../../src/run/RunDecider.ts"
import { lookup, Parameters } from "./Work.ts"

export interface Entry {
  readonly role: "user" | "assistant" | "tool"
  readonly turn?: Turn
  readonly json?: string
}

export type Model = (transcript: ReadonlyArray<Entry>, step: number) => Effect.Effect<Turn>

const keep = (transcript: Array<Entry>) => (result: unknown) => {
  transcript.push({ role: "tool", json: JSON.stringify(result) })
}

/** Gives the loop: one run to its answer, whose transcript it gives. Call it when schemas are compiled from here on. */
export const make = () => {
  const decode = Schema.decodeUnknownEffect(Parameters)
  const tools = new Map([["lookup", (args: unknown) => Effect.flatMap(decode(args), lookup)]])
  return Effect.fnUntraced(function* (model: Model) {
    const transcript: Array<Entry> = [{ role: "user" }]
    for (let step = 1; ; step++) {
      const turn = yield* model(transcript, step)
      transcript.push({ role: "assistant", turn })
      if (turn.calls.length === 0) return transcript
      if (turn.calls.length === 1) {
        const call = turn.calls[0]!
        keep(transcript)(yield* tools.get(call.name)!(call.arguments))
      } else {
        // Calls of one turn run at the same time, without a bound.
        const results = yield* Effect.forEach(
          turn.calls,
          (call) => tools.get(call.name)!(call.arguments),
          { concurrency: "unbounded" }
        )
        results.forEach(keep(transcript))
      }
    }
  })
}
