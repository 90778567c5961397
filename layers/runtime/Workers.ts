/**
 * The pieces of work of one run that are in the air, each in a fiber of its own that is polled at once: one that is
 * already done is taken directly, any other reports when it ends. What is done before it begins gets no fiber.
 */
import { Exit } from "effect"
import type { Effect, Fiber } from "effect"
import type { RunInput } from "../../src/run/RunDecider.ts"
import type { Work } from "../../src/run/RunWork.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import type { Deadlines } from "./Deadlines.ts"
import type { Started } from "./ToolBody.ts"

export type Fork = <A, E>(effect: Effect.Effect<A, E, AgentMemory>) => Fiber.Fiber<A, E>

export interface Worker {
  readonly work: Work
  fiber: Fiber.Fiber<RunInput | undefined> | undefined
  cancelDeadline: (() => void) | undefined
  /** Wakes the call's fiber when its question is answered; set while it waits for a person. */
  answered: (() => void) | undefined
}

export interface Host {
  readonly fork: Fork
  readonly deadlines: Deadlines
  /** A piece has something to say; it counts as running until that is written. */
  readonly report: (key: string, input: RunInput) => void
  /** A piece ended with nothing to say: what it did is written already, or did not stand. */
  readonly silent: () => void
  /** What a piece says whose fiber failed. */
  readonly died: (work: Work, exit: Exit.Failure<unknown, never>) => RunInput
}

export class Workers {
  readonly #host: Host
  readonly #workers = new Map<string, Worker>()

  constructor(host: Host) {
    this.#host = host
  }

  has(key: string): boolean {
    return this.#workers.has(key)
  }

  /** What the piece said is written: it runs no more. */
  written(key: string): void {
    this.#workers.delete(key)
  }

  /** Pieces that do something, and do not only wait for a person. */
  get busy(): number {
    let busy = 0
    for (const worker of this.#workers.values()) if (worker.answered === undefined) busy++
    return busy
  }

  /** Starts a piece. True if it was done at once: then it has reported, and no fiber is left. */
  start(work: Work, make: (worker: Worker) => Started): boolean {
    const { deadlines, fork } = this.#host
    const worker: Worker = {
      work,
      fiber: undefined,
      cancelDeadline: undefined,
      answered: undefined
    }
    this.#workers.set(work.key, worker)
    const { effect, late, timeout_ms } = make(worker)
    if (isDone(effect)) {
      this.#ended(worker, effect)
      return true
    }
    const fiber = fork(effect)
    worker.fiber = fiber
    const done = fiber.pollUnsafe()
    if (done !== undefined) {
      this.#ended(worker, done)
      return true
    }
    if (late !== undefined && timeout_ms !== undefined) {
      worker.cancelDeadline = deadlines.after(timeout_ms, () => {
        if (worker.fiber !== fiber) return
        // The deadline speaks for the piece, so that the end of its fiber is no longer listened to.
        worker.fiber = undefined
        this.#host.report(work.key, late())
        fiber.interruptUnsafe()
      })
    }
    fiber.addObserver((exit) => {
      worker.cancelDeadline?.()
      if (worker.fiber === fiber) this.#ended(worker, exit)
    })
    return false
  }

  #ended(worker: Worker, exit: Exit.Exit<RunInput | undefined>): void {
    worker.fiber = undefined
    // Whoever interrupts a piece forgets it first, so whatever else ended it is a defect.
    if (Exit.isFailure(exit)) {
      return this.#host.report(worker.work.key, this.#host.died(worker.work, exit))
    }
    if (exit.value !== undefined) return this.#host.report(worker.work.key, exit.value)
    this.#workers.delete(worker.work.key)
    this.#host.silent()
  }

  /** Interrupts what runs and is not among the wanted. */
  keep(wanted: ReadonlyArray<Work>): void {
    if (this.#workers.size === 0) return
    const keys = new Set<string>()
    for (const work of wanted) keys.add(work.key)
    for (const [key, worker] of this.#workers) {
      if (keys.has(key)) continue
      this.#workers.delete(key)
      stop(worker)
    }
  }

  interruptAll(): void {
    for (const worker of this.#workers.values()) stop(worker)
    this.#workers.clear()
  }

  /** Wakes the calls that waited for a person and may go on. */
  wakeAnswered(mayGoOn: (work: Work) => boolean): void {
    for (const worker of this.#workers.values()) {
      if (worker.answered === undefined || !mayGoOn(worker.work)) continue
      const wake = worker.answered
      worker.answered = undefined
      wake()
    }
  }
}

/** An Effect that is its own result. */
const isDone = <A>(effect: Effect.Effect<A, never, AgentMemory>): effect is Exit.Exit<A> =>
  Exit.isExit(effect)

const stop = (worker: Worker): void => {
  const { fiber } = worker
  worker.fiber = undefined
  worker.cancelDeadline?.()
  fiber?.interruptUnsafe()
}
