/**
 * One call as its run's loop serves it: its approvals, dispatches and transactions go through the loop to its
 * `RunWriter`. One object per call; what few calls need is made when they need it (bench row `step`).
 */
import { Cause, Effect, Exit } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import { secretForms } from "../../../src/error/KnownSecrets.ts"
import type { CallId, RunId } from "../../../src/value/Ids.ts"
import type { Authorized } from "../../../src/permission/Authorization.ts"
import type { RunContext } from "../../../src/run/RunContext.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome, RunAccepted } from "../../../src/run/RunEvent.ts"
import { callOf } from "../../../src/run/RunState.ts"
import type { CallState, RunState } from "../../../src/run/RunState.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { ActorContext, BegunSideEffect, CallHost, KeyReservation } from "../tool/CallHost.ts"
import { KeyNotReserved } from "../tool/CallHost.ts"
import { attachFile } from "../tool/StoredParts.ts"
import { strippedShown } from "../tool/StrippedBody.ts"
import type { LoopHost } from "./LoopHost.ts"

/** Did the call not run, because it does not hold its key? */
const isNotReserved = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some(
    (reason) => Cause.isFailReason(reason) && reason.error instanceof KeyNotReserved
  )

type Dispatches = Extract<RunInput, { _tag: "Dispatches" }>

export class LoopCall implements CallHost {
  readonly #loop: LoopHost
  readonly #id: CallId
  /** The call, and the state that it was looked up in: a refused append replaces the run's state. */
  #call: CallState
  #stateOfCall: RunState
  readonly agent: ResolvedAgent
  #authorized: Authorized | undefined
  #hidden: ReadonlyArray<string> | undefined
  reservation?: KeyReservation

  constructor(loop: LoopHost, call: CallState, agent: ResolvedAgent) {
    this.#loop = loop
    this.#id = call.id
    this.#call = call
    this.#stateOfCall = loop.writer.state
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

  get secrets(): RunContext | undefined {
    return this.#loop.secrets?.of(this.run)?.members
  }

  get hidden(): ReadonlyArray<string> | undefined {
    // Kept: what a body says after its run has ended, and its secrets with it, has none of them either.
    if (this.#hidden !== undefined) return this.#hidden
    const kept = this.#loop.secrets?.of(this.run)
    return kept === undefined ? undefined : (this.#hidden = secretForms(kept.texts))
  }

  get state(): RunState {
    return this.#loop.writer.state
  }

  call(): CallState {
    const { state } = this.#loop.writer
    if (this.#stateOfCall !== state) {
      this.#stateOfCall = state
      this.#call = callOf(state, this.#id)
    }
    return this.#call
  }

  get begunSideEffects(): Map<string, BegunSideEffect> {
    return (this.#loop.begunSideEffects ??= new Map())
  }

  reportFault(what: string, exception: Exception, tool: string): void {
    const agent = this.agent.spec.name
    this.#loop.reportFault(what, exception, { call_id: this.#id, tool, agent })
  }

  show(value: unknown): void {
    const { frame, step } = this.call()
    const { hidden } = this
    const shown = hidden === undefined ? value : strippedShown(value, hidden)
    this.#loop.showOutput(frame, step, { kind: "output", call: this.#id, value: shown })
  }

  get afford(): CallHost["afford"] {
    const { budgets } = this.#loop
    return budgets === undefined ? undefined : (cost) => budgets.reserveCall(this, cost)
  }

  get stopped(): Effect.Effect<void> {
    return this.#loop.stopped
  }

  get attach(): CallHost["attach"] {
    const { parts } = this.#loop
    return parts === undefined ? undefined : (file) => attachFile(parts, this, file)
  }

  get authorized(): Authorized | undefined {
    return this.#authorized
  }

  authorize(by: Authorized): void {
    this.#authorized = by
  }

  /** The dispatch, with what people did for it before: authorised it, or freed its key. */
  #withPeople<Input extends Dispatches>(input: Input): Input {
    const freed = this.reservation?.freed
    if (this.#authorized === undefined && freed === undefined) return input
    return {
      ...input,
      ...(this.#authorized === undefined ? undefined : { authorized: this.#authorized }),
      ...(freed === undefined ? undefined : { freed })
    }
  }

  dispatch(input: Dispatches): Effect.Effect<boolean> {
    return Effect.callback((resume) => {
      const dispatches = this.#withPeople(input)
      const onDone = () => resume(Effect.sync(() => this.#isDispatched(input)))
      if (this.reservation === undefined) return this.#loop.submit(dispatches, onDone)
      const body = this.#reserve(this.reservation)
      const record = (exit: Exit.Exit<unknown, unknown>) => (Exit.isSuccess(exit) ? [] : undefined)
      this.#loop.transact({ dispatches, body, record }, onDone)
    })
  }

  /** Has the call hold its key; in a transaction, where the state is what the journal has. */
  #reserve(reservation: KeyReservation): Effect.Effect<void, KeyNotReserved> {
    return Effect.suspend(() => reservation.reserve(this.state.length))
  }

  /** Is exactly this dispatch, by this owner, in the journal? */
  #isDispatched({ over_at }: Dispatches): boolean {
    const { phase } = this.call()
    return (
      phase._tag === "Dispatched" &&
      phase.epoch === this.#loop.writer.epoch &&
      phase.over_at === over_at
    )
  }

  transact(
    key: string,
    body: Effect.Effect<Outcome, unknown, AgentMemory>,
    record: (exit: Exit.Exit<Outcome, unknown>) => RunInput
  ): Effect.Effect<void> {
    return Effect.callback((resume) => {
      const dispatches = this.#withPeople({
        _tag: "Dispatches",
        call: this.#id,
        key,
        on_loss: "unknown"
      })
      const { reservation } = this
      const transaction = {
        dispatches,
        body: reservation === undefined ? body : Effect.andThen(this.#reserve(reservation), body),
        record: (exit: Exit.Exit<Outcome, unknown>) =>
          isNotReserved(exit) ? undefined : [record(exit)]
      }
      this.#loop.transact(transaction, () => resume(Effect.void))
    })
  }
}
