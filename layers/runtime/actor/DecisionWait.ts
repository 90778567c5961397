/**
 * How an actor's fiber waits for a person while its run is resident. It awaits the `Deferred`s of the run's open questions;
 * the wait ends with a decision, with another amendment of the run, when the process drains, or after `park_ms`.
 *
 * - A decision of this process's desk completes the `Deferred` itself.
 * - One of another process's desk is an amendment that the journal notifies of: `wake` then reads what was appended, and
 *   completes the `Deferred` from there.
 *
 * In both cases the loop reads the decision in the journal; the `Deferred` only says when.
 */
import { Effect, Exit } from "effect"
import type { Decision } from "../../../src/approval/Approval.ts"
import * as OpenQuestions from "../approval/OpenQuestions.ts"
import { Deadline } from "../tool/Deadlines.ts"
import type { Actor } from "./Actor.ts"
import type { ActorHost } from "./ActorHost.ts"
import type { LoadedRun } from "./LoadedRun.ts"

/** Entries that are searched for decisions; the loop reads those beyond them. */
const entries_max = 100

/** Completes what another process's desk has decided, from the entries behind the state that waits. */
const completeFromJournal = Effect.fnUntraced(function* (
  host: ActorHost,
  actor: Actor,
  waiting: LoadedRun
) {
  const { loop, questions } = host
  const run = waiting.head.run_id
  const isOver = () => actor.waiting !== waiting || !questions.has(run)
  // This process's desk completes what it decides in the turn in which its amendment wakes the actor: it goes first.
  yield* Effect.yieldNow
  if (isOver()) return
  const entries = yield* loop.reader
    .read(run, waiting.state.length, entries_max)
    .pipe(Effect.orElseSucceed(() => []))
  if (isOver()) return
  OpenQuestions.completeFromEntries(questions, run, entries)
})

/** Opens the questions of a run that waits. False: it has none, and waits for an operator to settle a call. */
export const awaitsDecision = ({ questions }: ActorHost, { head, state }: LoadedRun): boolean => {
  OpenQuestions.matchState(questions, head.run_id, state)
  return questions.has(head.run_id)
}

/** One object per waiting run: it is the deadline and the waiter of the run's wakeup (bench row `waiting`). */
export class DecisionWait extends Deadline {
  readonly #host: ActorHost
  readonly #actor: Actor
  readonly #waiting: LoadedRun

  constructor(host: ActorHost, actor: Actor, waiting: LoadedRun) {
    super()
    this.#host = host
    this.#actor = actor
    this.#waiting = waiting
    actor.wakeup.waiter = this
    host.loop.deadlines.arm(this, host.config.park_ms)
  }

  fire() {
    this.#giveUp("parked")
  }

  wake() {
    const { wakeup } = this.#actor
    wakeup.waiter = undefined
    if (wakeup.draining) this.#giveUp("draining")
    else this.#host.background(completeFromJournal(this.#host, this.#actor, this.#waiting))
  }

  #giveUp(why: OpenQuestions.Undecided) {
    OpenQuestions.dropQuestions(this.#host.questions, this.#waiting.head.run_id, why)
  }

  end(exit: Exit.Exit<Decision, OpenQuestions.Undecided>) {
    this.#host.loop.deadlines.disarm(this)
    const { wakeup } = this.#actor
    wakeup.waiter = undefined
    // The decision is in the journal: the loop is to read it, with or without a wakeup.
    if (Exit.isSuccess(exit)) wakeup.pending = true
  }
}
