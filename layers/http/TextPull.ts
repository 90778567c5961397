/**
 * What an event stream pulls: the texts of what a feed gives, and between them what interrupts its wait. One object in place of
 * merged streams, which hand each text over through a queue and three fibers, several times for each message. What is here is
 * taken without a fiber, and who waits is called (bench row `http`).
 */
import { Cause, Effect, Exit, Fiber, Result, Schedule, Scope } from "effect"
import type { Array as Arr, Context, Pull } from "effect"
import type { OpenFeed } from "../../services/AgentRuntime.ts"

type Items<A> = Arr.NonEmptyReadonlyArray<A>
type Open<A, E> = Effect.Effect<OpenFeed<E, A>, E, Scope.Scope>

export interface Source<A, E, B> {
  readonly feed: Open<A, E>
  /** The text before all others. */
  readonly first: string
  /** The texts of items that are there at the same time. Each is made when it is pulled. */
  readonly textsOf: (items: Items<A>) => Iterator<string>
  /** The last text of a feed that failed. */
  readonly textOfError: (error: E) => string
  /** A text that is given every `beat_ms`, when nothing else is there. One that was not pulled yet is not given twice. */
  readonly beat: string
  readonly beat_ms: number
  /** Asked after each beat: the texts end where it says no. */
  readonly goesOn: Effect.Effect<boolean>
  /** The end of the texts, whatever the feed does. */
  readonly until: Effect.Effect<void>
  /** What is given for a text. */
  readonly given: (text: string) => B
  /** The next one is pulled: what was given before was taken. */
  readonly taken: () => void
}

class TextPull<A, E, B> {
  readonly #source: Source<A, E, B>
  readonly #context: Context.Context<never>
  #feed: OpenFeed<E, A> | undefined
  /** The first pull opens the feed. */
  #pullFeed: Pull.Pull<Items<A>, E>
  #texts: Iterator<string>
  /** A pull of the feed that was begun. It goes on while a beat is given, so that none of its items is lost. */
  #read: Fiber.Fiber<Items<A>, E | Cause.Done> | undefined
  #isBeatDue = false
  #isOver = false
  #resume: ((woken: Effect.Effect<void>) => void) | undefined

  constructor(source: Source<A, E, B>, scope: Scope.Scope, context: Context.Context<never>) {
    this.#source = source
    this.#context = context
    this.#pullFeed = Effect.flatMap(Scope.provide(source.feed, scope), (feed) => {
      this.#feed = feed
      return (this.#pullFeed = feed.pull)
    })
    this.#texts = [source.first].values()
  }

  /** What the next text is; it waits until there is one. */
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

  /** Ends the pull that was begun, before its feed is closed. */
  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    this.#read === undefined ? Effect.void : Fiber.interrupt(this.#read)
  )

  /**
   * Looks again, because who pulls may have been paused since it looked. An interruption leaves nothing to clean up: to resume an
   * interrupted wait does nothing.
   */
  readonly #woken = Effect.flatMap(
    Effect.callback<void>((resume) => {
      if (this.#hasNews()) return resume(Exit.void)
      this.#resume = resume
      if (this.#read === undefined) this.#feed?.whenDue(this.#wake)
    }),
    () => this.#next()
  )

  /** Where nothing that the feed gave is shown, others have their turn, and the texts may end. */
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
    const here = this.#read === undefined ? (this.#feed?.takeHere() ?? "pull") : "pull"
    if (here === "wait") return this.#woken
    if (here !== "pull") return this.#firstOf(here)
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

  #given(text: string): Pull.Pull<Items<B>> {
    return Exit.succeed([this.#source.given(text)])
  }

  #begun(): Fiber.Fiber<Items<A>, E | Cause.Done> {
    const read = Effect.runForkWith(this.#context)(this.#pullFeed)
    read.addObserver(this.#wake)
    return read
  }

  /** A defect of the feed is one of the stream, which then breaks off. */
  #last(cause: Cause.Cause<E | Cause.Done>): Pull.Pull<Items<B>> {
    this.#isOver = true
    const failed = Cause.findError(cause)
    if (Result.isFailure(failed)) return Exit.failCause(failed.failure)
    const error = failed.success
    return Cause.isDone(error) ? Cause.done() : this.#given(this.#source.textOfError(error))
  }
}

/** Pulls the texts until the feed ends or fails, or `until` ends. The scope is that of who pulls, one pull after the other. */
export const textPull = Effect.fnUntraced(function* <A, E, B>(
  source: Source<A, E, B>,
  scope: Scope.Scope
): Effect.fn.Return<Pull.Pull<Items<B>>> {
  // Of the feed, which is opened by the first pull and closed after the last.
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
