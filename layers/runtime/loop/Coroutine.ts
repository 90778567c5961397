/**
 * Runs a generator of Effects that mostly sleeps, without a fiber that sleeps for it: a suspended fiber costs more to stop
 * and to start than a step of a run to decide. What is done when it is yielded goes on at once; anything else gets a
 * fiber for as long as it takes; and where a fiber that it started wakes it, it goes on right there, or at its turn.
 */
import { Effect, Exit, Fiber } from "effect"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import { callCatching } from "../tool/Catching.ts"
import type { Fork } from "../tool/CallHost.ts"
import { isDone } from "./DoneEffect.ts"
import type { LoopScheduler } from "./LoopScheduler.ts"

/** `yield* effect` gives its value, or ends the generator with its failure; a plain `yield` sleeps until it is woken. */
export type Steps<A, E> = Generator<
  Effect.Effect<unknown, E, AgentMemory> | undefined,
  Exit.Exit<A, E>,
  unknown
>

const awake = Exit.succeed(undefined)

export class Coroutine<A, E> {
  readonly #steps: Steps<A, E>
  readonly #fork: Fork
  readonly #scheduler: LoopScheduler
  /** It sleeps, or what it waited for has come, and may go on. */
  #sleeps = true
  /** It was told to go on, and has not yet. */
  #woken = false
  /** What it waited for. */
  #came: unknown
  /** What it waits for, if it does not sleep. */
  #pending: Fiber.Fiber<unknown, E> | undefined
  #resumeFiber: ((effect: Effect.Effect<Exit.Exit<A, E> | undefined>) => void) | undefined
  /** How it ended. Kept, because it may end between a wake from outside and the fiber that goes on because of it. */
  #ended: Exit.Exit<A, E> | undefined

  constructor(steps: Steps<A, E>, fork: Fork, scheduler: LoopScheduler) {
    this.#steps = steps
    this.#fork = fork
    this.#scheduler = scheduler
  }

  /** Until it ends, or somebody wakes it from outside. */
  readonly #until = Effect.callback<Exit.Exit<A, E> | undefined>((resume) => {
    if (this.#ended !== undefined) return resume(Exit.succeed(this.#ended))
    this.#resumeFiber = resume
    this.resume()
  })

  readonly #again: Effect.Effect<A, E> = Effect.flatMap(
    this.#until,
    (ended): Effect.Effect<A, E> => ended ?? this.#again
  )

  /** Ends as the generator does; a defect of its code is one of the Effect. Interrupts what it waits for. To be run once. */
  readonly effect: Effect.Effect<A, E> = Effect.onInterrupt(this.#again, () => this.#interrupted)

  /**
   * Wakes it from outside. It goes on in the fiber that runs it, because whoever wakes it has an asynchronous context of
   * his own: an approver's request is not where the tools of a run belong.
   */
  wake(): void {
    if (this.#sleeps) this.#resumeFiber?.(awake)
  }

  /** Wakes it from a fiber that it started. */
  resumeSoon(): void {
    if (!this.#sleeps || this.#woken) return
    this.#woken = true
    this.#scheduler.schedule(this)
  }

  /** Goes on, unless it has by now. */
  resume(): void {
    this.#woken = false
    if (!this.#sleeps) return
    const came = this.#came
    this.#came = undefined
    this.#advance(came)
  }

  #advance(given: unknown): void {
    this.#sleeps = false
    for (let value = given; ;) {
      const step = callCatching(next, this.#steps, value, defective)
      // What it did may have interrupted whoever runs it.
      if (this.#resumeFiber === undefined) return
      if (step.done === true) return this.#end(step.value)
      const effect = step.value
      if (effect === undefined) {
        this.#sleeps = true
        return
      }
      const exit = isDone(effect) ? effect : this.#begun(effect)
      if (exit === undefined) return
      if (Exit.isFailure(exit)) return this.#end(Exit.failCause(exit.cause))
      value = exit.value
    }
  }

  #begun(effect: Effect.Effect<unknown, E, AgentMemory>): Exit.Exit<unknown, E> | undefined {
    const fiber = this.#fork(effect)
    const exit = fiber.pollUnsafe()
    if (exit === undefined) {
      this.#pending = fiber
      fiber.addObserver((exit) => {
        if (this.#pending !== fiber) return
        this.#pending = undefined
        if (Exit.isFailure(exit)) return this.#end(Exit.failCause(exit.cause))
        // A journal answers many at once.
        this.#came = exit.value
        this.#sleeps = true
        this.resumeSoon()
      })
    }
    return exit
  }

  #end(exit: Exit.Exit<A, E>): void {
    const resume = this.#resumeFiber
    this.#resumeFiber = undefined
    this.#ended = exit
    resume?.(Exit.succeed(exit))
  }

  readonly #interrupted = Effect.suspend(() => {
    const pending = this.#pending
    this.#sleeps = false
    this.#pending = undefined
    this.#came = undefined
    this.#resumeFiber = undefined
    return pending === undefined ? Effect.void : Fiber.interrupt(pending)
  })
}

const next = <A, E>(steps: Steps<A, E>, value: unknown) => steps.next(value)

const defective = (defect: unknown): IteratorReturnResult<Exit.Exit<never>> => ({
  done: true,
  value: Exit.die(defect)
})
