/**
 * The answer of a wire: one run from its first event on, until it has ended or waits for people. What a client was shown before it
 * answered a question is not sent again.
 */
import { Channel, Deferred, Effect, Pull, Stream } from "effect"
import { AgentRuntime, ShuttingDown } from "../../../services/AgentRuntime.ts"
import type { OpenFeed, WatchError } from "../../../services/AgentRuntime.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import type { Principal } from "../../../src/principal/Principal.ts"
import type { Problem } from "../../../src/operation/Problem.ts"
import type { FeedItem } from "../../../src/run/FeedItem.ts"
import type { ApprovalId, ConversationId, RunId } from "../../../src/value/Ids.ts"
import type { RunStep } from "../../../src/wire/RunView.ts"
import { RunView } from "../../../src/wire/RunView.ts"
import { isCustomer } from "../../service/CustomerRules.ts"
import { problemOf } from "../boundary/Problems.ts"
import * as EventStream from "../stream/EventStream.ts"
import type { OpenedStream } from "../stream/StreamHost.ts"
import { StreamHost } from "../stream/StreamHost.ts"
import { textPull } from "../stream/TextPull.ts"
import { counting } from "../stream/UnreadBytes.ts"
import type { WireCall } from "./WireRequest.ts"

/** Where a step is: the last event of the run's journal, from 0 on, and what resumes the conversation behind it. */
export interface StepPlace {
  readonly seq: number
  /** When that event was journaled, in ms since 1970; 0 = there is none yet. */
  readonly at: number
  /** Empty for what is not journaled yet. */
  readonly cursor: string
}

/** One protocol's texts of a run. They follow one another. */
export interface WireTexts {
  /** Before the first step. */
  readonly start: string
  /** Of the next step. */
  readonly next: (step: RunStep, place: StepPlace) => string
  /** In place of a last step, where the run cannot be read on. */
  readonly failed: (problem: Problem) => string
  /** Behind the last step. */
  readonly end: () => string
  /** At the run's first event, and at the first one behind each wait that is told. */
  readonly working?: (place: StepPlace) => string
  /** Once, where the run has not ended and its journal was read up to now: what comes next happens from then on. */
  readonly live?: () => string
  /** Called behind the step at which the reader waited whose answers are shown. */
  readonly begin?: () => void
  /** Keeps the connection alive. Absent = a comment of an event stream. */
  readonly beat?: string
  /** Absent = `text/event-stream`. */
  readonly contentType?: string
}

/** Which run is shown, and what its reader knows of it. */
export interface Shown {
  readonly run: RunId
  readonly conversation: ConversationId
  /** The run's number in its conversation. */
  readonly ordinal: number
  /** Questions that the reader has answered: it was shown what came before. Absent = it is shown everything. */
  readonly answered?: ReadonlyArray<ApprovalId>
  /** Whether the answer ends where the run waited for people next, though it has gone on since. Absent = no. */
  readonly isStretch?: boolean
  /**
   * Each wait for people is told, and the answer ends at the first one that lasts (`waits`), or at none of them (`all`). Absent = only
   * the wait is told at which the answer ends.
   */
  readonly through?: "waits" | "all"
}

/** A whole run. */
export const shownOf = ({ conversation, id: run, ordinal }: AgentTask): Shown => ({
  run,
  conversation,
  ordinal
})

const isWait = ({ _tag }: RunStep): boolean => _tag === "Parked" || _tag === "Queued"

/** Turns the feed's items into the texts of the answer. */
export class WireReader {
  readonly #view: RunView
  readonly #texts: WireTexts
  /** Answered questions that were not asked yet. */
  readonly #unasked: Set<ApprovalId>
  readonly #answered: ReadonlySet<ApprovalId>
  readonly #isStretch: boolean
  readonly #run: RunId
  readonly #through: Shown["through"]
  #seq = -1
  #at = 0
  #isShown: boolean
  /** The journal was read up to now. */
  #isLive = false
  /** The end of the answer, unless more has happened since. */
  #pause: { readonly step: RunStep; readonly place: StepPlace } | undefined
  /** The last event left the run waiting, as its reader was told. */
  #isWaiting = false
  #isOver = false

  constructor(
    texts: WireTexts,
    by: Principal,
    { answered = [], isStretch = false, run, through }: Shown
  ) {
    this.#run = run
    this.#through = through
    this.#view = new RunView(run, isCustomer(by))
    this.#texts = texts
    this.#answered = new Set(answered)
    this.#isStretch = isStretch
    this.#unasked = new Set(answered)
    this.#isShown = answered.length === 0
  }

  /** Whether the reader was found where it waited, or was shown everything. */
  get isShown(): boolean {
    return this.#isShown
  }

