/**
 * The work of one run that is in flight, each piece in a fiber of its own. A fiber is polled at once: work that is done by
 * then completes without waiting for an observer, and work that is done before it begins gets no fiber (bench row `step`).
 */
import { Effect, Exit, Fiber } from "effect"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Work } from "../../../src/run/RunWork.ts"
import type { InputWork, StartedWork, TimedWork } from "../tool/CallHost.ts"
import { isDone } from "../fiber/Coroutine.ts"
import type { LoopHost, WorkInFlight } from "./LoopHost.ts"

/** How long the end of a loop waits for what it interrupted. */
const cleanup_ms_max = 5_000

const none: ReadonlyMap<string, WorkInFlight> = new Map()

export class InFlight {
  readonly #loop: LoopHost
  /** Usually there is one: V8 rebuilds a map that is emptied and filled at each step (bench row `concurrent`). */
  #first: WorkInFlight | undefined
  #others: Map<string, WorkInFlight> | undefined
  /** Interrupted fibers that have not ended: a body may take a while to clean up. */
  #ending: Array<Fiber.Fiber<unknown, unknown>> | undefined
  /** Of the work that is being started. */
  #bytes = 0

  constructor(loop: LoopHost) {
    this.#loop = loop
  }

  get count(): number {
    return (this.#first === undefined ? 0 : 1) + (this.#others?.size ?? 0)
  }

  has(key: string): boolean {
    return this.#first?.key === key || this.#others?.has(key) === true
  }

  #add(key: string, fiber: Fiber.Fiber<unknown, unknown>): WorkInFlight {
    const running: WorkInFlight = { key, fiber, cancelDeadline: undefined, bytes: this.#bytes }
    this.#bytes = 0
    if (this.#first === undefined) this.#first = running
    else (this.#others ??= new Map()).set(key, running)
    return running
  }

  /** The work's input is durable, or it has none. */
  remove(key: string): void {
    const first = this.#first
    if (first?.key === key) {
      this.#first = undefined
      this.#loop.giveBack(first)
      return
    }
    const running = this.#others?.get(key)
    if (running === undefined) return
    this.#others?.delete(key)
    this.#loop.giveBack(running)
  }

  /** Starts work, for which so many bytes were taken. True if it was done at once: then nothing of it is in flight. */
  start(work: Work, bytes: number): boolean {
    this.#bytes = bytes
    return this.#launch(work, this.#loop.begin(work))
  }

  #launch(work: Work, started: StartedWork): boolean {
    return started.inputOfExit === undefined
      ? this.#launchInput(work, started)
      : this.#launchTimed(work, started)
  }

  #launchInput(work: Work, { effect }: InputWork): boolean {
    if (isDone(effect)) return this.#inputEnded(work, effect, undefined)
    const fiber = this.#loop.fork(effect)
    const done = fiber.pollUnsafe()
    if (done !== undefined) return this.#inputEnded(work, done, undefined)
    this.#awaitInput(work, fiber)
    return false
  }

  #launchTimed<A, E>(work: Work, timed: TimedWork<A, E>): boolean {
    const { effect } = timed
    if (isDone(effect)) return this.#timedEnded(work, timed, effect, undefined)
    const fiber = (timed.fork ?? this.#loop.fork)(effect)
    const done = fiber.pollUnsafe()
    if (done !== undefined) return this.#timedEnded(work, timed, done, undefined)
    this.#awaitTimed(work, timed, fiber)
    return false
  }

  // Functions of their own: what their closures need would be allocated for work that is done at once too (bench row `step`).

  #awaitInput(work: Work, fiber: Fiber.Fiber<RunInput | undefined>): void {
    const running = this.#add(work.key, fiber)
    fiber.addObserver((exit) => {
      if (running.fiber !== fiber) return
      running.fiber = undefined
      this.#inputEnded(work, exit, running)
      this.#loop.resumeSoon()
    })
  }

