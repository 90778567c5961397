/**
 * Every append of a loop to its run. It holds the run's folded state, which is ahead of the journal while an append is in
 * flight, and the fence of the next append. A refused append changed nothing in the journal, so the state is folded anew and
 * the same inputs are decided again: inputs that are dropped are lost.
 */
import { Cause, Clock, Effect, Exit, Random, Schedule } from "effect"
import type { RunId } from "../../../src/value/Ids.ts"
import { conclude } from "../../../src/run/RunConclusion.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import { decide } from "../../../src/run/RunDecider.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { FoldState, RunState } from "../../../src/run/RunState.ts"
import { isAccepted, isParkable, emptyState, statusOf } from "../../../src/run/RunState.ts"
import { evolve } from "../../../src/run/RunFold.ts"
import type { BudgetSettlement } from "../../../services/BudgetLedger.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { Fence, StaleAppend } from "../../../services/RunJournal.ts"
import { FencedOff, JournalError } from "../../../services/RunJournal.ts"
import { entriesAfter, first_page } from "../../../services/RunReader.ts"
import { isDone } from "../fiber/Coroutine.ts"
import type { LoopServices } from "./LoopServices.ts"
import type { RunWakeup } from "./RunWakeup.ts"

/** What commits with the dispatch of a call. */
export interface Transaction<A = unknown> {
  readonly dispatches: Extract<RunInput, { _tag: "Dispatches" }>
  readonly body: Effect.Effect<A, unknown, AgentMemory>
  /** What follows the dispatch. Undefined = nothing is appended, not even the dispatch. */
  record(exit: Exit.Exit<A, unknown>): ReadonlyArray<RunInput> | undefined
}

const no_items: ReadonlyArray<never> = []

/** What `append` gives where the events were durable at once. */
export const durable = Exit.succeed(undefined)

/** Why an append was refused, or is not known to be durable. */
type Refusal = Cause.Cause<FencedOff | JournalError | StaleAppend>

/** Why a loop ends without an end of its run: another owner, no answer from the journal, or a journal that does not fold. */
export type LoopFailure = FencedOff | JournalError | RunQuarantined

/** Tries of an append that the journal refuses without saying that it was lost; then the actor's supervisor takes over. */
const tries_max = 8
/**
 * How long an append waits for a journal that is away, in ms: a server that fails over takes a minute or two. A crash of the
 * actor would make writes that are in flight unknown, and turns that are paid for would be asked for again.
 */
const away_ms_max = 120_000
/** The longest wait before it is tried again: soon after the journal is back, and before others take the run over. */
const pause_ms_max = 2_000
/** Refusals in a row that left the run as long as it was: they have a reason that no read shows. */
const stuck_max = 8
/** Refusals of one append, each because others had appended first. */
const stale_max = 10_000
const page_max = 10_000
const isAway = (error: { readonly _tag: string }): boolean =>
  error instanceof JournalError && error.lost

/** A read is tried as long as an append. */
const reading = {
  schedule: Schedule.exponential("20 millis"),
  times: tries_max,
  while: (error: JournalError | RunQuarantined) => !isAway(error)
}
const readingAway = {
  schedule: Schedule.min([Schedule.exponential("20 millis"), Schedule.spaced(pause_ms_max)]).pipe(
    Schedule.upTo({ duration: away_ms_max })
  ),
  while: isAway
}

/** Two lists as one. Usually a turn's and its call's, of one each, which are made at once (bench row `step`). */
const both = <A extends object>(
  first: ReadonlyArray<A>,
  then: ReadonlyArray<A>
): ReadonlyArray<A> => {
  const [a, b] = [first[0], then[0]]
  const isOneEach = first.length === 1 && then.length === 1 && a !== undefined && b !== undefined
  return isOneEach ? [a, b] : first.concat(then)
}

type Services = Pick<LoopServices, "budgets" | "journal" | "reader" | "onDurable" | "onAmended">

export class RunWriter {
  readonly run: RunId
  readonly #services: Services
  readonly #wakeup: RunWakeup
  #state: RunState
  #fence: Fence
  /** What is decided and not durable. There is one append at a time. */
  #inputs: ReadonlyArray<RunInput> = no_items
  #laterInputs: ReadonlyArray<RunInput> = no_items
  #events: ReadonlyArray<RunEvent> = no_items
  /** Refusals since the run last became longer. */
  #stuck = 0
  /** Since when no append was answered, in ms since 1970; undefined = the last one was. */
  #away_since: number | undefined

  constructor(services: Services, run: RunId, state: RunState, wakeup: RunWakeup) {
    this.#services = services
    this.#wakeup = wakeup
    this.run = run
    this.#state = state
    this.#fence = { epoch: this.#state.epoch, length: this.#state.length }
    wakeup.seenLength = this.#fence.length
  }

  get state(): RunState {
    return this.#state
  }

  get epoch(): number {
    return this.#fence.epoch
  }

  /** Is anything decided that is not appended? */
  get isAhead(): boolean {
    return this.#events.length > 0
  }

