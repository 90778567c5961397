/**
 * What a call needs of its run's loop, and what it gives it: a piece of work that is ready to run.
 */
import type { Cause, Context, Deferred, Effect, Exit, Fiber } from "effect"
import type { Spending } from "../../../src/cost/Spending.ts"
import type { Exception } from "../../../src/error/Exception.ts"
import type { CallId, RunId } from "../../../src/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Outcome, RunAccepted } from "../../../src/run/RunEvent.ts"
import type { CallState, RunState } from "../../../src/run/RunState.ts"
import type { GovernedTool } from "../../../src/tool/GovernedTool.ts"
import type { ResolvedAgent } from "../../../services/AgentDirectory.ts"
import type { AgentMemory } from "../../../services/AgentMemory.ts"

/** What the run's loop does for a call. */
export interface CallHost {
  readonly run: RunId
  readonly accepted: RunAccepted
  readonly agent: ResolvedAgent
  /** What the actor gives its bodies. */
  readonly context: ActorContext
  /** The call as it is now. */
  readonly call: () => CallState
  /** The run as it is now; never to be changed. */
  readonly state: RunState
  /** Effects that calls of this loop have begun, by their identity. Made when the first call asks for it. */
  readonly begunSideEffects: Map<string, BegunSideEffect>
  /** What its bodies have spent on models so far; there only once one of them has. */
  spent?: Spending
  /** Tells operators that code of the call broke, and nobody else. `what` is the line of the log. */
  readonly reportFault: (what: string, exception: Exception, tool: string) => void
  /** Shows those who watch what the call has so far. */
  readonly show: (result: unknown) => void
  /** Reports a dispatch and waits until it is durable. False: it does not stand, and nothing may be done. */
  readonly dispatch: (input: Extract<RunInput, { _tag: "Dispatches" }>) => Effect.Effect<boolean>
  /** Runs a body in the journal's transaction, with the event that `record` makes of its exit. */
  readonly transact: (
    key: string,
    body: Effect.Effect<Outcome, unknown, AgentMemory>,
    record: (exit: Exit.Exit<Outcome, unknown>) => RunInput
  ) => Effect.Effect<void>
}

/** An effect whose tool says that it happens once in a run, and what came of it. */
export interface BegunSideEffect {
  readonly call: CallId
  readonly done: Deferred.Deferred<RunInput | undefined>
}

/** Work that is ready to run. */
export type StartedWork = InputWork | TimedWork

/** Work whose value is an input for the decider; undefined if its events are in the journal already. A failure is a defect. */
export interface InputWork {
  readonly effect: Effect.Effect<RunInput | undefined, never, AgentMemory>
  readonly ended?: undefined
}

/**
 * A tool's body or a model's turn. Its exit becomes an input outside its fiber, by members that never throw and that are
 * given exits of its own effect only.
 */
export interface TimedWork<A = unknown, E = unknown> {
  readonly effect: Effect.Effect<A, E, AgentMemory>
  /** After so many ms it is interrupted and `late` is its input; 0 = it bounds its own time. */
  readonly timeout_ms: number
  /** Starts its fiber, with more than the actor's services. Absent = the actor's. */
  readonly fork?: Fork
  /** The input for the decider that its exit stands for. */
  ended(exit: Exit.Exit<A, E>): RunInput
  /** What is to run in its place after this failure. Undefined = `ended` is asked. */
  instead?(cause: Cause.Cause<E>): InputWork | undefined
  late(): RunInput
}

/** How the calls of one tool begin, their arguments decoded and their permission given. */
export type StartBody = (host: CallHost, call: CallId, args: unknown) => StartedWork

export type Fork = <A, E>(effect: Effect.Effect<A, E, AgentMemory>) => Fiber.Fiber<A, E>

export type ActorContext = Context.Context<AgentMemory>

export type AgentTool = GovernedTool<AgentMemory>
