/**
 * One seed, from the first message to the last stop: the unmodified runtime on the ephemeral stores, in processes that
 * crash, sleep and come back, judged after every crash and at the end.
 */
import { Effect, Fiber } from "effect"
import type { Mutation } from "./Generation.ts"
import { Generation, lease_ms } from "./Generation.ts"
import { judge, judgeEnd } from "./Judge.ts"
import type { Process } from "./Kernel.ts"
import { hash } from "./Kernel.ts"
import { approving, cancelling, noting, operating, sending, watching } from "./People.ts"
import type { Town } from "./People.ts"
import { unlock } from "./Ports.ts"
import { isParkable } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import type { Faults } from "./World.ts"
import { World } from "./World.ts"

export interface Options {
  /** Absent = drawn from the seed. */
  readonly faults?: Faults
  /** I/O points at which a process dies. */
  readonly crash_at?: ReadonlyArray<number>
  readonly mutation?: Mutation
  /** One short conversation and no chaos: for the sweep, which repeats it at every point. */
  readonly small?: boolean
  /** Absent = drawn from the seed. */
  readonly loops_per_turn?: number | undefined
  /** Does somebody watch each conversation? Absent = drawn from the seed. */
  readonly watched?: boolean
}

export interface Result {
  readonly seed: number
  readonly violations: ReadonlyArray<string>
  readonly points: number
  readonly steps: number
  readonly counts: ReadonlyMap<string, number>
  /** Every event of every run, and every choice of the scheduler. */
  readonly digest: string
}

/** Twice what the longest of 1,500 seeds takes, with watchers. */
const steps_max = 800_000
/** How long faults go on, and how long everything may take after them, in ms of simulated time. */
const noise_ms = 12_000
const patience_ms = 1_200_000
/** How long a run may need for what needs no person: a lease, a sweep, the longest delay of a store, and a lost call. */
const wait_ms = 60_000

class Simulation {
  readonly world: World
  readonly options: Options
  readonly town: Town
  generations: Array<Generation> = []
  quiet = false
  late = false
  /** By how much the clock went back, in all. */
  jumped_ms = 0
  over = false
  #booted = 0

  constructor(seed: number, options: Options) {
    this.options = options
    const { crash_at = [], faults, loops_per_turn, small } = options
    this.world = new World(seed, faults, new Set(crash_at), small, loops_per_turn)
    this.world.crashed = (process) => this.#crashed(process)
    this.town = {
      world: this.world,
      live: () => {
        const up = this.generations.filter((each) => each.isUp && !each.process.isPaused)
        return up.length === 0 ? undefined : this.world.pick(up)
      },
      isQuiet: () => this.quiet,
      isLate: () => this.late,
      isOver: () => this.over
    }
  }

  boot() {
    const { mutation = {} } = this.options
    const policy = this.#booted > 0 && this.world.seed % 5 === 0 ? "2" : "1"
    if (policy === "2") this.world.count("a policy that changed")
    const name = `process ${++this.#booted}`
    this.generations.push(new Generation(this.world, name, mutation, policy))
  }

