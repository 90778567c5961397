/**
 * A stream as an async iterable: one fiber each time that something is pulled, and none for items that were pulled together
 * (bench row `send`). `Stream.toAsyncIterableWith` runs a second fiber for each pull, which waits for the first.
 */
import type { Context } from "effect"
import { Cause, Channel, Effect, Exit, Fiber, Pull, Scope, Stream } from "effect"

type Items<A> = readonly [A, ...Array<A>]
type Fork<R> = <B, F>(effect: Effect.Effect<B, F, R>) => Fiber.Fiber<B, F>
type Next<A> = IteratorResult<A, void> | Promise<IteratorReturnResult<void>>
type Pulled<A, E> = Exit.Exit<Items<A>, E | Cause.Done<void>>

const nothing: ReadonlyArray<never> = []

/**
 * `next` waits for the one before it. `return` interrupts what is being pulled and closes the stream's scope; then the iterator
 * is done, as it is when the stream has ended or failed.
 */
class StreamIterator<A, E, R> implements AsyncIterator<A, void> {
  readonly #fork: Fork<R>
  readonly #scope = Scope.makeUnsafe()
  #pull: Pull.Pull<Items<A>, E, void, R>
  #items: ReadonlyArray<A> = nothing
  #given = 0
  /** What is being pulled. */
  #fiber: Fiber.Fiber<Items<A>, E | Cause.Done<void>> | undefined
  #pulled: Promise<IteratorResult<A, void>> | undefined
  /** Settles `#pulled`. */
  #resolve: ((result: Next<A>) => void) | undefined
  #closed: Promise<IteratorReturnResult<void>> | undefined

  // Functions of the iterator, and not of each pull (bench row `send`, 1,000 runs).

  readonly #executor = (resolve: (result: Next<A>) => void): void => {
    this.#resolve = resolve
  }

  readonly #ended = (exit: Pulled<A, E>): void => {
    const resolve = this.#resolve
    this.#fiber = undefined
    this.#pulled = undefined
    this.#resolve = undefined
    resolve?.(this.#closed ?? this.#taken(exit))
  }

  constructor(stream: Stream.Stream<A, E, R>, fork: Fork<R>) {
    this.#fork = fork
    this.#pull = Effect.flatMap(
      Channel.toPullScoped(Stream.toChannel(stream), this.#scope),
      (pull) => (this.#pull = pull)
    )
  }

  next(): Promise<IteratorResult<A, void>> {
    if (this.#closed !== undefined) return this.#closed
    if (this.#given < this.#items.length) {
      return Promise.resolve({ done: false, value: this.#give() })
    }
    if (this.#pulled !== undefined) return this.#nextBehind(this.#pulled)
    const fiber = this.#fork(this.#pull)
    const exit = fiber.pollUnsafe()
    return exit === undefined ? this.#whenPulled(fiber) : Promise.resolve(this.#taken(exit))
  }

  #whenPulled(
    fiber: Fiber.Fiber<Items<A>, E | Cause.Done<void>>
  ): Promise<IteratorResult<A, void>> {
    this.#fiber = fiber
    this.#pulled = new Promise(this.#executor)
    fiber.addObserver(this.#ended)
    return this.#pulled
  }

  #nextBehind(pulled: Promise<unknown>): Promise<IteratorResult<A, void>> {
    const again = () => this.next()
    return pulled.then(again, again)
  }

  return(): Promise<IteratorReturnResult<void>> {
    return this.#close(Exit.void)
  }

  /** The next item that is here. A list that was given is let go of, because a watcher may wait long for the next one. */
  #give(): A {
    const value = this.#items[this.#given++] as A
    if (this.#given === this.#items.length) {
      this.#items = nothing
      this.#given = 0
    }
    return value
  }

  #taken(exit: Pulled<A, E>): Next<A> {
    if (Exit.isSuccess(exit)) {
      this.#items = exit.value
      this.#given = 0
      return { done: false, value: this.#give() }
    }
    const { cause } = exit
    if (Pull.isDoneCause(cause)) return this.#close(Exit.void)
    return this.#close(exit).then(() => Promise.reject(Cause.squash(cause)))
  }

  #close(exit: Exit.Exit<unknown, unknown>): Promise<IteratorReturnResult<void>> {
    if (this.#closed !== undefined) return this.#closed
    const { promise, reject, resolve } = Promise.withResolvers<IteratorReturnResult<void>>()
    // Before the interruption, which ends the pull at once: `next` is then done and does not fail.
    this.#closed = promise
    const interrupted = this.#fiber === undefined ? Effect.void : Fiber.interrupt(this.#fiber)
    this.#fork(Effect.andThen(interrupted, Scope.close(this.#scope, exit))).addObserver((ended) => {
      if (Exit.isSuccess(ended)) resolve({ done: true, value: undefined })
      else reject(Cause.squash(ended.cause))
    })
    return promise
  }
}

/** Makes iterables over these services. Each iteration runs its stream anew. */
export const asyncIterables = <R>(services: Context.Context<R>) => {
  const fork = Effect.runForkWith(services)
  return <A, E>(stream: Stream.Stream<A, E, R>): AsyncIterable<A> => ({
    [Symbol.asyncIterator]: () => new StreamIterator(stream, fork)
  })
}
