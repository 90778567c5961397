/**
 * One thread that owns all order and all time: which task runs next is drawn from a seed, and the clock jumps to the
 * next timer when no task is left. Processes share it; one that is killed loses its tasks and timers without a
 * finalizer, one that is paused keeps them for later.
 */
import { Context, Duration, Effect, Logger, Random, References, Scheduler } from "effect"
import { Clock } from "effect"
import { WebCrypto } from "effect/crypto"

export type Rng = () => number

/** mulberry32: 32 bits of state, good enough to draw schedules from. */
export const rng = (seed: number): Rng => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** A number from a text and a seed: the same at every asking, whoever asks. */
export const hash = (seed: number, text: string): number => {
  let h = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  h ^= h >>> 15
  h = Math.imul(h, 0x2c1b3c6d)
  return (h ^ (h >>> 12)) >>> 0
}

interface Task {
  readonly process: Process
  readonly run: () => void
}

interface Timer {
  readonly at: number
  readonly process: Process
  fire: (() => void) | undefined
}

export type Verdict = "done" | "deadlock" | "livelock"

export class Kernel {
  /** Monotonic, in ms; the wall clock is this and `offset`. */
  now = 0
  offset = 1_800_000_000_000
  steps = 0
  /** Every choice that was made, so that two runs can be compared. */
  trace = 0
  readonly #random: Rng
  /**
   * Some seeds keep the order of arrival, as a real event loop does; some turn it round, so that whoever yields waits
   * until all that follows from the others is done; most have none.
   */
  readonly #order: "arrival" | "reverse" | "drawn"
  readonly #yields_max: number
  #tasks: Array<Task> = []
  #timers: Array<Timer> = []

  constructor(seed: number) {
    this.#random = rng(seed)
    const order = this.#random()
    this.#order = order < 0.2 ? "arrival" : order < 0.4 ? "reverse" : "drawn"
    this.#yields_max = 2 ** (2 + Math.floor(this.#random() * 10))
  }

  /** How many operations a fiber may do before it yields. */
  budget(): number {
    return 1 + Math.floor(this.#random() * this.#yields_max)
  }

  schedule(process: Process, run: () => void) {
    this.#tasks.push({ process, run })
  }

  timer(process: Process, ms: number, fire: () => void): () => void {
    const timer: Timer = { at: this.now + Math.max(ms, 0), process, fire }
    let i = this.#timers.length
    while (i > 0 && this.#timers[i - 1]!.at < timer.at) i--
    // The next one to fire is the last of the list; of two at one time the one that came first.
    while (i > 0 && this.#timers[i - 1]!.at === timer.at && this.#random() < 0.5) i--
    this.#timers.splice(i, 0, timer)
    return () => {
      timer.fire = undefined
    }
  }

  /** Tasks and timers that are left of a process. */
  left(process: Process): number {
    let count = process.held
    for (const task of this.#tasks) if (task.process === process) count++
    for (const timer of this.#timers) if (timer.process === process && timer.fire) count++
    return count
  }

  drop(process: Process) {
    this.#tasks = this.#tasks.filter((task) => task.process !== process)
    this.#timers = this.#timers.filter((timer) => timer.process !== process)
  }

  #next(): Task | undefined {
    const tasks = this.#tasks
    if (tasks.length === 0) return undefined
    if (this.#order === "arrival") return tasks.shift()
    if (this.#order === "reverse") return tasks.pop()
    const i = Math.floor(this.#random() * tasks.length)
    this.trace = (Math.imul(this.trace, 31) + i) | 0
    const task = tasks[i]!
    tasks[i] = tasks[tasks.length - 1]!
    tasks.pop()
    return task
  }

  run(done: () => boolean, steps_max: number): Verdict {
    while (!done()) {
      if (++this.steps > steps_max) return "livelock"
      const task = this.#next()
      if (task !== undefined) {
        task.process.enter(task.run)
        continue
      }
      const timer = this.#timers.pop()
      if (timer === undefined) return "deadlock"
      this.now = Math.max(this.now, timer.at)
      if (timer.fire !== undefined) timer.process.enter(timer.fire)
    }
    return "done"
  }
}

export class Process {
  readonly name: string
  readonly kernel: Kernel
  alive = true
  #paused = false
  #stash: Array<() => void> = []
  readonly context: Context.Context<never>

  constructor(kernel: Kernel, name: string, random: Rng) {
    this.name = name
    this.kernel = kernel
    this.context = Context.empty().pipe(
      Context.add(Scheduler.Scheduler, this.#scheduler()),
      Context.add(Clock.Clock, this.#clock()),
      Context.add(Random.Random, {
        nextIntUnsafe: () => Math.floor((random() - 0.5) * Number.MAX_SAFE_INTEGER),
        nextDoubleUnsafe: random
      }),
      Context.add(WebCrypto.WebCrypto, seeded(random)),
      Context.add(Logger.CurrentLoggers, new Set()),
      // Spans take their ids from no seed, and cost a third of the time.
      Context.add(References.TracerEnabled, false)
    ) as Context.Context<never>
  }

  /** Tasks that wait for the end of a pause. */
  get held(): number {
    return this.#stash.length
  }

  enter(run: () => void) {
    if (!this.alive) return
    if (this.#paused) this.#stash.push(run)
    else run()
  }

  /** A crash is no interruption: nothing is finalized, and nothing of it ever runs again. */
  kill() {
    this.alive = false
    this.#stash = []
    this.kernel.drop(this)
  }

  pause() {
    this.#paused = true
  }

  resume() {
    this.#paused = false
    for (const run of this.#stash) this.kernel.schedule(this, run)
    this.#stash = []
  }

  get isPaused(): boolean {
    return this.#paused
  }

  fork<A, E>(effect: Effect.Effect<A, E>) {
    return Effect.runForkWith(this.context)(effect)
  }

  #scheduler(): Scheduler.Scheduler {
    let left = this.kernel.budget()
    const dispatcher: Scheduler.SchedulerDispatcher = {
      scheduleTask: (run) => {
        if (this.alive) this.kernel.schedule(this, run)
      },
      flush: () => {}
    }
    return {
      executionMode: "async",
      makeDispatcher: () => dispatcher,
      shouldYield: () => {
        if (--left > 0) return false
        left = this.kernel.budget()
        return true
      }
    }
  }

  #clock(): Clock.Clock {
    const { kernel } = this
    const wall = () => Math.floor(kernel.now + kernel.offset)
    const nanos = () => BigInt(Math.floor(kernel.now * 1_000_000))
    return {
      currentTimeMillisUnsafe: wall,
      currentTimeMillis: Effect.sync(wall),
      currentTimeNanosUnsafe: () => BigInt(wall()) * 1_000_000n,
      currentTimeNanos: Effect.sync(() => BigInt(wall()) * 1_000_000n),
      monotonicTimeNanosUnsafe: nanos,
      monotonicTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.callback((resume) => {
          if (!this.alive) return undefined
          const ms = Duration.toMillis(duration)
          if (ms === Infinity) return undefined
          const cancel = kernel.timer(this, ms, () => resume(Effect.void))
          return Effect.sync(cancel)
        })
    }
  }
}

const seeded = (random: Rng): typeof globalThis.crypto =>
  ({
    getRandomValues: (array: Uint8Array) => {
      for (let i = 0; i < array.length; i++) array[i] = Math.floor(random() * 256)
      return array
    }
  }) as unknown as typeof globalThis.crypto
