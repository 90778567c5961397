/**
 * What a wait for a run returns, and how long it may take.
 */
import { Schema } from "effect"
import type { Time } from "../../../src/value/Times.ts"
import type { Approval, ClientCall } from "../../../src/approval/Approval.ts"
import type { ModelUse } from "../../../src/cost/Spending.ts"
import type { RunEnded } from "../../../src/run/RunEvent.ts"

/** The end of a run. */
export interface Ended extends RunEnded {
  /** The id of the run. */
  readonly run: string
  /** The id of its conversation: a next message there goes on with it. */
  readonly conversation: string
  /** Why the run did not complete, in a sentence for an operator, if the runtime knows. */
  readonly detail?: string
  /** When the same message may do better, in ms, where the provider of the model asked for such a wait. */
  readonly retry_after_ms?: number
  /** What the run and its tools spent on models: one entry for each turn, or fewer. Absent = no use is known. */
  readonly usage?: ReadonlyArray<ModelUse>
}

/** The run has not ended: people have to act first, with `decide` and `settle`. `result(run)` waits again. */
export interface Awaiting {
  /** People have to act before the run goes on. */
  readonly status: "awaiting_approval"
  /** The id of the run. */
  readonly run: string
  /** The id of its conversation. */
  readonly conversation: string
  /** The run's open questions, oldest first. */
  readonly approvals: ReadonlyArray<Approval>
  /** The run's calls that wait for the client of the conversation; `answerClientCall` answers them. */
  readonly client_calls: ReadonlyArray<ClientCall>
  /** The run's calls whose outcome is unknown; an operator settles them. */
  readonly unknown: ReadonlyArray<string>
  /** None: the run has no answer yet. */
  readonly text?: undefined
  /** None: the run has not failed. */
  readonly detail?: undefined
}

/** What a wait ends with: the run's end, or what it waits for people with. `status` tells them apart. */
export type Answer = Ended | Awaiting

type PartialDeep<A> =
  A extends ReadonlyArray<infer Item>
    ? ReadonlyArray<PartialDeep<Item>>
    : A extends object
      ? { readonly [Name in keyof A]?: PartialDeep<A[Name]> }
      : A

/** The part of an answer that was written so far. Members may be missing, and texts may be incomplete. It is not validated. */
export type PartialAnswer<A> = PartialDeep<A>

interface Complete {
  readonly status: "complete"
}

/**
 * The end of a run that was asked for an answer of a schema. A run without such an answer has failed with the reason
 * `answer_unfit`.
 */
export type EndedWith<A> =
  | (Ended &
      Complete & {
        /** The decoded answer. */
        readonly value: A
      })
  | (Ended & {
      /** The run has no answer: it failed or was cancelled. */
      readonly status: "failed" | "cancelled"
      /** None: the run has no answer. */
      readonly value?: undefined
    })

/** As `Answer`, with the decoded `value` of a complete run. */
export type AnswerWith<A> =
  | EndedWith<A>
  | (Awaiting & {
      /** None: the run has no answer yet. */
      readonly value?: undefined
    })

/**
 * The run is complete, and its answer fits the JSON Schema but not what only the code of the schema checks, such as a refinement.
 * The model is not asked again.
 */
export class AnswerUnfit extends Schema.TaggedError<AnswerUnfit>()("AnswerUnfit", {
  /** The id of the run. */
  run: Schema.String,
  /** The id of its conversation. */
  conversation: Schema.String,
  /** Why it does not fit. */
  problem: Schema.String,
  /** The answer as the model wrote it. */
  text: Schema.String
}) {
  override get message(): string {
    return `the answer of run ${this.run} does not fit its schema: ${this.problem}`
  }
}

/** How long to wait, and what happens to the run if the wait ends early. */
export interface Wait {
  /** Aborting it ends the wait, which rejects with the signal's reason. */
  readonly signal?: AbortSignal
  /** The longest wait, 1 to 2,147,483,647 ms; after that it rejects with `WaitTimedOut`. Absent = no limit. */
  readonly timeout_ms?: Time
  /** Also cancels the run if the wait ends by its signal or timeout. Absent = no, the run continues. */
  readonly cancel?: boolean
}

/** Options of a loop over `stream` or `watch`. */
export interface Following {
  /** Aborting it ends the loop, even while it waits: the loop throws the signal's reason. No run is cancelled. */
  readonly signal?: AbortSignal
}

/** The wait timed out before its run ended. `result(run)` waits again. */
export class WaitTimedOut extends Schema.TaggedError<WaitTimedOut>()("WaitTimedOut", {
  /** The id of the run, which goes on. */
  run: Schema.String,
  /** The id of its conversation. */
  conversation: Schema.String,
  /** How long was waited, in ms. */
  timeout_ms: Schema.Int
}) {
  override get message(): string {
    return `run ${this.run} did not end within ${this.timeout_ms} ms`
  }
}
