/**
 * A stream or an open feed as an async iterable. It uses one fiber for each pull, and none for items that came with an earlier
 * pull or are available at once (bench row `send`). `Stream.toAsyncIterableWith` runs a second fiber for each pull, which waits
 * for the first.
 */
import type { Stream } from "effect"
import { Cause, Effect, Exit, Fiber, Pull, Scope } from "effect"
import type { OpenFeed } from "../../../services/AgentRuntime.ts"
import { openStream } from "../../../services/AgentRuntime.ts"
import { isDone } from "../../runtime/fiber/Coroutine.ts"

type Items<A> = readonly [A, ...Array<A>]
type Fork<R> = <B, F>(effect: Effect.Effect<B, F, R>) => Fiber.Fiber<B, F>
type Next<A> = IteratorResult<A, void> | Promise<IteratorReturnResult<void>>
type Pulling<A, E> = Fiber.Fiber<Items<A>, E | Cause.Done<void>>
type Pulled<A, E> = Exit.Exit<Items<A>, E | Cause.Done<void>>

const nothing: ReadonlyArray<never> = []

/**
 * Calls of `next` wait for the one before. `return` interrupts the pull in progress and closes the stream's scope; then the
 * iterator is done, as it is after the stream has ended or failed.
 */
class StreamIterator<A, E, R> implements AsyncIterator<A, void> {
  readonly #fork: Fork<R>
  readonly #scope = Scope.makeUnsafe()
  /** The first pull opens the source. */
  #pull: Pull.Pull<Items<A>, E, void, R>
  #source: OpenFeed<E, A, R> | undefined
  #items: ReadonlyArray<A> = nothing
  #position = 0
  /** The pull in progress. */
  #fiber: Pulling<A, E> | undefined
  /** The promise of the pending `next`. */
  #pulled: Promise<IteratorResult<A, void>> | undefined
  /** Settles `#pulled`. */
  #resolve: ((result: Next<A>) => void) | undefined
  #closed: Promise<IteratorReturnResult<void>> | undefined

  // Created once for each iterator, and not for each pull (bench row `send`, 1,000 runs).

