/**
 * The pieces of work of one run that are in the air, each in a fiber of its own that is polled at once: one that is
 * already done is taken directly, any other reports when it ends. What is done before it begins gets no fiber.
 */
import { Exit, Result } from "effect"
import type { Effect, Fiber } from "effect"
import type { RunInput } from "../../src/run/RunDecider.ts"
import type { Work } from "../../src/run/RunWork.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import type { Deadlines } from "./Deadlines.ts"
import type { Started } from "./ToolBody.ts"

export type Fork = <A, E>(effect: Effect.Effect<A, E, AgentMemory>) => Fiber.Fiber<A, E>

interface Worker {
  readonly work: Work
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  cancelDeadline: (() => void) | undefined
}

export interface Host {
  readonly fork: Fork
  /** What a piece does. */
  readonly begin: (work: Work) => Started
  readonly deadlines: Deadlines
  /** A piece has something to say; it counts as running until that is written. */
  readonly report: (key: string | undefined, input: RunInput) => void
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

  /** Pieces that run. */
  get busy(): number {
    return this.#workers.size
  }

  /** Starts a piece. True if it was done at once: then it has reported, and no fiber is left. */
  start(work: Work): boolean {
    const { deadlines, fork } = this.#host
    const worker: Worker = {
      work,
      fiber: undefined,
      cancelDeadline: undefined
    }
    const started = this.#host.begin(work)
    if (isDone(started.effect)) {
      this.#said(work, started, started.effect, undefined)
      return true
    }
    const fiber = fork(started.effect)
    const done = fiber.pollUnsafe()
    if (done !== undefined) {
      this.#said(work, started, done, undefined)
      return true
    }
    worker.fiber = fiber
    this.#workers.set(work.key, worker)
    if (started.timeout_ms !== undefined) {
      worker.cancelDeadline = deadlines.after(started.timeout_ms, () => {
        if (worker.fiber !== fiber) return
        // The deadline speaks for the piece, so that the end of its fiber is no longer listened to.
        worker.fiber = undefined
        this.#said(work, started, undefined, work.key)
        fiber.interruptUnsafe()
      })
    }
    fiber.addObserver((exit) => {
      worker.cancelDeadline?.()
      if (worker.fiber !== fiber) return
      worker.fiber = undefined
      this.#said(work, started, exit, work.key)
    })
    return false
  }

  /**
   * Reports what a piece says at its end, or when its time is over (`exit` is undefined). `key`: it is kept among those
   * that run until that is written; a piece that was done at once never was.
   */
  #said(
    work: Work,
    { settle }: Started,
    exit: Exit.Exit<unknown, unknown> | undefined,
    key: string | undefined
  ): void {
    // Whoever interrupts a piece forgets it first, so whatever else ended it is a defect; so is a throw while it settles.
    const said =
      settle === undefined ? (exit as Exit.Exit<RunInput | undefined>) : settled(settle, exit)
    if (Exit.isFailure(said)) return this.#host.report(key, this.#host.died(work, said))
    if (said.value !== undefined) return this.#host.report(key, said.value)
    if (key !== undefined) this.#workers.delete(key)
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
}

const settled = (
  settle: (exit: Exit.Exit<unknown, unknown> | undefined) => RunInput,
  exit: Exit.Exit<unknown, unknown> | undefined
): Exit.Exit<RunInput> => {
  const said = Result.try(() => settle(exit))
  return Result.isSuccess(said) ? Exit.succeed(said.success) : Exit.die(said.failure)
}

/** An Effect that is its own result. */
const isDone = (
  effect: Effect.Effect<unknown, unknown, AgentMemory>
): effect is Exit.Exit<unknown, unknown> => Exit.isExit(effect)

const stop = (worker: Worker): void => {
  const { fiber } = worker
  worker.fiber = undefined
  worker.cancelDeadline?.()
  fiber?.interruptUnsafe()
}
