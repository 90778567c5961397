/**
 * Runs a generator of Effects that sleeps most of the time, without a fiber that sleeps for it: stopping and starting a
 * suspended fiber costs more than a step of a run (bench row `step`). A yielded Effect that is done is taken at once, any
 * other gets a fiber for as long as it runs. A sleeping coroutine is continued by `wake` or `resumeSoon`.
 */
import { Effect, Exit, Fiber } from "effect"
import { callCatching } from "./Catching.ts"
import type { LoopScheduler } from "./LoopScheduler.ts"

/** A member that exits alone have. `Exit.isExit` asks the same by a lookup that every module shares, which V8 cannot make fast. */
const exit_key = "~effect/Exit" satisfies keyof Exit.Success<unknown>

/**
 * Is it its own result, which costs less to take than a fiber (bench row `step`)? False also for what is no Effect, such as the
 * number that a handler in JavaScript may give: its fiber fails.
 */
export const isDone = <A, E, R>(effect: Effect.Effect<A, E, R>): effect is Exit.Exit<A, E> =>
  typeof effect === "object" && effect !== null && exit_key in effect

/** `yield* effect` gives its value, or ends the generator with its failure; a plain `yield` sleeps until the next wakeup. */
export type Steps<A, E, R = never> = Generator<
  Effect.Effect<unknown, E, R> | undefined,
  Exit.Exit<A, E>,
  unknown
>

/** Starts a fiber over the services `R`. */
export type Fork<R> = <A, E>(effect: Effect.Effect<A, E, R>) => Fiber.Fiber<A, E>

export class Coroutine<A, E, R = never> {
  readonly #steps: Steps<A, E, R>
  readonly #fork: Fork<R>
  readonly #scheduler: LoopScheduler
  /** It may be continued: it sleeps, or the Effect that it waited for has ended. */
  #sleeps = true
  /** The scheduler will continue it. */
  #isScheduled = false
  /** The value of the Effect that it waited for, until the generator takes it. */
  #value: unknown
  /** The fiber that it waits for. */
  #pending: Fiber.Fiber<unknown, E> | undefined
  /** Ends the wait of the fiber that runs it; undefined = that fiber is not waiting. */
  #resumeFiber: ((effect: Effect.Effect<void>) => void) | undefined
  /** It was woken while its fiber was not waiting. */
  #isWoken = false
  #isInterrupted = false
  /** Made when it first sleeps. */
  #untilWoken: Effect.Effect<A, E> | undefined
  /** How it ended. Kept, because it may end after a `wake` and before the fiber that the `wake` continues. */
  #ended: Exit.Exit<A, E> | undefined

  constructor(steps: Steps<A, E, R>, fork: Fork<R>, scheduler: LoopScheduler) {
    this.#steps = steps
    this.#fork = fork
    this.#scheduler = scheduler
  }

  /**
   * Ends as the generator does; what its code throws is a defect. An interruption interrupts what it waits for. `atEnd` is
   * called once, however it ends. Run it once. Until it first sleeps it costs few objects: most runs of tools and models that
   * answer at once never do (bench row `step`).
   */
  run(atEnd: () => Effect.Effect<void> | undefined = nothing): Effect.Effect<A, E> {
    return Effect.onExit(
      Effect.suspend(() => this.#passes()),
      () => {
        const pending = this.#ended === undefined ? this.#interrupt() : undefined
        if (pending === undefined) return atEnd() ?? Effect.void
        return Effect.andThen(
          Fiber.interrupt(pending),
          Effect.suspend(() => atEnd() ?? Effect.void)
        )
      }
    )
  }

  /** Continues it; then its end, or the wait for the next `wake`. */
  #passes(): Effect.Effect<A, E> {
    this.#resumeFiber = undefined
    this.resume()
    return this.#ended ?? (this.#untilWoken ??= this.#makeUntilWoken())
  }

  #makeUntilWoken(): Effect.Effect<A, E> {
    const woken = Effect.callback<void>((resume) => {
      if (this.#isWoken || this.#ended !== undefined) return resume(Exit.void)
      this.#resumeFiber = resume
    })
    return Effect.flatMap(woken, () => this.#passes())
  }

  /** Continues it in its own fiber, from anywhere: no tool may run in the asynchronous context of an approver's request. */
  wake(): void {
    if (!this.#sleeps) return
    if (this.#resumeFiber === undefined) this.#isWoken = true
    else this.#resumeFiber(Exit.void)
  }

  /** Continues it here, or at its turn. For fibers that it started. */
  resumeSoon(): void {
    if (!this.#sleeps || this.#isScheduled) return
    this.#isScheduled = true
    this.#scheduler.schedule(this)
  }

  /** Continues it, unless something else has by now. */
  resume(): void {
    this.#isScheduled = false
    if (!this.#sleeps) return
    const value = this.#value
    this.#value = undefined
    this.#advance(value)
  }

  #advance(given: unknown): void {
    this.#sleeps = false
    this.#isWoken = false
    for (let value = given; ;) {
      const step = callCatching(next, this.#steps, value, defective)
      // The step may have interrupted the fiber that runs it.
      if (this.#isInterrupted) return
      if (step.done === true) return this.#end(step.value)
      const effect = step.value
      if (effect === undefined) {
        this.#sleeps = true
        return
      }
      const exit = isDone(effect) ? effect : this.#start(effect)
      if (exit === undefined) return
      if (Exit.isFailure(exit)) return this.#end(Exit.failCause(exit.cause))
      value = exit.value
    }
  }

  /** Runs an Effect in a fiber. Undefined if it is not done at once: its end continues the coroutine. */
  #start(effect: Effect.Effect<unknown, E, R>): Exit.Exit<unknown, E> | undefined {
    const fiber = this.#fork(effect)
    // What it did until here may have interrupted the fiber that runs the coroutine.
    if (this.#isInterrupted) {
      fiber.interruptUnsafe()
      return undefined
    }
    const exit = fiber.pollUnsafe()
    if (exit === undefined) {
      this.#pending = fiber
      fiber.addObserver((exit) => {
        if (this.#pending !== fiber) return
        this.#pending = undefined
        if (Exit.isFailure(exit)) return this.#end(Exit.failCause(exit.cause))
        this.#value = exit.value
        this.#sleeps = true
        // By the scheduler, because one commit of a journal ends the appends of many runs.
        this.resumeSoon()
      })
    }
    return exit
  }

  #end(exit: Exit.Exit<A, E>): void {
    this.#ended = exit
    this.#resumeFiber?.(Exit.void)
  }

  /** Continues it no more. Gives the fiber that it waited for, which still runs. */
  #interrupt(): Fiber.Fiber<unknown, E> | undefined {
    const pending = this.#pending
    this.#isInterrupted = true
    this.#sleeps = false
    this.#pending = undefined
    this.#value = undefined
    return pending
  }
}

const nothing = () => undefined

const next = <A, E, R>(steps: Steps<A, E, R>, value: unknown) => steps.next(value)

const defective = (defect: unknown): IteratorReturnResult<Exit.Exit<never>> => ({
  done: true,
  value: Exit.die(defect)
})
