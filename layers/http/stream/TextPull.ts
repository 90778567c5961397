/**
 * The source of an event stream: the texts of a feed's items, and between them the events that interrupt its wait. It is one
 * object in place of merged streams, which pass each text through a queue and three fibers, several times for each message.
 * Available items are taken without a fiber, and a waiting reader is called back (bench row `http`).
 */
import { Cause, Effect, Exit, Fiber, Result, Schedule, Scope } from "effect"
import type { Array as Arr, Context, Pull } from "effect"
import type { OpenFeed } from "../../../services/AgentRuntime.ts"

type Items<A> = Arr.NonEmptyReadonlyArray<A>
type Open<A, E> = Effect.Effect<OpenFeed<E, A>, E, Scope.Scope>

export interface Source<A, E, B, T = string> {
  readonly feed: Open<A, E>
  /** The text that comes before all others. */
  readonly first: T
  /** The texts of items that are available at the same time. Each text is made when it is pulled. */
  readonly textsOf: (items: Items<A>) => Iterator<T>
  /** The last text, if the feed failed. */
  readonly textOfError: (error: E) => T
  /** A text that is sent every `beat_ms` if there is nothing else to send. One that was not pulled yet is not sent twice. */
  readonly beat: T
  readonly beat_ms: number
  /** Run after each beat: the texts end if the result is false. */
  readonly goesOn: Effect.Effect<boolean>
  /** The texts end when this Effect ends, whatever the feed does. */
  readonly until: Effect.Effect<void>
  /** Converts a text to the item that is pulled. */
  readonly given: (text: T) => B
  /** Called when the next item is pulled, which means that the one before was taken. */
  readonly taken: () => void
}

class TextPull<A, E, B, T> {
  readonly #source: Source<A, E, B, T>
  readonly #context: Context.Context<never>
  #feed: OpenFeed<E, A> | undefined
  /** The first pull opens the feed. */
  #pullFeed: Pull.Pull<Items<A>, E>
  #texts: Iterator<T>
  /** The pull of the feed in progress. It goes on while a beat is sent, so that none of its items is lost. */
  #read: Fiber.Fiber<Items<A>, E | Cause.Done> | undefined
  #isBeatDue = false
  #isOver = false
  #resume: ((woken: Effect.Effect<void>) => void) | undefined

  constructor(source: Source<A, E, B, T>, scope: Scope.Scope, context: Context.Context<never>) {
    this.#source = source
    this.#context = context
    this.#pullFeed = Effect.flatMap(Scope.provide(source.feed, scope), (feed) => {
      this.#feed = feed
      return (this.#pullFeed = feed.pull)
    })
    this.#texts = [source.first].values()
  }

  /** Pulls the next text; waits until there is one. */
  readonly pull: Pull.Pull<Items<B>> = Effect.suspend(() => {
    this.#source.taken()
    return this.#next()
  })

  readonly beat: Effect.Effect<void> = Effect.sync(() => {
    this.#isBeatDue = true
    this.#wake()
  })

  readonly end: Effect.Effect<void> = Effect.sync(() => {
    this.#isOver = true
    this.#wake()
  })

  /** Ends the pull in progress, before its feed is closed. */
  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    this.#read === undefined ? Effect.void : Fiber.interrupt(this.#read)
  )

  /**
   * Waits for news, and checks again whether there is any, because the reader may have been paused since its last check. An
   * interruption leaves nothing to clean up: resuming an interrupted wait does nothing.
   */
  readonly #woken = Effect.flatMap(
    Effect.callback<void>((resume) => {
      if (this.#hasNews()) return resume(Exit.void)
      this.#resume = resume
      if (this.#read === undefined) this.#feed?.whenAvailable(this.#wake)
    }),
    () => this.#next()
  )

  /** If none of the feed's items is shown, lets other fibers run, and lets the texts end. */
  readonly #later = Effect.flatMap(Effect.yieldNow, () => this.#next())

  readonly #wake = (): void => {
    const resume = this.#resume
    this.#resume = undefined
    resume?.(Exit.void)
  }

  #hasNews(): boolean {
    return this.#isOver || this.#isBeatDue || this.#read?.pollUnsafe() !== undefined
  }

  #next(): Pull.Pull<Items<B>> {
    if (this.#isOver) return Cause.done()
    const text = this.#texts.next()
    if (text.done !== true) return this.#given(text.value)
    if (this.#isBeatDue) {
      this.#isBeatDue = false
      return this.#given(this.#source.beat)
    }
    const available = this.#read === undefined ? (this.#feed?.takeAvailable() ?? "pull") : "pull"
    if (available === "wait") return this.#woken
    if (available !== "pull") return this.#firstOf(available)
    const read = (this.#read ??= this.#begun())
    const exit = read.pollUnsafe()
    if (exit === undefined) return this.#woken
    this.#read = undefined
    return Exit.isFailure(exit) ? this.#last(exit.cause) : this.#firstOf(exit.value)
  }

  #firstOf(items: Items<A>): Pull.Pull<Items<B>> {
    this.#texts = this.#source.textsOf(items)
    const first = this.#texts.next()
    return first.done === true ? this.#later : this.#given(first.value)
  }

  #given(text: T): Pull.Pull<Items<B>> {
    return Exit.succeed([this.#source.given(text)])
  }

  #begun(): Fiber.Fiber<Items<A>, E | Cause.Done> {
    const read = Effect.runForkWith(this.#context)(this.#pullFeed)
    read.addObserver(this.#wake)
    return read
  }

  /** The end of the texts. A defect of the feed becomes a defect of the stream, which then breaks off. */
  #last(cause: Cause.Cause<E | Cause.Done>): Pull.Pull<Items<B>> {
    this.#isOver = true
    const failed = Cause.findError(cause)
    if (Result.isFailure(failed)) return Exit.failCause(failed.failure)
    const error = failed.success
    return Cause.isDone(error) ? Cause.done() : this.#given(this.#source.textOfError(error))
  }
}

/**
 * Pulls the texts until the feed ends or fails, or `until` ends. `scope` is the scope of the reader, which makes one pull after
 * the other.
 */
export const textPull = Effect.fnUntraced(function* <A, E, B, T = string>(
  source: Source<A, E, B, T>,
  scope: Scope.Scope
): Effect.fn.Return<Pull.Pull<Items<B>>> {
  // The scope of the feed, which the first pull opens and which is closed after the last.
  const feed = yield* Scope.make()
  const texts = new TextPull(source, feed, yield* Effect.context<never>())
  yield* Scope.addFinalizerExit(scope, (exit) =>
    Effect.andThen(texts.close, Scope.close(feed, exit))
  )
  yield* Effect.forkIn(Effect.andThen(source.until, texts.end), scope)
  const beat = Effect.andThen(
    texts.beat,
    Effect.flatMap(source.goesOn, (goesOn) => (goesOn ? Effect.void : texts.end))
  )
  yield* Effect.forkIn(Effect.schedule(beat, Schedule.spaced(source.beat_ms)), scope)
  return texts.pull
})