  /** Decides on inputs, and on all that follows from them. The state runs ahead of the journal until `append`. */
  decide(inputs: ReadonlyArray<RunInput>): void {
    const events = this.#decided(inputs)
    if (this.#events.length === 0) {
      this.#inputs = inputs
      this.#laterInputs = no_items
      this.#events = events
    } else {
      this.#laterInputs = this.#laterInputs === no_items ? inputs : this.#laterInputs.concat(inputs)
      this.#events = both(this.#events, events)
    }
  }

  /**
   * Appends what was decided, at once if the store can. Undefined: it is durable, and the state is the journal's. Otherwise
   * the cause, which is for `appendAnew`. `at`: a clock reading of just now, in ms since 1970; undefined = there is none.
   */
  append(at: number | undefined): Effect.Effect<Refusal | undefined> {
    const status = statusOf(this.#state)
    const parkable = isParkable(this.#state)
    const events = this.#events
    const took = this.#tookBy(events)
    const append = { run: this.run, fence: this.#fence, events, status, parkable, at, took }
    const { journal } = this.#services
    const { now } = journal.append
    const appended = now === undefined ? journal.append(append) : now(append)
    if (!isDone(appended)) {
      return Effect.matchCause(appended, {
        onSuccess: () => this.#appended(),
        onFailure: (cause) => this.#refused(cause)
      })
    }
    if (Exit.isFailure(appended)) return Exit.succeed(this.#refused(appended.cause))
    this.#appended()
    return durable
  }

  /** Folds anew and decides the same inputs again, until durable. Fails for another owner, or a journal that does not answer. */
  appendAnew(refused: Refusal): Effect.Effect<void, LoopFailure> {
    return RunWriter.#appendAnew(this, refused)
  }

  /** Decides on inputs and appends what was decided. */
  write(inputs: ReadonlyArray<RunInput>): Effect.Effect<void, LoopFailure> {
    this.decide(inputs)
    if (!this.isAhead) return Effect.void
    return Effect.flatMap(this.append(undefined), (refused) =>
      refused === undefined ? Effect.void : this.appendAnew(refused)
    )
  }

  /** Runs a body in the journal's transaction. False: it may not be dispatched, and `write` of its dispatch gives it its result. */
  transact(transaction: Transaction): Effect.Effect<boolean, LoopFailure, AgentMemory> {
    return RunWriter.#transact(this, transaction)
  }

  /** Loads what others appended. For the time between appends, when the state is exactly the journal's. */
  catchUp(): Effect.Effect<void, LoopFailure> {
    return RunWriter.#catchUp(this)
  }

  #appended(): undefined {
    const events = this.#events
    this.#events = no_items
    // They have whole results, and the next ones may be long in coming.
    this.#inputs = no_items
    this.#laterInputs = no_items
    this.#stuck = 0
    this.#away_since = undefined
    this.#advance(events)
  }

  #refused(cause: Refusal): Refusal {
    this.#events = no_items
    return cause
  }

  /** The events of these inputs and all that follows from them, applied. */
  #decided(inputs: ReadonlyArray<RunInput>): ReadonlyArray<RunEvent> {
    let events: ReadonlyArray<RunEvent>
    const only = inputs.length === 1 ? inputs[0] : undefined
    if (only !== undefined) {
      // The decider's own list, as in most steps (bench row `step`).
      events = decide(this.#state, only)
      for (const event of events) evolve(this.#state, event)
    } else {
      const all: Array<RunEvent> = []
      for (const input of inputs) this.#apply(decide(this.#state, input), all)
      events = all
    }
    for (let event = conclude(this.#state); event !== undefined; event = conclude(this.#state)) {
      evolve(this.#state, event)
      events = [...events, event]
    }
    return events
  }

  #apply(decided: ReadonlyArray<RunEvent>, events: Array<RunEvent>): void {
    for (const event of decided) {
      evolve(this.#state, event)
      events.push(event)
    }
  }

  #tookBy(events: ReadonlyArray<RunEvent>): BudgetSettlement | undefined {
    return this.#services.budgets?.settlement(this.#state, events, this.#fence.length)
  }

  #advance(events: ReadonlyArray<RunEvent>): void {
    this.#follow(this.#fence.length + events.length)
    this.#services.onDurable(this.run, this.#state, events)
  }

  /** The journal has this many events, and the state is the fold of all of them. */
  #follow(length: number): void {
    this.#fence = { epoch: this.#fence.epoch, length }
    this.#wakeup.seenLength = length
  }

  /** Another owner's claim among what was loaded ends this one at once, and not at its next append. */
  #checkEpoch(epoch: number): Effect.Effect<void, FencedOff> {
    return epoch === this.#fence.epoch
      ? Effect.void
      : Effect.fail(new FencedOff({ run_id: this.run, epoch }))
  }

  get #isAwayTooLong(): Effect.Effect<boolean> {
    return Effect.map(Clock.currentTimeMillis, (now) => {
      this.#away_since ??= now
      return now - this.#away_since >= away_ms_max
    })
  }

