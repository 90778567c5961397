/**
 * The two sides of a call: what its run or its queue does for it (`CallHost`), and the work that it gives back, ready to run
 * (`StartedWork`). `BodyContext` says how long each part of a call lives.
 */
import type { Cause, Deferred, Effect, Exit } from "effect"
import { Context } from "effect"
import type { AttachedFile, FilePart, ResultFile } from "../../../src/conversation/Part.ts"
import type { ToolError } from "../../../src/error/ToolError.ts"
import type { Spending } from "../../../src/cost/Spending.ts"
import type { Exception } from "../../../src/error/Exception.ts"
import type { CallId, RunId } from "../../../src/value/Ids.ts"
import type { NestedRuns } from "../../../src/run/NestedRuns.ts"
import type { Authorized } from "../../../src/permission/Authorization.ts"
import type { RunContext } from "../../../src/run/RunContext.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { FreedKey, HostValues, Outcome, RunAccepted } from "../../../src/run/RunEvent.ts"
import type { CallState, RunState } from "../../../src/run/RunState.ts"
import type { GovernedTool } from "../../../src/tool/GovernedTool.ts"
import type { Permission } from "../../../src/tool/SideEffects.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"
import type { Fork as ForkOver } from "../fiber/Coroutine.ts"

/** What the loop of a run, or the worker of a queue, does for one call. */
export interface CallHost {
  readonly run: RunId
  readonly accepted: RunAccepted
  readonly agent: ResolvedAgent
  /** The secrets in the run's context, which no journal has. Absent = there are none, or this process was not told them. */
  readonly secrets?: RunContext | undefined
  /** The same secrets in every form (`KnownSecrets`): nothing that a body says may have them. Absent = there are none. */
  readonly hidden?: ReadonlyArray<string> | undefined
  /** The services of the actor, over which bodies run. */
  readonly context: ActorContext
  /** The call in the current state of its run. */
  readonly call: () => CallState
  /** The current state of the run; read only. */
  readonly state: RunState
  /** What the sender of a call from a queue says of its run. Absent = it follows from `state`. */
  readonly nested?: NestedRuns
  /** Side effects that calls of this loop have begun, by identity. Made when it is first read. */
  readonly begunSideEffects: Map<string, BegunSideEffect>
  /** What the host of the service filled in for this call, until the journal says it. */
  filled?: HostValues
  /** The answer of a permission of each call; absent until it was asked. */
  judged?: Permission
  /** What its bodies have spent on models until now; absent until one of them has. */
  spent?: Spending
  /** Files that its body has attached; absent until it has attached one. */
  files?: Array<ResultFile>
  /** Stores a file that its body attaches. Absent = its result has no files. */
  readonly attach?: ((file: AttachedFile) => Effect.Effect<FilePart, ToolError>) | undefined
  /** What its workspace had authorised in advance, in place of a person's approval. Absent = a person approved it, or nobody had to. */
  readonly authorized?: Authorized | undefined
  /** Has the call run by this, which its dispatch then says. Absent = no journal would say so, and a person is asked. */
  readonly authorize?: (by: Authorized) => void
  /**
   * The key that the call holds beyond its run from its dispatch on, which is journaled in the same transaction. Absent = its
   * tool has none, or the sender of a call from a queue holds it.
   */
  reservation?: KeyReservation
  /**
   * Reserves the cost of the call, a decimal text, in the budgets that it is under: the refusal where one has too little left.
   * Absent = there are no budgets.
   */
  readonly afford?: ((cost: string) => Effect.Effect<ToolError | undefined>) | undefined
  /** Reports broken code of the call to operators only. `what` is the line of the log. */
  readonly reportFault: (what: string, exception: Exception, tool: string) => void
  /** Shows watchers of the run a preliminary result. */
  readonly show: (result: unknown) => void
  /** Ends when the run is being stopped. Absent = it is not known. */
  readonly stopped?: Effect.Effect<void>
  /** Journals a dispatch and waits until it is durable. False: it was refused, and the body may not run. */
  readonly dispatch: (input: Extract<RunInput, { _tag: "Dispatches" }>) => Effect.Effect<boolean>
  /** Runs a body in the journal's transaction, which commits with the event that `record` makes of its exit. */
  readonly transact: (
    key: string,
    body: Effect.Effect<Outcome, unknown, AgentMemory>,
    record: (exit: Exit.Exit<Outcome, unknown>) => RunInput
  ) => Effect.Effect<void>
}

/** A key that a call has to hold to be dispatched. */
export interface KeyReservation {
  /** Fails where the call does not hold the key, which is then neither dispatched nor run. `seq`: where its dispatch will be. */
  readonly reserve: (seq: number) => Effect.Effect<void, KeyNotReserved>
  /** Has its time passed, perhaps while the dispatch was on its way to the journal? Another call may hold the key by now. */
  readonly isOver: () => boolean
  /** Who has freed the key before, for the journal of its dispatch. Absent = nobody. */
  readonly freed?: FreedKey | undefined
}

/** The call was not dispatched, because it does not hold its key. The reservation knows why. */
export class KeyNotReserved {
  readonly _tag = "KeyNotReserved"
}

/** A side effect that happens once in its run: the call that began it, and that call's end. */
export interface BegunSideEffect {
  readonly call: CallId
  readonly done: Deferred.Deferred<RunInput | undefined>
}

/** Work that is ready to run. */
export type StartedWork = InputWork | TimedWork

/** Work whose value is an input for the decider; undefined if its events are in the journal already. A failure is a defect. */
export interface InputWork {
  readonly effect: Effect.Effect<RunInput | undefined, never, AgentMemory>
  readonly inputOfExit?: undefined
}

/** A body or a turn. Its exit becomes an input outside its fiber, by members that never throw, for exits of its own effect. */
export interface TimedWork<A = unknown, E = unknown> {
  readonly effect: Effect.Effect<A, E, AgentMemory>
  /** After so many ms it is interrupted and `inputOfTimeout` is its input; 0 = it bounds its own time. */
  readonly timeout_ms: number
  /** Starts its fiber, with more than the actor's services. Absent = the actor's. */
  readonly fork?: Fork
  /** The input for the decider that its exit stands for. */
  inputOfExit(exit: Exit.Exit<A, E>): RunInput
  /** What is to run in its place after this failure. Undefined = `inputOfExit` decides. */
  workAfterFailure?(cause: Cause.Cause<E>): InputWork | undefined
  /** What is to run in its place after this success. Undefined = `inputOfExit` decides. */
  workAfterSuccess?(value: A): InputWork | undefined
  inputOfTimeout(): RunInput
}

/** Starts a call of one tool, whose arguments are decoded and whose permission is given. */
export type StartBody = (host: CallHost, call: CallId, args: unknown) => StartedWork

/** Starts a fiber over the services of an actor. */
export type Fork = ForkOver<AgentMemory>

/** What an actor provides to the bodies of its calls. */
export type ActorContext = Context.Context<AgentMemory>

/** What all actors of a runtime are given, and the actor's memory is added to. Absent = the actor is not of such a runtime. */
export const ActorBase = Context.Reference<Context.Context<never> | undefined>(
  "troupe/layers/runtime/tool/ActorBase",
  { defaultValue: () => undefined }
)

/** A tool of an agent: what its body needs at each call is the actor's memory. */
export type AgentTool = GovernedTool<AgentMemory>
