/**
 * What a wait for a run ends with, and how long it may take.
 */
import { Schema } from "effect"
import type { Time } from "../../src/Times.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import type { ClientCall } from "../../src/approval/ClientCall.ts"
import type { ModelUse } from "../../src/cost/Spending.ts"
import type { RunEnded } from "../../src/run/RunEvent.ts"

/** The end of a run. */
export interface Ended extends RunEnded {
  readonly run: string
  readonly conversation: string
  /** Why it did not complete, in a sentence for an operator, where the runtime has one. */
  readonly detail?: string
  /** What it spent on models, with what its tools did: an entry for each turn, or fewer. Absent = nothing that is known of. */
  readonly usage?: ReadonlyArray<ModelUse>
}

/** It has not ended: people have to act first, by `decide` and `settle`. `result(run)` waits again. */
export interface Awaiting {
  readonly status: "awaiting_approval"
  readonly run: string
  readonly conversation: string
  /** Its open questions, oldest first. */
  readonly approvals: ReadonlyArray<Approval>
  /** Its calls that wait for the client of the conversation; `answerClientCall` answers them. */
  readonly client_calls: ReadonlyArray<ClientCall>
  /** Its calls whose outcome is unknown: an operator settles them. */
  readonly unknown: ReadonlyArray<string>
  readonly text?: undefined
  readonly detail?: undefined
}

export type Answer = Ended | Awaiting

type PartialDeep<A> =
  A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<PartialDeep<Item>>
    : A extends object
      ? { readonly [Name in keyof A]?: PartialDeep<A[Name]> }
      : A

/** The part of an answer that was written so far: members may be missing, and texts may go on. It was not checked. */
export type SoFar<A> = PartialDeep<A>

interface Complete {
  readonly status: "complete"
}

/** The end of a run that was asked for an answer of a schema. One that gave none has failed with the reason `answer_unfit`. */
export type EndedWith<A> =
  | (Ended & Complete & { readonly value: A })
  | (Ended & { readonly status: "failed" | "cancelled"; readonly value?: undefined })

export type AnswerWith<A> = EndedWith<A> | (Awaiting & { readonly value?: undefined })

/**
 * The run is complete, and its answer fits the JSON Schema, but not what only the code of the schema says, such as a
 * refinement: nobody asks the model again.
 */
export class AnswerUnfit extends Schema.TaggedError<AnswerUnfit>()("AnswerUnfit", {
  run: Schema.String,
  conversation: Schema.String,
  /** Why it does not fit. */
  problem: Schema.String,
  text: Schema.String
}) {
  override get message(): string {
    return `the answer of run ${this.run} does not fit its schema: ${this.problem}`
  }
}

export interface Wait {
  /** Aborting ends the wait, which rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** The longest wait, 1 to 2,147,483,647 ms; then it rejects with `WaitTimedOut`. Absent = as long as it takes. */
  readonly timeout_ms?: Time
  /** Cancels the run too, where the wait ends by its signal or its time. Absent = no: it goes on. */
  readonly cancel?: boolean
}

/** How a loop over `stream` or `watch` is left. */
export interface Following {
  /** Aborting ends the loop, also while it waits: it throws the signal's reason. It cancels nothing. */
  readonly signal?: AbortSignal
}

/** The timeout of a wait passed before its run ended. `result(run)` waits again. */
export class WaitTimedOut extends Schema.TaggedError<WaitTimedOut>()("WaitTimedOut", {
  run: Schema.String,
  conversation: Schema.String,
  timeout_ms: Schema.Int
}) {
  override get message(): string {
    return `run ${this.run} did not end within ${this.timeout_ms} ms`
  }
}
