/**
 * The variants of the in-process rows, each run in a process of its own.
 */
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Exit, Scope } from "effect"
import * as BareLoop from "./BareLoop.ts"
import * as Rig from "./Rig.ts"
import type { Sample } from "./Row.ts"
import { median } from "./Row.ts"
import { compileSchemas, measure, sized, sliced, steps_per_run, turnAt } from "./Work.ts"

/** Few, so that what is kept until the end of a batch is not what a garbage collector is busy with. */
const runs_per_batch = 20

/** What of a scope's lifetime is the process's. */
const held = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>): Promise<A> =>
  Effect.runPromise(Effect.provideService(effect, Scope.Scope, Scope.makeUnsafe()))

const bareBatch = async (runs: number, steps: number, calls: number) => {
  await compileSchemas()
  const loop = BareLoop.make()
  const model: BareLoop.Model = (_, step) => Exit.succeed(turnAt(step, steps, calls))
  return {
    prepare: () => Promise.resolve(),
    run: async () => {
      // Kept until the batch is over, as a journal would.
      const kept = await Effect.runPromise(
        Effect.forEach(Array.from({ length: runs }), () => loop(model))
      )
      if (kept.at(-1)!.length !== 2 + steps * (1 + calls)) throw new Error("a step is missing")
      return runs * steps
    }
  }
}

const loopBatch = async (runs: number, steps: number, calls: number) => {
  await compileSchemas()
  const rig = await held(Rig.make((request) => Exit.succeed(turnAt(request.step, steps, calls))))
  return {
    prepare: () => {
      rig.observed.calls = 0
      return Effect.runPromise(rig.claimed(runs))
    },
    run: async (claimed: Rig.Claimed) => {
      // Runs of one conversation, one after the other, in the fiber of its actor.
      const all = Effect.forEach(claimed.claims, claimed.run, { discard: true })
      await Effect.runPromise(Effect.provideContext(all, Rig.actorContext()))
      if (rig.observed.calls !== runs * steps * calls) throw new Error("a call is missing")
      return runs * steps
    }
  }
}

export const bare = async (): Promise<Sample> =>
  measure(await bareBatch(runs_per_batch, steps_per_run, 1))

export const loop = async (): Promise<Sample> =>
  measure(await loopBatch(runs_per_batch, steps_per_run, 1))

/** Per call of one turn. */
export const bareFan = async (calls: string): Promise<Sample> => {
  const n = Number(calls)
  const { prepare, run } = await bareBatch(Math.ceil(1_000 / n), 1, n)
  return measure({ prepare, run: async () => (await run()) * n })
}

export const loopFan = async (calls: string): Promise<Sample> => {
  const n = Number(calls)
  const { prepare, run } = await loopBatch(Math.ceil(1_000 / n), 1, n)
  return measure({ prepare, run: async (claimed: Rig.Claimed) => (await run(claimed)) * n })
}

export const loopHistory = async (steps: string): Promise<Sample> => {
  const n = Number(steps)
  return measure(await loopBatch(Math.ceil(1_000 / n), n - 1, 1))
}

const concurrent_runs = sized(10, 1_000)
const turn_ms = 5

/** As many times as it takes until the compiler is done. */
const warm_trials = sized(1, 12)

/** Wall time of all runs, and the 99th percentile of how late the event loop was: medians of the trials. */
const atOnce = async (prepare: () => Promise<ReadonlyArray<Effect.Effect<unknown, unknown>>>) => {
  const trials: Array<Sample> = []
  const trial = async () => {
    const runs = await prepare()
    // A young collection only. A full one would drop code that was compiled for shapes of which no object lives, as none of
    // a run does between two trials, and what was measured would be the compiler: no service ever has no runs.
    globalThis.gc?.({ type: "minor" })
    const lag = monitorEventLoopDelay({ resolution: 1 })
    lag.enable()
    const began = performance.now()
    await Effect.runPromise(Effect.all(runs, { concurrency: "unbounded", discard: true }))
    const wall_ms = performance.now() - began
    lag.disable()
    trials.push({ wall_ms, lag_ms: lag.percentile(99) / 1e6 })
  }
  return sliced(
    {
      warm: async () => {
        for (let time = 0; time < warm_trials; time++) await trial()
        trials.length = 0
      },
      slice: trial,
      sample: () => ({
        wall_ms: median(trials.map((each) => each["wall_ms"]!)),
        lag_ms: median(trials.map((each) => each["lag_ms"]!))
      })
    },
    9
  )
}

const slow = (turn: ReturnType<typeof turnAt>) => Effect.as(Effect.sleep(turn_ms), turn)

export const bareConcurrent = async (): Promise<Sample> => {
  await compileSchemas()
  const loop = BareLoop.make()
  return atOnce(() =>
    Promise.resolve(
      Array.from({ length: concurrent_runs }, () =>
        loop((_, step) => slow(turnAt(step, steps_per_run)))
      )
    )
  )
}

export const loopConcurrent = async (): Promise<Sample> => {
  await compileSchemas()
  const rig = await held(Rig.make((request) => slow(turnAt(request.step, steps_per_run))))
  return atOnce(async () => {
    const { claims, run } = await Effect.runPromise(rig.claimed(concurrent_runs))
    return claims.map((claim) => Effect.provideContext(run(claim), Rig.actorContext()))
  })
}
