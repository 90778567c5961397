/**
 * The pieces of work of one run that are in the air, each in a fiber of its own that is polled at once: one that is
 * already done is taken directly, any other reports when it ends. What is done before it begins gets no fiber.
 */
import { Effect, Exit, Fiber } from "effect"
import { isDone } from "../../../src/run/FirstStep.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Work } from "../../../src/run/RunWork.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { Fork, Started } from "../tool/CallHost.ts"

/** A piece that runs, known by its key until what it said is written. */
export interface Worker {
  readonly key: string
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  cancelDeadline: (() => void) | undefined
}

export interface Host {
  readonly fork: Fork
  readonly deadlines: Deadlines
  /** What a piece does. */
  begin(work: Work): Started
  /** What a piece says, if anything; a worker counts as running until that is written. Nobody looks at it yet. */
  say(worker: Worker | undefined, input: RunInput | undefined): void
  /** Looks at what was said, in the fiber of the piece that said it. */
  goOn(): void
  /** The same, from anywhere. */
  awake(): void
  /** What a piece says whose fiber failed. */
  died(work: Work, exit: Exit.Failure<unknown, never>): RunInput
}

const none: ReadonlyMap<string, Worker> = new Map()

export class Workers {
  readonly #host: Host
  /** Usually one alone runs: a map of one that is emptied and filled at each step is built anew each time. */
  #first: Worker | undefined
  #others: Map<string, Worker> | undefined
  /** Interrupted, and not known to have ended: a body may clean up for a while. */
  #ending: Array<Fiber.Fiber<unknown, unknown>> | undefined

  constructor(host: Host) {
    this.#host = host
  }

  has(key: string): boolean {
    return this.#first?.key === key || this.#others?.has(key) === true
  }

  #add(worker: Worker) {
    if (this.#first === undefined) this.#first = worker
    else (this.#others ??= new Map()).set(worker.key, worker)
  }

  /** What the piece said is written: it runs no more. */
  written(key: string): void {
    if (this.#first?.key === key) this.#first = undefined
    else this.#others?.delete(key)
  }

  /** Pieces that run. */
  get busy(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#others?.size ?? 0)
  }

  /** Starts a piece. True if it was done at once: then it has reported, and no fiber is left. */
  start(work: Work): boolean {
    return this.#run(work, this.#host.begin(work))
  }

  #run(work: Work, started: Started): boolean {
    if (isDone(started.effect)) {
      return this.#ended(work, started, started.effect, undefined)
    }
    const fork = started.ended === undefined ? this.#host.fork : (started.fork ?? this.#host.fork)
    const fiber = fork<unknown, unknown>(started.effect)
    const done = fiber.pollUnsafe()
    if (done !== undefined) return this.#ended(work, started, done, undefined)
    const worker: Worker = { key: work.key, fiber, cancelDeadline: undefined }
    this.#add(worker)
    if (started.ended !== undefined && started.timeout_ms > 0) {
      worker.cancelDeadline = this.#host.deadlines.after(started.timeout_ms, () => {
        if (worker.fiber !== fiber) return
        // The deadline speaks for the piece, so that the end of its fiber is no longer listened to.
        worker.fiber = undefined
        this.#host.say(worker, started.late())
        this.#interrupt(fiber)
        this.#host.awake()
      })
    }
    fiber.addObserver((exit) => {
      worker.cancelDeadline?.()
      if (worker.fiber !== fiber) return
      worker.fiber = undefined
      this.#ended(work, started, exit, worker)
      this.#host.goOn()
    })
    return false
  }

  /**
   * Reports what a piece says at its end. A worker is kept among those that run until that is written; a piece that was
   * done at once never was one. True unless another piece runs in its place.
   */
  #ended(
    work: Work,
    started: Started,
    exit: Exit.Exit<unknown, unknown>,
    worker: Worker | undefined
  ): boolean {
    if (started.ended !== undefined) {
      const piece = Exit.isFailure(exit) ? started.instead?.(exit.cause) : undefined
      if (piece !== undefined) {
        if (worker !== undefined) this.written(worker.key)
        return this.#run(work, piece)
      }
      this.#host.say(worker, started.ended(exit))
      return true
    }
    // Whoever interrupts a piece forgets it first, so whatever else ended it is a defect.
    if (Exit.isFailure(exit)) {
      this.#host.say(worker, this.#host.died(work, exit as Exit.Failure<unknown, never>))
      return true
    }
    const said = exit.value as RunInput | undefined
    // With nothing to say, what it did is written already, or did not stand.
    if (said === undefined && worker !== undefined) this.written(worker.key)
    this.#host.say(worker, said)
    return true
  }

  /** Interrupts what runs and is not among the wanted. */
  keep(wanted: ReadonlyArray<Work>): void {
    if (this.busy === 0) return
    const isWanted = among(wanted)
    const first = this.#first
    if (first !== undefined && !isWanted(first.key)) {
      this.#first = undefined
      this.#stop(first)
    }
    for (const [key, worker] of this.#others ?? none) {
      if (isWanted(key)) continue
      this.#others!.delete(key)
      this.#stop(worker)
    }
  }

  /** Interrupts what runs. Waits until all of it has cleaned up, but not for ever: a body may hang in that too. */
  interruptAll(): Effect.Effect<void> {
    if (this.#first !== undefined) this.#stop(this.#first)
    for (const worker of this.#others?.values() ?? []) this.#stop(worker)
    this.#first = undefined
    this.#others = undefined
    return this.#ending === undefined
      ? Effect.void
      : Effect.asVoid(Effect.timeoutOption(Fiber.awaitAll(this.#ending), cleanup_ms_max))
  }

  #stop(worker: Worker): void {
    const { fiber } = worker
    worker.fiber = undefined
    worker.cancelDeadline?.()
    if (fiber !== undefined) this.#interrupt(fiber)
  }

  #interrupt(fiber: Fiber.Fiber<unknown, unknown>): void {
    fiber.interruptUnsafe()
    if (fiber.pollUnsafe() !== undefined) return
    const before = this.#ending?.filter((each) => each.pollUnsafe() === undefined) ?? []
    this.#ending = [...before, fiber]
  }
}

/** How long the end of a loop waits for what it interrupted. */
const cleanup_ms_max = 5_000

/** Usually one piece is wanted, and no set is worth making. */
const among = (wanted: ReadonlyArray<Work>): ((key: string) => boolean) => {
  if (wanted.length <= 4) return (key) => wanted.some((each) => each.key === key)
  const keys = new Set(wanted.map((each) => each.key))
  return (key) => keys.has(key)
}