  /** Whether the last text was given. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The text of the next item; empty = it shows nothing. */
  textOf(item: FeedItem): string {
    if (item._tag === "CaughtUp") {
      this.#isLive = true
      const last = this.#through === undefined ? this.#paused() : this.#waited()
      return this.#isOver ? last : (this.#texts.live?.() ?? "")
    }
    const steps = this.#view.next(item)
    let text = ""
    if (item._tag === "Event" && item.run === this.#run) {
      const isBehind = this.#seq < 0 || (this.#isWaiting && !steps.some(isWait))
      this.#isWaiting = false
      this.#seq = item.entry.seq
      this.#at = item.entry.at
      if (isBehind) text = this.#texts.working?.(this.#place("")) ?? ""
    }
    const place = this.#place(item._tag === "Event" ? EventStream.cursorOf(item) : "")
    for (const step of steps) {
      if (!this.#isOver) text += this.#text(step, place)
    }
    return text
  }

  #place(cursor: string): StepPlace {
    return { seq: this.#seq, at: this.#at, cursor }
  }

  #text(step: RunStep, place: StepPlace): string {
    if (this.#through !== undefined && step._tag !== "Ended") {
      if (isWait(step)) this.#isWaiting = true
      return this.#texts.next(step, place) + this.#waited()
    }
    if (step._tag === "Queued") return this.#last(step, place)
    if (step._tag === "Parked") return this.#parked(step, place)
    this.#pause = undefined
    if (step._tag === "Asked") this.#unasked.delete(step.approval)
    if (step._tag === "Ended") {
      this.#isShown = true
      return this.#last(step, place)
    }
    const text = this.#texts.next(step, place)
    return this.#isShown ? text : ""
  }

  #waited(): string {
    if (!this.#isWaiting || !this.#isLive || this.#through === "all") return ""
    this.#isOver = true
    return this.#texts.end()
  }

  #parked(step: Extract<RunStep, { _tag: "Parked" }>, place: StepPlace): string {
    if (!this.#isShown) {
      if (this.#unasked.size > 0) return ""
      this.#isShown = true
      this.#texts.next(step, place)
      this.#texts.begin?.()
      return ""
    }
    // Of several answers the last is journaled a little later than the first.
    if (step.questions.some(({ approval }) => approval && this.#answered.has(approval))) return ""
    this.#pause = { step, place }
    return this.#isLive || this.#isStretch ? this.#paused() : ""
  }

  #paused(): string {
    return this.#pause === undefined ? "" : this.#last(this.#pause.step, this.#pause.place)
  }

  #last(step: RunStep, place: StepPlace): string {
    this.#isOver = true
    return this.#texts.next(step, place) + this.#texts.end()
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

/** The feed from the first event of the run on. */
const feedOf = (by: Principal, { conversation, ordinal }: Shown) =>
  AgentRuntime.use((runtime) => runtime.openFeed(conversation, { ordinal, seq: -1 }, by))

/** Reads the run as far as it has come, and no further. Gives the reader, which has passed everything to its texts. */
export const readRun = Effect.fnUntraced(function* (by: Principal, shown: Shown, texts: WireTexts) {
  const reader = new WireReader(texts, by, shown)
  yield* forEachItem(feedOf(by, shown), (item) => {
    reader.textOf(item)
    return reader.isOver
  })
  return reader
})

/** Passes the run to its texts until it has ended or waits for people, at most so long, and in any case as far as it has come. */
export const followRun = Effect.fnUntraced(function* (
  by: Principal,
  shown: Shown,
  texts: WireTexts,
  { until, wait_ms }: { readonly until: Effect.Effect<void>; readonly wait_ms: number }
) {
  if (wait_ms === 0) return yield* Effect.asVoid(readRun(by, shown, texts))
  const reader = new WireReader(texts, by, shown)
  const read = forEachItem(
    feedOf(by, shown),
    (item) => {
      reader.textOf(item)
      return reader.isOver
    },
    true
  )
  yield* Effect.timeoutOption(Effect.raceFirst(read, until), wait_ms)
})

/** Takes the items of a feed up to now, until one is enough. `goesOn`: also those behind. */
export const forEachItem = <E, R>(
  open: Effect.Effect<OpenFeed<WatchError>, E, R>,
  isEnough: (item: FeedItem) => boolean,
  goesOn = false
) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { pull } = yield* open
      for (;;) {
        // A feed ends with its service alone.
        for (const item of yield* Pull.catchDone(pull, () => new ShuttingDown())) {
          if (isEnough(item) || (!goesOn && item._tag === "CaughtUp")) return
        }
      }
    })
  )

/** Reserves the place of an answer. Fails with 429 and 503 where too many streams are open, before anything is done. */
export const openAnswer = ({ by, token }: WireCall) =>
  StreamHost.use((host) => host.open(by, token))

/** Answers with the run's texts, as they come. Who goes away cancels nothing. */
export const streamRun = Effect.fnUntraced(function* (
  { by, request }: WireCall,
  { account, encode = EventStream.inUtf8, goesOn, heartbeat_ms, until }: OpenedStream,
  shown: Shown,
  texts: WireTexts
) {
  const runtime = yield* AgentRuntime
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
          beat: texts.beat ?? EventStream.beat,
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
  return EventStream.responseOf(stream, request, texts.contentType)
})
