/**
 * The work that both sides of a row do: a model that asks for one read of a record at every step, the tool that reads it,
 * and the clock that measures a step.
 */
import { once } from "node:events"
import { Effect, Schema } from "effect"
import { Tool } from "effect/ai"
import { ToolError } from "../../src/error/ToolError.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { Sample } from "./Row.ts"

/** Small sizes, for a test that a row still runs; what it prints then means nothing. */
const isBrief = process.env["TROUPE_BENCH"] === "brief"

/** How much of something a row measures, and how much when it is only tried. */
export const sized = (brief: number, full: number): number => (isBrief ? brief : full)

/** Has schemas compiled from here on, as `start` does for an application. */
export const compileSchemas = (): Promise<unknown> =>
  import("effect/schema/SchemaJITCompiler/enable")

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
export const record = (args: typeof Parameters.Type): typeof Success.Type => ({
  id: args.id,
  name: args.region,
  tags: ["a", "b"],
  score: args.id / 2
})

export const lookup = (args: typeof Parameters.Type): Effect.Effect<typeof Success.Type> =>
  Effect.sync(() => record(args))

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

/** What is warmed up, and then measured in slices that others take turns with. */
export interface Sliced {
  readonly warm: () => Promise<void>
  readonly slice: () => Promise<void>
  /** Of all slices. */
  readonly sample: () => Sample
}

/**
 * Takes a slice each time the parent asks for one, so that two variants are measured within the same moments of a machine
 * that others use too. Without a parent that asks, `slices` of them one after the other.
 */
export const sliced = async ({ sample, slice, warm }: Sliced, slices: number): Promise<Sample> => {
  await warm()
  if (process.send === undefined) {
    for (let n = 0; n < slices; n++) await slice()
    return sample()
  }
  process.send("ready")
  for (;;) {
    const [message] = (await once(process, "message")) as [string]
    if (message === "end") return sample()
    await slice()
    process.send("ready")
  }
}

const warm_ms = sized(20, 1_200)
const slice_ms = sized(5, 50)
/** Of CPU 1.2 s in all. */
export const slices = sized(2, 24)

/**
 * Runs batches for so much of this thread's CPU, which a busy machine does not shorten, and gives the time of a step: CPU
 * of this thread, and wall.
 */
export const measure = async <A>({ prepare, run }: Batch<A>): Promise<Sample> => {
  const total = { steps: 0, cpu: 0, wall: 0 }
  const add = async (ms: number) => {
    for (const until = total.cpu + ms * 1_000; total.cpu < until;) {
      const prepared = await prepare()
      const began = performance.now()
      const before = process.threadCpuUsage()
      total.steps += await run(prepared)
      const used = process.threadCpuUsage(before)
      total.wall += performance.now() - began
      total.cpu += used.user + used.system
    }
  }
  return sliced(
    {
      warm: async () => {
        await add(warm_ms)
        // A full collection drops code that was compiled for shapes of which no object lives, so what follows it warms up
        // again.
        globalThis.gc?.()
        await add(warm_ms)
        Object.assign(total, { steps: 0, cpu: 0, wall: 0 })
      },
      slice: () => add(slice_ms),
      sample: () => ({
        cpu_us: total.cpu / total.steps,
        wall_us: (total.wall * 1_000) / total.steps
      })
    },
    slices
  )
}
