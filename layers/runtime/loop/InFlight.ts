/**
 * The pieces of work of one run that are in the air, each in a fiber of its own that is polled at once: one that is
 * already done is taken directly, any other reports when it ends. What is done before it begins gets no fiber.
 */
import { Effect, Exit, Fiber } from "effect"
import { isDone } from "../../../src/run/FirstStep.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Work } from "../../../src/run/RunWork.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { Fork, StartedWork } from "../tool/CallHost.ts"

/** A piece that runs, known by its key until what it said is written. */
export interface WorkInFlight {
  readonly key: string
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  cancelDeadline: (() => void) | undefined
}

export interface Host {
  readonly fork: Fork
  readonly deadlines: Deadlines
  /** What a piece does. */
  begin(work: Work): StartedWork
  /** What a piece says, if anything; it counts as running until that is written. Nobody looks at it yet. */
  complete(running: WorkInFlight | undefined, input: RunInput | undefined): void
  /** Looks at what was said, in the fiber of the piece that said it. */
  resumeSoon(): void
  /** The same, from anywhere. */
  wake(): void
  /** What a piece says whose fiber failed. */
  died(work: Work, exit: Exit.Failure<unknown, never>): RunInput
}

const none: ReadonlyMap<string, WorkInFlight> = new Map()

export class InFlight {
  readonly #host: Host
  /** Usually one alone runs: a map of one that is emptied and filled at each step is built anew each time. */
  #first: WorkInFlight | undefined
  #others: Map<string, WorkInFlight> | undefined
  /** Interrupted, and not known to have ended: a body may clean up for a while. */
  #ending: Array<Fiber.Fiber<unknown, unknown>> | undefined

  constructor(host: Host) {
    this.#host = host
  }

  has(key: string): boolean {
    return this.#first?.key === key || this.#others?.has(key) === true
  }

  #add(running: WorkInFlight) {
    if (this.#first === undefined) this.#first = running
    else (this.#others ??= new Map()).set(running.key, running)
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
    return this.#launch(work, this.#host.begin(work))
  }

  #launch(work: Work, started: StartedWork): boolean {
    if (isDone(started.effect)) {
      return this.#ended(work, started, started.effect, undefined)
    }
    const fork = started.ended === undefined ? this.#host.fork : (started.fork ?? this.#host.fork)
    const fiber = fork<unknown, unknown>(started.effect)
    const done = fiber.pollUnsafe()
    if (done !== undefined) return this.#ended(work, started, done, undefined)
    const running: WorkInFlight = { key: work.key, fiber, cancelDeadline: undefined }
    this.#add(running)
    if (started.ended !== undefined && started.timeout_ms > 0) {
      running.cancelDeadline = this.#host.deadlines.after(started.timeout_ms, () => {
        if (running.fiber !== fiber) return
        // The deadline speaks for the piece, so that the end of its fiber is no longer listened to.
        running.fiber = undefined
        this.#host.complete(running, started.late())
        this.#interrupt(fiber)
        this.#host.wake()
      })
    }
    fiber.addObserver((exit) => {
      running.cancelDeadline?.()
      if (running.fiber !== fiber) return
      running.fiber = undefined
      this.#ended(work, started, exit, running)
      this.#host.resumeSoon()
    })
    return false
  }

  /**
   * Reports what a piece says at its end. One that has a fiber is kept among those that run until that is written; a piece that was
   * done at once never was one. True unless another piece runs in its place.
   */
  #ended(
    work: Work,
    started: StartedWork,
    exit: Exit.Exit<unknown, unknown>,
    running: WorkInFlight | undefined
  ): boolean {
    if (started.ended !== undefined) {
      const piece = Exit.isFailure(exit) ? started.instead?.(exit.cause) : undefined
      if (piece !== undefined) {
        if (running !== undefined) this.written(running.key)
        return this.#launch(work, piece)
      }
      this.#host.complete(running, started.ended(exit))
      return true
    }
    // Whoever interrupts a piece forgets it first, so whatever else ended it is a defect.
    if (Exit.isFailure(exit)) {
      this.#host.complete(running, this.#host.died(work, exit as Exit.Failure<unknown, never>))
      return true
    }
    const said = exit.value as RunInput | undefined
    // With nothing to say, what it did is written already, or did not stand.
    if (said === undefined && running !== undefined) this.written(running.key)
    this.#host.complete(running, said)
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
    for (const [key, running] of this.#others ?? none) {
      if (isWanted(key)) continue
      this.#others!.delete(key)
      this.#stop(running)
    }
  }

  /** Interrupts what runs. Waits until all of it has cleaned up, but not for ever: a body may hang in that too. */
  interruptAll(): Effect.Effect<void> {
    if (this.#first !== undefined) this.#stop(this.#first)
    for (const running of this.#others?.values() ?? []) this.#stop(running)
    this.#first = undefined
    this.#others = undefined
    return this.#ending === undefined
      ? Effect.void
      : Effect.asVoid(Effect.timeoutOption(Fiber.awaitAll(this.#ending), cleanup_ms_max))
  }

  #stop(running: WorkInFlight): void {
    const { fiber } = running
    running.fiber = undefined
    running.cancelDeadline?.()
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
