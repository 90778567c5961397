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

/** A piece ready to run. */
export type StartedWork = InputWork | TimedWork

/** Its value is what it says, and a failure is a defect. */
export interface InputWork {
  readonly effect: Effect.Effect<RunInput | undefined, never, AgentMemory>
  readonly ended?: undefined
}

/** A tool's body or a model's turn as it is: what its end means is said outside its fiber. */
export interface TimedWork {
  readonly effect: Effect.Effect<unknown, unknown, AgentMemory>
  /** Its time, if it is not done at once; 0 = it sees to that itself. */
  readonly timeout_ms: number
  /** Its own surroundings: the actor's and more. Absent = the actor's. */
  readonly fork?: Fork
  /** What it says at its end. Never throws. */
  readonly ended: (exit: Exit.Exit<unknown, unknown>) => RunInput
  /** What is to run in its place after this failure, if anything. Never throws. */
  readonly instead?: (cause: Cause.Cause<unknown>) => InputWork | undefined
  /** What it says when its time is over. */
  readonly late: () => RunInput
}

/** How the calls of one tool begin, their arguments decoded and their permission given. */
export type StartBody = (host: CallHost, call: CallId, args: unknown) => StartedWork

export type Fork = <A, E>(effect: Effect.Effect<A, E, AgentMemory>) => Fiber.Fiber<A, E>

export type ActorContext = Context.Context<AgentMemory>

export type AgentTool = GovernedTool<AgentMemory>
