/**
 * An async iterable whose loop also ends when a signal aborts, even while it waits for the next item. A `for await` loop cannot
 * be left then, but a server that streams to a client has to leave it when the client is gone.
 */
import { Stream } from "effect"
import { InvalidInput } from "../../../src/schema/InvalidInput.ts"
import { unknownMember } from "../../../src/schema/PeerNames.ts"
import type { Following } from "./Answer.ts"
import { isSignal } from "./Waiting.ts"

const done: IteratorReturnResult<void> = { done: true, value: undefined }
const ignore = (): void => {}

/**
 * An iterator that closes its source as soon as the signal aborts. `next` then rejects once with the signal's reason, and is done
 * afterwards.
 */
class AbortableIterator<A> implements AsyncIterator<A, void> {
  readonly #source: AsyncIterator<A, void>
  readonly #signal: AbortSignal
  #isOver = false

  constructor(source: AsyncIterator<A, void>, signal: AbortSignal) {
    this.#source = source
    this.#signal = signal
    signal.addEventListener("abort", this.#leave, { once: true })
  }

  /** The result of the close is ignored here, because the pending `next` reports it. */
  readonly #leave = (): void => void this.#close().catch(ignore)

  async next(): Promise<IteratorResult<A, void>> {
    if (this.#isOver) return done
    if (!this.#signal.aborted) {
      const item = await this.#pulled()
      if (!this.#signal.aborted) return item
    }
    if (this.#isOver) return done
    this.#finish()
    await this.#close()
    throw this.#signal.reason
  }

  async return(): Promise<IteratorReturnResult<void>> {
    this.#finish()
    await this.#close()
    return done
  }

  async #pulled(): Promise<IteratorResult<A, void>> {
    try {
      const item = await this.#source.next()
      if (item.done === true && !this.#signal.aborted) this.#finish()
      return item
    } catch (error) {
      this.#finish()
      throw error
    }
  }

  async #close(): Promise<void> {
    await this.#source.return?.()
  }

  #finish(): void {
    this.#isOver = true
    this.#signal.removeEventListener("abort", this.#leave)
  }
}

const signalOf = (given: unknown): AbortSignal | InvalidInput | undefined => {
  if (given === undefined) return undefined
  if (typeof given !== "object" || given === null) {
    return new InvalidInput({ field: "following", reason: "Expected an object with signal" })
  }
  const stray = Object.keys(given).find((name) => name !== "signal")
  if (stray !== undefined) {
    return new InvalidInput({
      field: `following.${stray}`,
      reason: unknownMember(stray, ["signal"])
    })
  }
  const { signal } = given as { readonly signal?: unknown }
  if (signal === undefined || isSignal(signal)) return signal
  return new InvalidInput({ field: "following.signal", reason: "Expected an AbortSignal" })
}

/**
 * Makes iterables that end when the signal of `following` aborts. If `following` is not valid, the loop fails before anything is
 * sent.
 */
export const abortable =
  (failing: <A>(stream: Stream.Stream<A, InvalidInput>) => AsyncIterable<A>) =>
  <A>(iterable: AsyncIterable<A>, following: Following | undefined): AsyncIterable<A> => {
    const signal = signalOf(following)
    if (signal === undefined) return iterable
    if (signal instanceof InvalidInput) return failing<A>(Stream.fail(signal))
    return {
      [Symbol.asyncIterator]: () =>
        new AbortableIterator(iterable[Symbol.asyncIterator]() as AsyncIterator<A, void>, signal)
    }
  }
