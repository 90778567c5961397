/**
 * The run's one writer: its state, its fence, and every append. The state runs ahead of the journal while an append is on
 * its way; where that is refused, the state is folded anew and the same inputs are decided again, because inputs that
 * are dropped are lost.
 */
import { Cause, Effect, Exit, Random, Schedule } from "effect"
import type { RunId } from "../../../src/Ids.ts"
import { begin, isDone } from "../../../src/run/FirstStep.ts"
import { conclude } from "../../../src/run/RunConclusion.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import { decide } from "../../../src/run/RunDecider.ts"
import type { Outcome, RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import {
  evolve,
  isAccepted,
  isParkable,
  make as emptyState,
  statusOf
} from "../../../src/run/RunState.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { Fence, RunJournal, StaleAppend } from "../../../services/RunJournal.ts"
import { FencedOff, JournalError } from "../../../services/RunJournal.ts"
import type { RunWakeup } from "./RunWakeup.ts"

/** A body that commits with its own event. */
export interface Transaction {
  readonly dispatches: Extract<RunInput, { _tag: "Dispatches" }>
  readonly body: Effect.Effect<Outcome, unknown, AgentMemory>
  readonly record: (exit: Exit.Exit<Outcome, unknown>) => RunInput
}

export interface Host {
  readonly journal: RunJournal["Service"]
  /** Called with events once they are durable, never before. */
  readonly onDurable: (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void
  /** Called when others appended to the run. */
  readonly onAmended: (run: RunId, state: RunState) => void
}

const nothing: ReadonlyArray<RunEvent> = []

/** The append is durable. */
const stands = Exit.succeed(undefined)

/** Why an append does not stand. */
type Refusal = Cause.Cause<FencedOff | JournalError | StaleAppend>

/** Why a run's writer gives up. */
export type Lost = FencedOff | JournalError | RunQuarantined

/** Usually a turn and the call that it asked for: a list of two, made at once. */
const both = <A>(first: ReadonlyArray<A>, then: ReadonlyArray<A>): ReadonlyArray<A> =>
  first.length === 1 && then.length === 1 ? [first[0]!, then[0]!] : first.concat(then)

/** Tries of an append whose store does not answer, before the actor's supervisor takes over. */
const tries_max = 8
/** Refusals in a row of one append whose run had not become longer, and of one append at all, each for another reason to give up. */
const stuck_max = 8
const stale_max = 10_000
const page_max = 10_000
/** Waits in between, about 5 s in all: a crash of the actor makes writes that are on their way unknown. */
const reading = { schedule: Schedule.exponential("20 millis"), times: tries_max }

export class RunWriter {
  readonly run: RunId
  readonly #host: Host
  #state: RunState
  #fence: Fence
  readonly #wakeup: RunWakeup

  constructor(host: Host, run: RunId, state: RunState, wakeup: RunWakeup) {
    this.#host = host
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

  /** Decides on inputs, and on all that follows, at once. The state runs ahead of the journal until `append`. */
  decide(inputs: ReadonlyArray<RunInput>): void {
    const events = this.#decided(inputs)
    if (this.#events.length === 0) {
      this.#inputs = inputs
      this.#events = events
    } else {
      this.#inputs = both(this.#inputs, inputs)
      this.#events = both(this.#events, events)
    }
  }

  /** Is something decided that is not appended? */
  get isAhead(): boolean {
    return this.#events.length > 0
  }

  /**
   * Appends what was decided as one, at once if the store can: what it returns is to be waited for. The state is the
   * journal's when it stands; where it does not, the cause is for `appendAnew`.
   */
  append(): Effect.Effect<Refusal | undefined> {
    const status = statusOf(this.#state)
    const rests = isParkable(this.#state)
    const append = { run: this.run, fence: this.#fence, events: this.#events, status, rests }
    const { journal } = this.#host
    const appended = begin(journal, journal.append, append)
    if (!isDone(appended)) return Effect.matchCause(appended, this)
    if (Exit.isFailure(appended)) return Exit.succeed(this.onFailure(appended.cause))
    this.onSuccess()
    return stands
  }

  /** The state is folded anew and the same inputs are decided again, until they stand or somebody else owns the run. */
  appendAnew(refused: Refusal): Effect.Effect<void, Lost> {
    return RunWriter.#appendAnew(this, refused)
  }

  static readonly #appendAnew = Effect.fnUntraced(function* (self: RunWriter, refused: Refusal) {
    const inputs = self.#inputs
    let cause: Refusal | undefined = refused
    for (let tries = 1; cause !== undefined; tries++) {
      yield* RunWriter.#refused(self, cause, tries)
      self.decide(inputs)
      if (!self.isAhead) return
      cause = yield* self.append()
    }
  })

  write(inputs: ReadonlyArray<RunInput>): Effect.Effect<void, Lost> {
    this.decide(inputs)
    if (!this.isAhead) return Effect.void
    return Effect.flatMap(this.append(), (refused) =>
      refused === undefined ? Effect.void : this.appendAnew(refused)
    )
  }

  // One append is on its way at a time, so what it carries is kept here, and the writer is what hears of its end: no
  // closures are made for each.
  #inputs: ReadonlyArray<RunInput> = []
  #events: ReadonlyArray<RunEvent> = nothing
  /** Refusals since the run last became longer. */
  #stuck = 0

  /** The append stands. */
  onSuccess(): undefined {
    const events = this.#events
    this.#events = nothing
    this.#stuck = 0
    this.#advance(events)
  }

  /** It does not. */
  onFailure(cause: Refusal): Refusal {
    this.#events = nothing
    return cause
  }

  /**
   * Runs a body inside the journal's transaction, with its dispatch and its result. False: it may not be dispatched, and
   * `write` of the same dispatch says why.
   */
  transact(transaction: Transaction) {
    return RunWriter.#transact(this, transaction)
  }

  // Static, because an Effect function made anew for each run costs more than what it does.
  static readonly #transact = Effect.fnUntraced(function* (
    self: RunWriter,
    transaction: Transaction
  ) {
    const { body, dispatches, record } = transaction
    for (let tries = 1; ; tries++) {
      const dispatched = decide(self.#state, dispatches)
      if (dispatched[0]?._tag !== "CallDispatched") return false
      const events: Array<RunEvent> = []
      const exit = yield* Effect.exit(
        self.#host.journal.transact(self.run, self.#fence, body, (result) => {
          self.#apply(dispatched, events)
          self.#apply(decide(self.#state, record(result)), events)
          return { events, status: statusOf(self.#state), rests: isParkable(self.#state) }
        })
      )
      if (Exit.isSuccess(exit)) {
        self.#advance(events)
        return true
      }
      yield* RunWriter.#refused(self, exit.cause, tries)
    }
  })

  /** Loads what others appended. Runs only between appends, when the state is exactly the journal. */
  catchUp() {
    return RunWriter.#catchUp(this)
  }

  static readonly #catchUp = Effect.fnUntraced(function* (self: RunWriter) {
    while (self.#wakeup.pending) {
      self.#wakeup.pending = false
      const page = yield* self.#read(self.#fence.length)
      for (const entry of page) evolve(self.#state, entry.event)
      self.#follow(self.#fence.length + page.length)
      if (page.length === page_max) self.#wakeup.pending = true
      if (page.length > 0) self.#host.onAmended(self.run, self.#state)
    }
    yield* self.#loaded()
  })

  /** The events of these inputs and all that follows from them, applied. */
  #decided(inputs: ReadonlyArray<RunInput>): ReadonlyArray<RunEvent> {
    let events: ReadonlyArray<RunEvent>
    if (inputs.length === 1) {
      // The usual step: the decider's own list will do.
      events = decide(this.#state, inputs[0]!)
      for (let i = 0; i < events.length; i++) evolve(this.#state, events[i]!)
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

  #apply(decided: ReadonlyArray<RunEvent>, events: Array<RunEvent>) {
    for (const event of decided) {
      evolve(this.#state, event)
      events.push(event)
    }
  }

  /** The journal is this long, and the state is that of all of it. */
  #follow(length: number) {
    this.#fence = { epoch: this.#fence.epoch, length }
    this.#wakeup.seenLength = length
  }

  #advance(events: ReadonlyArray<RunEvent>) {
    this.#follow(this.#fence.length + events.length)
    this.#host.onDurable(this.run, this.#state, events)
  }

  static readonly #refused = Effect.fnUntraced(function* (
    self: RunWriter,
    cause: Refusal,
    tries: number
  ) {
    const error = Cause.findErrorOption(cause)
    if (error._tag === "None") return yield* Effect.failCause(cause as Cause.Cause<never>)
    if (error.value._tag === "FencedOff") return yield* error.value
    if (error.value._tag === "JournalError") {
      if (tries >= tries_max) return yield* error.value
      yield* Effect.sleep((yield* Random.nextIntBetween(10, 50)) * 2 ** tries)
      return yield* RunWriter.#reload(self)
    }
    const { length } = self.#fence
    yield* RunWriter.#reload(self)
    // Whoever came first made the run longer. One that is not is refused for a reason that no read shows.
    self.#stuck = self.#fence.length > length ? 0 : self.#stuck + 1
    if (self.#stuck >= stuck_max || tries >= stale_max) {
      const message = `an append was refused ${tries} times although the journal is as it was read`
      return yield* new JournalError({ message, lost: false })
    }
    if (self.#stuck > 0) yield* Effect.sleep((yield* Random.nextIntBetween(10, 50)) * self.#stuck)
  })

  static readonly #reload = Effect.fnUntraced(function* (self: RunWriter) {
    // Before the read: a wakeup that comes while it runs is about something that the read may not have seen.
    self.#wakeup.pending = false
    const state = emptyState()
    for (;;) {
      const page = yield* self.#read(state.length)
      for (const entry of page) evolve(state, entry.event)
      if (page.length < page_max) break
    }
    // A run that is not there any more is not this owner's.
    if (!isAccepted(state)) return yield* new FencedOff({ run_id: self.run, epoch: state.epoch })
    self.#state = state
    self.#follow(state.length)
    yield* self.#loaded()
  })

  /** Another owner's claim among what was loaded ends this one at once, not at its next append. */
  #loaded(): Effect.Effect<void, FencedOff> {
    if (this.#state.epoch !== this.#fence.epoch) {
      return Effect.fail(new FencedOff({ run_id: this.run, epoch: this.#state.epoch }))
    }
    return Effect.void
  }

  #read(from: number) {
    return Effect.retry(this.#host.journal.read(this.run, from, page_max), reading)
  }
}