  readonly #executor = (resolve: (result: Next<A>) => void): void => {
    this.#resolve = resolve
  }

  readonly #onPullEnd = (exit: Pulled<A, E>): void => {
    this.#fiber = undefined
    this.#settle(this.#closed ?? this.#resultOf(exit))
  }

  readonly #onAvailable = (): void => {
    const available = this.#takeAvailable()
    if (available === "wait") this.#source?.whenAvailable(this.#onAvailable)
    else if (available === "pull") this.#follow(this.#fork(this.#pull))
    else this.#settle(isList(available) ? this.#first(available) : this.#resultOf(available))
  }

  constructor(open: Effect.Effect<OpenFeed<E, A, R>, E, R | Scope.Scope>, fork: Fork<R>) {
    this.#fork = fork
    this.#pull = Effect.flatMap(Scope.provide(open, this.#scope), (source) => {
      this.#source = source
      return (this.#pull = source.pull)
    })
  }

  next(): Promise<IteratorResult<A, void>> {
    if (this.#closed !== undefined) return this.#closed
    if (this.#position < this.#items.length) {
      return Promise.resolve({ done: false, value: this.#shift() })
    }
    if (this.#pulled !== undefined) return this.#nextBehind(this.#pulled)
    const available = this.#takeAvailable()
    if (available === "wait") return this.#whenAvailable()
    if (available !== "pull") {
      return Promise.resolve(isList(available) ? this.#first(available) : this.#resultOf(available))
    }
    const fiber = this.#fork(this.#pull)
    const exit = fiber.pollUnsafe()
    return exit === undefined ? this.#whenPulled(fiber) : Promise.resolve(this.#resultOf(exit))
  }

  /**
   * Takes the available items. A defect becomes a failure of this reader alone, so that the committer that calls it back
   * continues.
   */
  #takeAvailable(): Items<A> | Exit.Exit<never> | "wait" | "pull" {
    try {
      return this.#source?.takeAvailable() ?? "pull"
    } catch (defect) {
      return Exit.die(defect)
    }
  }

  #whenAvailable(): Promise<IteratorResult<A, void>> {
    const pulled = new Promise(this.#executor)
    this.#pulled = pulled
    this.#source?.whenAvailable(this.#onAvailable)
    return pulled
  }

  #whenPulled(fiber: Pulling<A, E>): Promise<IteratorResult<A, void>> {
    const pulled = new Promise(this.#executor)
    this.#pulled = pulled
    this.#follow(fiber)
    return pulled
  }

  #follow(fiber: Pulling<A, E>): void {
    this.#fiber = fiber
    fiber.addObserver(this.#onPullEnd)
  }

  #settle(result: Next<A>): void {
    const resolve = this.#resolve
    this.#pulled = undefined
    this.#resolve = undefined
    resolve?.(result)
  }

  #nextBehind(pulled: Promise<unknown>): Promise<IteratorResult<A, void>> {
    const again = () => this.next()
    return pulled.then(again, again)
  }

  return(): Promise<IteratorReturnResult<void>> {
    const closed = this.#close(Exit.void)
    // A `next` that waits without a fiber has to be settled here, because nothing else calls it back.
    if (this.#fiber === undefined) this.#settle(closed)
    return closed
  }

  /** Returns the next available item. A list that was used up is released, because a watcher may wait long for the next one. */
  #shift(): A {
    const value = this.#items[this.#position++] as A
    if (this.#position === this.#items.length) {
      this.#items = nothing
      this.#position = 0
    }
    return value
  }

  #first(items: Items<A>): IteratorYieldResult<A> {
    this.#items = items
    this.#position = 0
    return { done: false, value: this.#shift() }
  }

  #resultOf(exit: Pulled<A, E>): Next<A> {
    if (Exit.isSuccess(exit)) return this.#first(exit.value)
    const { cause } = exit
    if (Pull.isDoneCause(cause)) return this.#close(Exit.void)
    return this.#close(exit).then(() => Promise.reject(Cause.squash(cause)))
  }

  #close(exit: Exit.Exit<unknown, unknown>): Promise<IteratorReturnResult<void>> {
    if (this.#closed !== undefined) return this.#closed
    const closing = this.#fiber === undefined ? Scope.closeUnsafe(this.#scope, exit) : undefined
    // A feed has nothing to wait for when it closes (bench row `send`, 1,000 runs).
    if (this.#fiber === undefined && (closing === undefined || isDone(closing))) {
      return (this.#closed = closeResult(closing ?? Exit.void))
    }
    const { promise, resolve } = Promise.withResolvers<IteratorReturnResult<void>>()
    // Set before the interruption, which ends the pull at once: `next` is then done and does not fail.
    this.#closed = promise
    const ended =
      this.#fiber === undefined
        ? Effect.uninterruptible(closing ?? Effect.void)
        : Effect.andThen(Fiber.interrupt(this.#fiber), Scope.close(this.#scope, exit))
    this.#fork(ended).addObserver((how) => resolve(closeResult(how)))
    return promise
  }
}

const isList = <A>(available: Items<A> | Exit.Exit<never>): available is Items<A> =>
  Array.isArray(available)

const closeResult = (exit: Exit.Exit<void>): Promise<IteratorReturnResult<void>> =>
  Exit.isSuccess(exit)
    ? Promise.resolve({ done: true, value: undefined })
    : Promise.reject(Cause.squash(exit.cause))

/** Makes iterables whose Effects are run by `fork`. Each iteration runs its stream again, or opens its feed again. */
export const asyncIterables = <R>(fork: Fork<R>) => {
  const iterable = <A, E>(
    open: Effect.Effect<OpenFeed<E, A, R>, E, R | Scope.Scope>
  ): AsyncIterable<A> => ({
    [Symbol.asyncIterator]: () => new StreamIterator(open, fork)
  })
  return {
    ofFeed: iterable,
    ofStream: <A, E>(stream: Stream.Stream<A, E, R>): AsyncIterable<A> =>
      iterable(openStream(stream))
  }
}
