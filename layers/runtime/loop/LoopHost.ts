/**
 * What the parts of a run's loop need of it: its work in flight (`InFlight`), its calls (`LoopCall`), and its coroutine. One
 * interface, so that each of them can be read with this file and nothing else of the loop.
 */
import type { Effect, Exit, Fiber } from "effect"
import type { Exception } from "../../../src/error/Exception.ts"
import type { FrameId } from "../../../src/value/Ids.ts"
import type { RunInput } from "../../../src/run/RunDecider.ts"
import type { Work } from "../../../src/run/RunWork.ts"
import type { ActorContext, BegunSideEffect, Fork, StartedWork } from "../tool/CallHost.ts"
import type { Deadlines } from "../tool/Deadlines.ts"
import type { PartStore } from "../tool/StoredParts.ts"
import type { RunSecrets } from "../tool/RunSecrets.ts"
import type { FaultAnnotations } from "../tool/FaultReport.ts"
import type { ToolOutput } from "../feed/Feed.ts"
import type { RunWriter, Transaction } from "./RunWriter.ts"
import type { TurnBudgets } from "./TurnBudgets.ts"

/** Work that has a fiber, or whose input is not durable yet. */
export interface WorkInFlight {
  readonly key: string
  /** Undefined once it has completed or was interrupted: the end of the fiber then means nothing. */
  fiber: Fiber.Fiber<unknown, unknown> | undefined
  cancelDeadline: (() => void) | undefined
  /** What it was given of the memory for runs (`RunMemory`). */
  bytes: number
}

export interface LoopHost {
  /** The run's state, epoch and id. Parts read them; the loop alone decides and appends. */
  readonly writer: RunWriter
  /** The services of the actor, for bodies of tools. */
  readonly context: ActorContext
  /** Starts a fiber with those services. It runs at once, up to its first suspension. */
  readonly fork: Fork
  readonly deadlines: Deadlines
  /** Where files of results are stored. Absent = nowhere. */
  readonly parts: PartStore | undefined
  /** The secrets in the contexts of runs, which no journal has. Absent = there are none. */
  readonly secrets: RunSecrets | undefined
  /** Reserves what calls cost. Absent = there are no budgets. */
  readonly budgets: TurnBudgets | undefined
  /** Ends when the run is being stopped. */
  readonly stopped: Effect.Effect<void>
  /** Side effects that happen once in the run and that its calls have begun, by identity. Absent = none yet. */
  begunSideEffects?: Map<string, BegunSideEffect>

  /** Makes wanted work ready to run. Starts nothing. */
  begin(work: Work): StartedWork
  /** The input for the decider that stands for work whose fiber ended by a defect. Reports the defect to operators. */
  inputOfDefect(work: Work, exit: Exit.Failure<unknown, never>): RunInput
  /**
   * Work has ended, with an input for the decider or, where its events are in the journal already, with none. With `running`
   * it stays in flight until the input's events are durable. The loop decides on the input at its next pass; this does not
   * wake it.
   */
  complete(running: WorkInFlight | undefined, input: RunInput | undefined): void
  /** The work needs no memory any more. */
  giveBack(running: WorkInFlight): void
  /** The loop goes on, at once or at its turn. Only for fibers that `fork` started: their asynchronous context is the run's. */
  resumeSoon(): void
  /** The loop goes on in its own fiber. For all others: the asynchronous context of an approver's request is not the run's. */
  wake(): void

  /** Decides on an input at the next pass. Calls `onDurable` after the append, also where the input had no event. */
  submit(input: RunInput, onDurable: () => void): void
  /** Runs a body in the journal's transaction once no append is in flight. Calls `onDone` after it, also where it was refused. */
  transact(transaction: Transaction, onDone: () => void): void
  /** Shows watchers what a call has so far. */
  showOutput(frame: FrameId, step: number, output: ToolOutput): void
  /** Reports a defect to operators, annotated with the run's ids and these. `what` is the line of the log. */
  reportFault(what: string, exception: Exception, about: FaultAnnotations): void
}
