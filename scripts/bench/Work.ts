/**
 * The work that both sides of a row do: a model that asks for one read of a record at every step, the tool that reads it,
 * and the clock that measures a step.
 */
import { Effect, Schema } from "effect"
import { Tool } from "effect/ai"
import { ToolError } from "../../src/error/ToolError.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Sample } from "./Row.ts"

/** Steps of one run: as many turns that call the tool, and one that answers. */
export const steps_per_run = 10

export const Parameters = Schema.Struct({ id: Schema.Int, region: Schema.String })
export const Success = Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  tags: Schema.Array(Schema.String),
  score: Schema.Finite
})

export const Lookup = Tool.make("lookup", {
  description: "Reads one record.",
  parameters: Parameters,
  success: Success,
  failure: ToolError
})

/** The body: what is read is made of what was asked for. */
export const lookup = (args: typeof Parameters.Type): Effect.Effect<typeof Success.Type> =>
  Effect.sync(() => ({
    id: args.id,
    name: args.region,
    tags: ["a", "b"],
    score: args.id / 2
  }))

/** What the model says at a step, counted from 1: `calls` reads, until the answer. */
export const turnAt = (step: number, steps: number, calls = 1): Turn => {
  if (step > steps) return { text: "done", calls: [], finish: "stop" }
  if (calls === 1) return { text: "", calls: [proposed(step)], finish: "tool_calls" }
  return {
    text: "",
    calls: Array.from({ length: calls }, (_, index) => proposed(index)),
    finish: "tool_calls"
  }
}

const proposed = (id: number): Turn["calls"][number] => ({
  model_id: "call_0",
  name: "lookup",
  arguments: { id, region: "eu" }
})

/** Something done again and again: what it needs is made before, and is not measured. */
export interface Batch<A> {
  readonly prepare: () => Promise<A>
  /** How many steps it took. */
  readonly run: (prepared: A) => Promise<number>
}

/**
 * Runs batches for `warm_ms` twice and then for `measure_ms` of this thread's CPU, which a busy machine does not shorten, and
 * gives the time of a step: CPU of this thread, and wall.
 */
export const measure = async <A>(
  { prepare, run }: Batch<A>,
  times: { readonly warm_ms: number; readonly measure_ms: number } = {
    warm_ms: 1_200,
    measure_ms: 1_200
  }
): Promise<Sample> => {
  const until = async (ms: number) => {
    let steps = 0
    let cpu = 0
    let wall = 0
    while (cpu < ms * 1_000) {
      const prepared = await prepare()
      const began = performance.now()
      const before = process.threadCpuUsage()
      steps += await run(prepared)
      const used = process.threadCpuUsage(before)
      wall += performance.now() - began
      cpu += used.user + used.system
    }
    return { cpu_us: cpu / steps, wall_us: (wall * 1_000) / steps }
  }
  await until(times.warm_ms)
  // A full collection drops code that was compiled for shapes of which no object lives, so what follows it warms up again.
  globalThis.gc?.()
  await until(times.warm_ms)
  return until(times.measure_ms)
}
