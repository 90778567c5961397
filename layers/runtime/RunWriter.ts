/**
 * The run's one writer: its state, its fence, and every append. The state runs ahead of the journal while an append is on
 * its way; where that is refused, the state is folded anew and the same inputs are decided again, because inputs that
 * are dropped are lost.
 */
import { Cause, Effect, Exit, Random } from "effect"
import type { RunId } from "../../src/Ids.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { RunState } from "../../src/run/RunState.ts"
import { evolve, fold, make as emptyState, statusOf } from "../../src/run/RunState.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import type { Claim, Fence, RunJournal } from "../../services/RunJournal.ts"
import { FencedOff, JournalError } from "../../services/RunJournal.ts"

/** A body that commits with its own event. */
export interface Transaction {
  readonly dispatches: Extract<RunInput, { _tag: "Dispatches" }>
  readonly body: Effect.Effect<unknown, unknown, AgentMemory>
  readonly record: (exit: Exit.Exit<unknown, unknown>) => RunInput
}

export interface Host {
  readonly journal: RunJournal["Service"]
  /** Called after each commit, never before. */
  readonly committed: (run: RunId, state: RunState, events: ReadonlyArray<RunEvent>) => void
  /** Called when others appended to the run. */
  readonly amended: (run: RunId, state: RunState) => void
  /** The state was loaded: what waited for a foreign command may go on. */
  readonly loaded: () => void
}

/** By what others ring a run, also before its loop begins and after it has returned. */
export interface Bell {
  /** Somebody else appended, and nobody has looked yet. */
  rung: boolean
  /** Start no more work, and park as soon as nothing is on its way. */
  draining: boolean
  wake: (() => void) | undefined
}

export const ring = (bell: Bell): void => {
  bell.rung = true
  bell.wake?.()
}

export const drain = (bell: Bell): void => {
  bell.draining = true
  bell.wake?.()
}

/** Tries of an append whose store does not answer, before the actor's supervisor takes over. */
const tries_max = 8
const page_max = 10_000

export class RunWriter {
  readonly run: RunId
  readonly #host: Host
  #state: RunState
  #fence: Fence
  readonly #bell: Bell

  constructor(host: Host, claim: Claim, bell: Bell) {
    this.#host = host
    this.#bell = bell
    this.run = claim.head.run_id
    this.#state = fold(claim.entries.map((entry) => entry.event))
    this.#fence = { epoch: this.#state.epoch, length: this.#state.length }
  }

  get state(): RunState {
    return this.#state
  }

  get epoch(): number {
    return this.#fence.epoch
  }

  /** Decides on inputs, and on all that follows, and appends it as one. The state is the journal's when it returns. */
  readonly write = Effect.fnUntraced(function* (this: RunWriter, inputs: ReadonlyArray<RunInput>) {
    for (let tries = 1; ; tries++) {
      const events: Array<RunEvent> = []
      for (const input of inputs) this.#apply(decide(this.#state, input), events)
      for (let event = conclude(this.#state); event !== undefined; event = conclude(this.#state)) {
        evolve(this.#state, event)
        events.push(event)
      }
      if (events.length === 0) return
      const status = statusOf(this.#state)
      const append = { run: this.run, fence: this.#fence, events, status }
      const exit = yield* Effect.exit(this.#host.journal.append(append))
      if (Exit.isSuccess(exit)) return this.#advance(events)
      yield* this.#refused(exit, tries)
    }
  })

  /**
   * Runs a body inside the journal's transaction, with its dispatch and its result. False: it may not be dispatched, and
   * `write` of the same dispatch says why.
   */
  readonly transact = Effect.fnUntraced(function* (this: RunWriter, transaction: Transaction) {
    const { body, dispatches, record } = transaction
    for (let tries = 1; ; tries++) {
      const dispatched = decide(this.#state, dispatches)
      if (dispatched[0]?._tag !== "CallDispatched") return false
      const events: Array<RunEvent> = []
      const exit = yield* Effect.exit(
        this.#host.journal.transact(this.run, this.#fence, body, (result) => {
          this.#apply(dispatched, events)
          this.#apply(decide(this.#state, record(result)), events)
          return { events, status: statusOf(this.#state) }
        })
      )
      if (Exit.isSuccess(exit)) {
        this.#advance(events)
        return true
      }
      yield* this.#refused(exit, tries)
    }
  })

  /** Loads what others appended. Runs only between appends, when the state is exactly the journal. */
  readonly catchUp = Effect.fnUntraced(function* (this: RunWriter) {
    while (this.#bell.rung) {
      this.#bell.rung = false
      const page = yield* this.#read(this.#fence.length)
      for (const entry of page) evolve(this.#state, entry.event)
      this.#fence = { epoch: this.#fence.epoch, length: this.#fence.length + page.length }
      if (page.length === page_max) this.#bell.rung = true
      if (page.length > 0) this.#host.amended(this.run, this.#state)
    }
    yield* this.#loaded()
  })

  #apply(decided: ReadonlyArray<RunEvent>, events: Array<RunEvent>) {
    for (const event of decided) {
      evolve(this.#state, event)
      events.push(event)
    }
  }

  #advance(events: ReadonlyArray<RunEvent>) {
    this.#fence = { epoch: this.#fence.epoch, length: this.#fence.length + events.length }
    this.#host.committed(this.run, this.#state, events)
  }

  readonly #refused = Effect.fnUntraced(function* (
    this: RunWriter,
    exit: Exit.Failure<void, FencedOff | JournalError | { readonly _tag: "StaleAppend" }>,
    tries: number
  ) {
    const error = Cause.findErrorOption(exit.cause)
    if (error._tag === "None") return yield* Effect.failCause(exit.cause as Cause.Cause<never>)
    if (error.value._tag === "FencedOff") return yield* error.value
    if (error.value._tag === "JournalError") {
      if (tries >= tries_max) return yield* error.value
      yield* Effect.sleep((yield* Random.nextIntBetween(10, 50)) * 2 ** tries)
    }
    yield* this.#reload()
  })

  readonly #reload = Effect.fnUntraced(function* (this: RunWriter) {
    // Before the read: a bell that rings while it runs stands for something that it may not have seen.
    this.#bell.rung = false
    const state = emptyState()
    for (;;) {
      const page = yield* this.#read(state.length)
      for (const entry of page) evolve(state, entry.event)
      if (page.length < page_max) break
    }
    this.#state = state
    this.#fence = { epoch: this.#fence.epoch, length: state.length }
    yield* this.#loaded()
  })

  /** Another owner's claim among what was loaded ends this one at once, not at its next append. */
  #loaded(): Effect.Effect<void, FencedOff> {
    if (this.#state.epoch !== this.#fence.epoch) {
      return Effect.fail(new FencedOff({ run_id: this.run, epoch: this.#state.epoch }))
    }
    this.#host.loaded()
    return Effect.void
  }

  #read(from: number) {
    return Effect.retry(this.#host.journal.read(this.run, from, page_max), { times: tries_max })
  }
}
