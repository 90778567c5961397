/**
 * How an actor's fiber waits for a person: it awaits the `Deferred`s of its run's open questions, until one is decided or
 * something else ends the wait.
 */
import { Effect, Exit } from "effect"
import type { Decision } from "../../../src/approval/Approval.ts"
import type { Actor, Resting } from "./Actor.ts"
import type { ActorHost } from "./ActorHost.ts"
import { Deadline } from "../tool/Deadlines.ts"
import * as OpenQuestions from "../desk/OpenQuestions.ts"

/** Entries that are read to see what was decided elsewhere; what lies beyond them the loop reads. */
const looked_at_max = 100

/**
 * Completes what was decided elsewhere from what the journal has beyond the state that rests. What this process's desk
 * decides it completes itself, so that goes first.
 */
const look = Effect.fnUntraced(function* (host: ActorHost, actor: Actor, resting: Resting) {
  const run = resting.head.run_id
  const isOver = () => actor.resting !== resting || !host.questions.has(run)
  yield* Effect.yieldNow
  if (isOver()) return
  const entries = yield* host.loop.journal
    .read(run, resting.state.length, looked_at_max)
    .pipe(Effect.orElseSucceed(() => []))
  if (isOver()) return
  OpenQuestions.completeFrom(host.questions, run, entries)
})

/** Does a person's decision move it, and not only what an operator settles? */
export const asks = ({ questions }: ActorHost, { head, state }: Resting): boolean => {
  OpenQuestions.hold(questions, head.run_id, state)
  return questions.has(head.run_id)
}

/** What ends the wait for a decision: what is appended to the run, a stop, and time. */
export class DecisionWait extends Deadline {
  readonly #host: ActorHost
  readonly #actor: Actor
  readonly #resting: Resting

  constructor(host: ActorHost, actor: Actor, resting: Resting) {
    super()
    this.#host = host
    this.#actor = actor
    this.#resting = resting
    actor.wakeup.waiter = this
    host.loop.deadlines.arm(this, host.config.park_ms)
  }

  fire() {
    this.#drop("parked")
  }

  wake() {
    const { wakeup } = this.#actor
    wakeup.waiter = undefined
    if (wakeup.draining) this.#drop("draining")
    else this.#host.background(look(this.#host, this.#actor, this.#resting))
  }

  #drop(why: OpenQuestions.Undecided) {
    OpenQuestions.drop(this.#host.questions, this.#resting.head.run_id, why)
  }

  over(exit: Exit.Exit<Decision, OpenQuestions.Undecided>) {
    this.#host.loop.deadlines.disarm(this)
    const { wakeup } = this.#actor
    wakeup.waiter = undefined
    // The decision is in the journal: the loop reads it there, with or without a wakeup.
    if (Exit.isSuccess(exit)) wakeup.pending = true
  }
}
