/**
 * One call as its run's loop serves it: what it asks, dispatches and commits goes through the run's one writer. One
 * object a call; what few calls need is made when they need it.
 */
import { Effect } from "effect"
import type { Exit } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import type { CallId, FrameId, RunId } from "../../../src/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome, RunAccepted } from "../../../src/run/RunEvent.ts"
import type { CallState, RunState } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { FaultAnnotations } from "../tool/Faults.ts"
import type { ToolOutput } from "./Feed.ts"
import type { RunWriter, Transaction } from "./RunWriter.ts"
import type { BegunSideEffect, CallHost, ActorContext } from "../tool/CallHost.ts"

/** What of the loop a call reaches. */
export interface Loop {
  readonly writer: RunWriter
  readonly context: ActorContext
  /** Decides on the input with all that has arrived; `written` is told whether or not its event stands. */
  report(input: RunInput, written: () => void): void
  /** Runs when no append is on its way. */
  transact(transaction: Transaction, done: () => void): void
  readonly delta: (run: RunId, frame: FrameId, step: number, output: ToolOutput) => void
  /** Tells operators of code that broke: with the run's own ids, and these. */
  broke(what: string, exception: Exception, about: FaultAnnotations): void
  effects?: Map<string, BegunSideEffect>
}

export class LoopCall implements CallHost {
  readonly #loop: Loop
  readonly #id: CallId
  /** As it was in that state, which a fold anew replaces. */
  #of: RunState | undefined
  #call: CallState | undefined
  readonly agent: ResolvedAgent

  constructor(loop: Loop, id: CallId, agent: ResolvedAgent) {
    this.#loop = loop
    this.#id = id
    this.agent = agent
  }

  get run(): RunId {
    return this.#loop.writer.run
  }

  get context(): ActorContext {
    return this.#loop.context
  }

  get accepted(): RunAccepted {
    return this.#loop.writer.state.accepted
  }

  call(): CallState {
    const { state } = this.#loop.writer
    if (this.#of !== state) {
      this.#of = state
      this.#call = state.calls.get(this.#id)!
    }
    return this.#call!
  }

  get state(): RunState {
    return this.#loop.writer.state
  }

  get begunSideEffects(): Map<string, BegunSideEffect> {
    return (this.#loop.effects ??= new Map())
  }

  reportFault(what: string, exception: Exception, tool: string): void {
    this.#loop.broke(what, exception, { call_id: this.#id, tool, agent: this.agent.spec.name })
  }

  show(value: unknown): void {
    const { frame, step } = this.call()
    this.#loop.delta(this.run, frame, step, { kind: "output", call: this.#id, value })
  }

  dispatch(input: Extract<RunInput, { _tag: "Dispatches" }>): Effect.Effect<boolean> {
    return this.#written(input, () => {
      const { phase } = this.call()
      return (
        phase._tag === "Dispatched" &&
        phase.epoch === this.#loop.writer.epoch &&
        phase.over_at === input.over_at
      )
    })
  }

  transact(
    key: string,
    body: Effect.Effect<Outcome, unknown, AgentMemory>,
    record: (exit: Exit.Exit<Outcome, unknown>) => RunInput
  ): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const dispatches = {
        _tag: "Dispatches",
        call: this.#id,
        key,
        on_loss: "unknown"
      } as const
      this.#loop.transact({ dispatches, body, record }, () => resume(Effect.void))
    })
  }

  /** Reports, and answers once the event is written or did not stand. */
  #written<A>(input: RunInput, stands: () => A): Effect.Effect<A> {
    return Effect.callback((resume) => {
      this.#loop.report(input, () => resume(Effect.sync(stands)))
    })
  }
}