  #read(from: number, limit: number) {
    const read = Effect.retry(this.#services.reader.read(this.run, from, limit), reading)
    return Effect.retry(read, readingAway)
  }

  // Generator functions are static, because one made for each run costs more than what it does (bench row `step`).

  static readonly #appendAnew = Effect.fnUntraced(function* (self: RunWriter, refused: Refusal) {
    const inputs = self.#inputs.concat(self.#laterInputs)
    let cause: Refusal | undefined = refused
    for (let tries = 1; cause !== undefined; tries++) {
      yield* RunWriter.#recover(self, cause, tries)
      self.decide(inputs)
      if (!self.isAhead) return
      cause = yield* self.append(undefined)
    }
  })

  static readonly #transact = Effect.fnUntraced(function* (
    self: RunWriter,
    transaction: Transaction
  ) {
    const { body, dispatches } = transaction
    const record = (exit: Exit.Exit<unknown, unknown>) => transaction.record(exit)
    for (let tries = 1; ; tries++) {
      const dispatched = decide(self.#state, dispatches)
      if (dispatched[0]?._tag !== "CallDispatched") return false
      const events: Array<RunEvent> = []
      const exit = yield* Effect.exit(
        self.#services.journal.transact(self.run, self.#fence, body, (result) => {
          const inputs = record(result)
          if (inputs !== undefined) self.#apply(dispatched, events)
          for (const input of inputs ?? no_items) self.#apply(decide(self.#state, input), events)
          const status = statusOf(self.#state)
          return { events, status, parkable: isParkable(self.#state), took: self.#tookBy(events) }
        })
      )
      if (Exit.isSuccess(exit)) {
        if (events.length > 0) self.#advance(events)
        return true
      }
      yield* RunWriter.#recover(self, exit.cause, tries)
    }
  })

  static readonly #catchUp = Effect.fnUntraced(function* (self: RunWriter) {
    while (self.#wakeup.pending) {
      self.#wakeup.pending = false
      const { length } = self.#fence
      yield* RunWriter.#fold(self, self.#state, length, (to) => {
        self.#follow(to)
        self.#services.onAmended(self.run, self.#state)
      })
    }
    yield* self.#checkEpoch(self.#state.epoch)
  })

  /** Folds what the journal has from `from` on into the state. `folded` is given the length after each page. */
  static readonly #fold = Effect.fnUntraced(function* (
    self: RunWriter,
    state: FoldState,
    from: number,
    folded: (length: number) => void
  ) {
    for (let length = from, limit = first_page; ;) {
      const page = yield* self.#read(length, limit)
      if (page.length === 0) return
      for (const entry of page) evolve(state, entry.event)
      length += page.length
      folded(length)
      if (page.length < limit) return
      limit = entriesAfter(page, limit, page_max)
    }
  })

  /** After a refusal: fails if it is final, otherwise waits and folds the state anew. */
  static readonly #recover = Effect.fnUntraced(function* (
    self: RunWriter,
    cause: Refusal,
    tries: number
  ) {
    const error = Cause.findErrorOption(cause)
    if (error._tag === "None") return yield* Effect.failCause(cause as Cause.Cause<never>)
    if (error.value._tag === "FencedOff") return yield* error.value
    if (error.value._tag === "JournalError") {
      const isOver = isAway(error.value) ? yield* self.#isAwayTooLong : tries >= tries_max
      if (isOver) return yield* error.value
      const pause_ms = (yield* Random.nextIntBetween(10, 50)) * 2 ** tries
      yield* Effect.sleep(Math.min(pause_ms, yield* Random.nextIntBetween(1_000, pause_ms_max)))
      return yield* RunWriter.#reload(self)
    }
    const { length } = self.#fence
    yield* RunWriter.#reload(self)
    // An append that came first has made the run longer. If none did, no read shows the reason of the refusal.
    self.#stuck = self.#fence.length > length ? 0 : self.#stuck + 1
    if (self.#stuck >= stuck_max || tries >= stale_max) {
      const message = `an append was refused ${tries} times although the journal is as it was read`
      return yield* new JournalError({ message, lost: false })
    }
    if (self.#stuck > 0) yield* Effect.sleep((yield* Random.nextIntBetween(10, 50)) * self.#stuck)
  })

  /** Folds the whole journal anew. */
  static readonly #reload = Effect.fnUntraced(function* (self: RunWriter) {
    // Before the read: a wakeup that comes while it runs is about something that the read may not have seen.
    self.#wakeup.pending = false
    const state = emptyState()
    yield* RunWriter.#fold(self, state, 0, () => {})
    // A run that is not there any more is not this owner's.
    if (!isAccepted(state)) return yield* new FencedOff({ run_id: self.run, epoch: state.epoch })
    self.#state = state
    self.#follow(state.length)
    self.#services.onAmended(self.run, state)
    yield* self.#checkEpoch(state.epoch)
  })
}