  #crashed(process: Process) {
    const { world } = this
    unlock(world, process)
    this.generations = this.generations.filter((each) => each.process !== process)
    world.outside.fork(
      Effect.gen({ self: this }, function* () {
        judge(world)
        yield* Effect.sleep(world.between(0, 2_000))
        this.#revive()
      })
    )
  }

  /** Whoever runs the service starts it again. */
  #revive() {
    if (!this.over && this.generations.length === 0) this.boot()
  }

  readonly watchman = Effect.gen({ self: this as Simulation }, function* () {
    while (!this.over) {
      yield* Effect.sleep(2_500)
      this.#revive()
    }
  })

  /** What happens to processes while faults last. */
  readonly chaos = Effect.gen({ self: this as Simulation }, function* () {
    const { world } = this
    const kinds = ["crash", "pause", "zombie", "stop", "join", "jump"] as const
    const calm = world.between(300, 4_000)
    while (!this.quiet) {
      yield* Effect.sleep(world.between(0, calm))
      const generation = this.town.live()
      if (generation === undefined || this.quiet) continue
      switch (world.pick(kinds)) {
        case "crash":
          if (world.crashes_left-- > 0) {
            world.count("a crash at any time")
            world.kill(generation.process)
          }
          break
        case "pause":
          world.count("a pause")
          this.pause(generation, world.between(50, lease_ms * 2))
          break
        case "zombie":
          world.count("a zombie that goes on")
          this.pause(generation, lease_ms + world.between(500, 4_000))
          if (this.generations.length < 3) this.boot()
          break
        case "stop":
          world.count("a graceful stop")
          if (this.generations.length < 2) this.boot()
          yield* this.stop(generation)
          break
        case "join":
          if (this.generations.length < 3) {
            world.count("a second process")
            this.boot()
          }
          break
        case "jump":
          world.count("a clock that jumped")
          if (world.chance(0.5)) world.kernel.offset += world.between(100, 600_000)
          else {
            const back = world.between(100, 60_000)
            world.kernel.offset -= back
            // A lease of somebody who died is as much longer.
            this.jumped_ms += back
          }
          break
      }
    }
  })

  pause({ process }: Generation, ms: number) {
    process.pause()
    this.world.kernel.timer(this.world.outside, ms, () => process.resume())
  }

  /** Stops one process as SIGTERM does, and looks at what it leaves. */
  stop(generation: Generation) {
    const { world } = this
    const { process } = generation
    return Effect.gen({ self: this as Simulation }, function* () {
      const stopped = yield* generation.stop()
      if (!process.alive) return
      this.generations = this.generations.filter((each) => each !== generation)
      if (!stopped) return world.violate("a stop that never ended")
      // Bodies that may not be interrupted end by themselves, within two timeouts.
      yield* Effect.sleep(2_000)
      if (process.isPaused) process.resume()
      yield* Effect.sleep(1_000)
      while (process.alive && generation.pending > 0) yield* Effect.sleep(1_000)
      if (!process.alive) return
      if ((world.active.get(process) ?? 0) > 0) world.violate("a body was left after a stop")
      if (world.kernel.left(process) > 0) world.violate("a timer was left after a stop")
      process.kill()
      unlock(world, process)
    })
  }

  get #isSettled(): boolean {
    const { accepted, store } = this.world
    for (const id of accepted.values()) {
      const status = store.tasks.get(id)?.task.status
      if (status !== "complete" && status !== "failed") return false
    }
    for (const run of store.runs.values()) {
      const given = this.world.watched.get(run.conversation)
      if (given !== undefined && given.get(run.ordinal) !== run.entries.length - 1) return false
    }
    return (
      store.messages.size === 0 && ![...store.dead.values()].some((d) => d.letter.status === "dead")
    )
  }

  /** Where a run waits for somebody, everything else of it is done. */
  #judgeWaiting() {
    const { world } = this
    for (const { record } of world.store.pending.values()) {
      if (record.expires_at !== undefined && record.expires_at < world.now - wait_ms / 2) {
        world.violate("a question is open long after its time")
      }
    }
    for (const run of world.store.runs.values()) {
      if (run.status === "awaiting_approval") world.count("a run that waits for somebody")
      const state = fold(run.entries.map((entry) => entry.event))
      // Whoever asked a moment ago is not late.
      const last = run.entries.at(-1)!.at
      if (world.now - last < wait_ms / 2 || run.status !== "awaiting_approval") continue
      if (!isParkable(state)) world.violate("work waits beside a question that nobody has answered")
    }
  }

  readonly main = Effect.gen({ self: this as Simulation }, function* () {
    const { options, town, world } = this
    this.boot()
    const conversations = options.small === true ? 1 : world.between(1, 4)
    const senders = yield* Effect.forkChild(
      Effect.forEach(
        Array.from({ length: conversations }, (_, i) => i),
        (i) => sending(town, i, options.small === true ? 1 : world.between(1, 4)),
        { concurrency: "unbounded" }
      )
    )
    if (options.watched ?? hash(world.seed, "watch") % 2 === 0) {
      for (let i = 0; i < conversations; i++) yield* Effect.forkChild(watching(town, i))
    }
    yield* Effect.forkChild(this.watchman)
    yield* Effect.forkChild(approving(town))
    yield* Effect.forkChild(operating(town))
    if (options.small !== true) {
      yield* Effect.forkChild(cancelling(town, world.chance(0.5) ? 0.2 : 0))
      yield* Effect.forkChild(noting(town, 6))
      yield* Effect.forkChild(this.chaos)
      yield* Effect.sleep(noise_ms)
    }
    this.quiet = true
    world.faults = { ...world.faults, ...quietly }
    world.crashes_left = 0
    this.#revive()
    yield* Fiber.join(senders)
    if (options.small !== true) {
      yield* Effect.sleep(wait_ms + this.jumped_ms)
      this.#judgeWaiting()
    }
    this.late = true
    const until = world.kernel.now + patience_ms
    // Settled twice in a row: what a zombie may still do is seen too.
    for (let settled = 0; settled < 2; settled = this.#isSettled ? settled + 1 : 0) {
      if (world.kernel.now > until) {
        world.violate("something waits for ever")
        break
      }
      yield* Effect.sleep(options.small === true ? 400 : 2_000)
    }
    this.over = true
    for (const generation of this.generations.slice()) yield* this.stop(generation)
  })

  /** What is thrown outside of fibers would end a process: here it is a verdict, and a planted bug that leads to it is seen. */
  #played(isDone: () => boolean): string {
    try {
      return this.world.kernel.run(isDone, steps_max)
    } catch (error) {
      return `a process threw ${String(error)}`
    }
  }

  run(): Result {
    const { world } = this
    const fiber = world.outside.fork(this.main)
    const verdict = this.#played(() => fiber.pollUnsafe() !== undefined)
    const exit = fiber.pollUnsafe()
    if (verdict !== "done") world.violate(`${verdict} after ${world.kernel.steps} steps`)
    else if (exit?._tag === "Failure") world.violate(`the simulation broke: ${exit.cause}`)
    judgeEnd(world, judge(world))
    const entries = [...world.store.runs.values()].map((run) => run.entries)
    return {
      seed: world.seed,
      violations: [...new Set(world.violations)],
      points: world.points,
      steps: world.kernel.steps,
      counts: world.counts,
      // A trace id is drawn by the tracer, from no seed, and means nothing to a run.
      digest: `${world.kernel.trace} ${JSON.stringify(entries).replaceAll(/"trace_id":"[0-9a-f]*"/g, '"trace_id":""')}`
    }
  }
}

const quietly = { before: 0, after: 0, slow: 0, crash: 0, tool: 0, model: 0, delivery: 0 }

export const simulate = (seed: number, options: Options = {}): Result =>
  new Simulation(seed, options).run()
