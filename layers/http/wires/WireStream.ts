/**
 * The answer of a wire: one run from its first event on, until it has ended or waits for people. What a client was shown before it
 * answered a question is not sent again.
 */
import { Channel, Deferred, Effect, Stream } from "effect"
import type { Scope } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import type { ApprovalId, ConversationId, RunId } from "../../../src/value/Ids.ts"
import type { RunStep } from "../../../src/wire/RunView.ts"
import { RunView } from "../../../src/wire/RunView.ts"
import { isCustomer } from "../../service/CustomerRules.ts"
import { problemOf } from "../boundary/Problems.ts"
import * as EventStream from "../stream/EventStream.ts"
import { StreamHost } from "../stream/StreamHost.ts"
import { textPull } from "../stream/TextPull.ts"
import { counting } from "../stream/UnreadBytes.ts"
import type { WireCall } from "./WireRequest.ts"

/** One protocol's texts of a run. They follow one another. */
export interface WireTexts {
  /** Before the first step. */
  readonly start: string
  /** Of the next step; `cursor` resumes behind it. */
  readonly next: (step: RunStep, cursor: string) => string
  /** In place of a last step, where the run cannot be read on. */
  readonly failed: (problem: Problem) => string
  /** Behind the last step. */
  readonly end: string
}

/** Which run is shown, and what its reader knows of it. */
export interface Shown {
  readonly run: RunId
  readonly conversation: ConversationId
  /** The run's number in its conversation. */
  readonly ordinal: number
  /** Questions that the reader has answered: it was shown what came before. Absent = it is shown everything. */
  readonly answered?: ReadonlyArray<ApprovalId>
}

/** Turns the feed's items into the texts of the answer. */
export class WireReader {
  readonly #view: RunView
  readonly #texts: WireTexts
  /** Answered questions that were not asked yet. */
  readonly #unasked: Set<ApprovalId>
  #isShown: boolean
  /** The journal was read up to now. */
  #isLive = false
  /** The end of the answer, unless more has happened since. */
  #pause: { readonly step: RunStep; readonly cursor: string } | undefined
  #isOver = false

  constructor(texts: WireTexts, by: Principal, { answered = [], run }: Shown) {
    this.#view = new RunView(run, isCustomer(by))
    this.#texts = texts
    this.#unasked = new Set(answered)
    this.#isShown = answered.length === 0
  }

  /** Whether the last text was given. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The text of the next item; empty = it shows nothing. */
  textOf(item: FeedItem): string {
    if (item._tag === "CaughtUp") {
      this.#isLive = true
      return this.#paused()
    }
    let text = ""
    for (const step of this.#view.next(item)) text += this.#text(step, item)
    return text
  }

  #text(step: RunStep, item: FeedItem): string {
    const cursor = item._tag === "Event" ? EventStream.cursorOf(item) : ""
    if (step._tag === "Queued") return this.#last(step, cursor)
    if (step._tag === "Parked") return this.#parked(step, cursor)
    this.#pause = undefined
    if (step._tag === "Asked") this.#unasked.delete(step.approval)
    if (step._tag === "Ended") {
      this.#isShown = true
      return this.#last(step, cursor)
    }
    const text = this.#texts.next(step, cursor)
    return this.#isShown ? text : ""
  }

  #parked(step: Extract<RunStep, { _tag: "Parked" }>, cursor: string): string {
    if (!this.#isShown) {
      if (this.#unasked.size > 0) return ""
      this.#isShown = true
      this.#texts.next(step, cursor)
      return ""
    }
    this.#pause = { step, cursor }
    return this.#isLive ? this.#paused() : ""
  }

  #paused(): string {
    return this.#pause === undefined ? "" : this.#last(this.#pause.step, this.#pause.cursor)
  }

  #last(step: RunStep, cursor: string): string {
    this.#isOver = true
    return this.#texts.next(step, cursor) + this.#texts.end
  }
}

/** The texts of items that are available at the same time. `end`: called behind the last of all. */
function* textsOf(reader: WireReader, items: ReadonlyArray<FeedItem>, end: () => void) {
  for (const item of items) {
    if (reader.isOver) return
    const text = reader.textOf(item)
    if (text !== "") yield text
    if (reader.isOver) end()
  }
}

/**
 * Answers with the run's texts as server-sent events. Fails with 429 and 503 where too many streams are open. Who goes away cancels
 * nothing.
 */
export const streamRun = Effect.fnUntraced(function* (
  { by, request, token }: WireCall,
  shown: Shown,
  texts: WireTexts
): Effect.fn.Return<
  HttpServerResponse.HttpServerResponse,
  unknown,
  AgentRuntime | StreamHost | HttpServerRequest.HttpServerRequest | Scope.Scope
> {
  const runtime = yield* AgentRuntime
  const host = yield* StreamHost
  const {
    account,
    encode = EventStream.inUtf8,
    goesOn,
    heartbeat_ms,
    until
  } = yield* host.open(by, token)
  const over = yield* Deferred.make<void>()
  const reader = new WireReader(texts, by, shown)
  const { hold, taken } = counting(account)
  const stream = Stream.fromChannel(
    Channel.fromTransform((_, scope) =>
      textPull(
        {
          feed: runtime.openFeed(shown.conversation, { ordinal: shown.ordinal, seq: -1 }, by),
          first: texts.start,
          textsOf: (items) => textsOf(reader, items, () => Deferred.doneUnsafe(over, Effect.void)),
          textOfError: (error) => texts.failed(problemOf(error)),
          beat: EventStream.beat,
          beat_ms: heartbeat_ms,
          goesOn,
          until: Effect.raceFirst(until, Deferred.await(over)),
          given: (text) => {
            hold(text)
            return encode(text)
          },
          taken
        },
        scope
      )
    )
  )
  return EventStream.responseOf(stream, request)
})