  #awaitTimed<A, E>(work: Work, timed: TimedWork<A, E>, fiber: Fiber.Fiber<A, E>): void {
    const running = this.#add(work.key, fiber)
    if (timed.timeout_ms > 0) {
      running.cancelDeadline = this.#loop.deadlines.after(timed.timeout_ms, () => {
        if (running.fiber !== fiber) return
        running.fiber = undefined
        this.#loop.complete(running, timed.inputOfTimeout())
        this.#interrupt(fiber)
        this.#loop.wake()
      })
    }
    fiber.addObserver((exit) => {
      running.cancelDeadline?.()
      if (running.fiber !== fiber) return
      running.fiber = undefined
      this.#timedEnded(work, timed, exit, running)
      this.#loop.resumeSoon()
    })
  }

  /** Completes work whose value is its input. `running` is undefined if it was done at once. */
  #inputEnded(
    work: Work,
    exit: Exit.Exit<RunInput | undefined>,
    running: WorkInFlight | undefined
  ): true {
    // Whoever interrupts a fiber here forgets it first, so whatever else ended it is a defect.
    const input = Exit.isSuccess(exit) ? exit.value : this.#loop.inputOfDefect(work, exit)
    if (input === undefined && running !== undefined) this.remove(running.key)
    this.#loop.complete(running, input)
    return true
  }

  /** The same for a body or a turn. False if other work was started in its place, and is not done yet. */
  #timedEnded<A, E>(
    work: Work,
    timed: TimedWork<A, E>,
    exit: Exit.Exit<A, E>,
    running: WorkInFlight | undefined
  ): boolean {
    const following = Exit.isFailure(exit)
      ? timed.workAfterFailure?.(exit.cause)
      : timed.workAfterSuccess?.(exit.value)
    if (following !== undefined) {
      if (running !== undefined) this.remove(running.key)
      return this.#launchInput(work, following)
    }
    this.#loop.complete(running, timed.inputOfExit(exit))
    return true
  }

  /** Interrupts what is in flight and not wanted. */
  interruptUnwanted(wanted: ReadonlyArray<Work>): void {
    if (this.count === 0) return
    const isWanted = keysOf(wanted)
    const first = this.#first
    if (first !== undefined && !isWanted(first.key)) {
      this.#first = undefined
      this.#stop(first)
    }
    const others = this.#others
    for (const [key, running] of others ?? none) {
      if (isWanted(key)) continue
      others?.delete(key)
      this.#stop(running)
    }
  }

  /**
   * Interrupts all. Gives the wait until all of it has cleaned up, at most 5 s because a finalizer of a body may hang; undefined =
   * there is nothing to wait for.
   */
  interruptAll(): Effect.Effect<void> | undefined {
    if (this.#first !== undefined) this.#stop(this.#first)
    for (const running of this.#others?.values() ?? []) this.#stop(running)
    this.#first = undefined
    this.#others = undefined
    return this.#ending === undefined
      ? undefined
      : Effect.asVoid(Effect.timeoutOption(Fiber.awaitAll(this.#ending), cleanup_ms_max))
  }

  #stop(running: WorkInFlight): void {
    const { fiber } = running
    running.fiber = undefined
    running.cancelDeadline?.()
    this.#loop.giveBack(running)
    if (fiber !== undefined) this.#interrupt(fiber)
  }

  #interrupt(fiber: Fiber.Fiber<unknown, unknown>): void {
    fiber.interruptUnsafe()
    if (fiber.pollUnsafe() !== undefined) return
    const before = this.#ending?.filter((each) => each.pollUnsafe() === undefined) ?? []
    this.#ending = [...before, fiber]
  }
}

/** Is a key among those of the wanted work? Up to four are compared, because a set costs more to make. */
const keysOf = (wanted: ReadonlyArray<Work>): ((key: string) => boolean) => {
  if (wanted.length <= 4) return (key) => wanted.some((each) => each.key === key)
  const keys = new Set(wanted.map((each) => each.key))
  return (key) => keys.has(key)
}
