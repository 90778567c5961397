/**
 * What a message waits for while an earlier run of its conversation waits for people: that run, and its open questions.
 */
import { Schema } from "effect"
import { ApprovalId, CallId, RunId } from "../value/Ids.ts"
import type { FoldState } from "./RunState.ts"

/** A question of a run that people have not answered yet. */
export class WaitingQuestion extends Schema.Opaque<WaitingQuestion>()(
  Schema.Struct({
    /** The call that waits; for a question about a limit an id that no call has. Customers do not see it. */
    call: Schema.optionalKey(CallId),
    /** The question's id, for `decide` and `answer`. Absent = an unknown outcome, which an operator settles by its call. */
    approval: Schema.optionalKey(ApprovalId),
    /** Customers may answer it. Absent = they may not. */
    customer: Schema.optionalKey(Schema.Literal(true))
  })
) {}

export class QueuedBehind extends Schema.Opaque<QueuedBehind>()(
  Schema.Struct({
    /** The run that waits, which is earlier in the conversation. */
    run: RunId,
    /** Its open questions, oldest first, at most 100. For a customer only those that customers may answer. */
    questions: Schema.Array(WaitingQuestion)
  })
) {}

const questions_max = 100

/** The open questions of a run, oldest first: about a limit, of calls that wait for a person or a client, and unknown outcomes. */
export const waitingQuestions = ({
  open,
  question
}: Pick<FoldState, "open" | "question">): ReadonlyArray<WaitingQuestion> => {
  const asked = (request: NonNullable<FoldState["question"]> | undefined) =>
    request?.approvers.includes("customer") === true ? ({ customer: true } as const) : undefined
  const found: Array<WaitingQuestion> = []
  if (question !== undefined) {
    found.push({ call: question.call, approval: question.approval, ...asked(question) })
  }
  for (const { id: call, phase } of open) {
    if (phase._tag === "Unknown") found.push({ call })
    if (phase._tag !== "AwaitingApproval") continue
    const { request } = phase
    const isApproval = request._tag === "ApprovalRequested"
    found.push({ call, approval: request.approval, ...asked(isApproval ? request : undefined) })
  }
  return found.slice(0, questions_max)
}

/** The form that a customer sees: that an earlier message waits for a person, and the questions that it may answer itself. */
export const customerQueuedBehind = ({ questions, run }: QueuedBehind): QueuedBehind => ({
  run,
  questions: questions.flatMap(({ approval, customer }) =>
    customer === true && approval !== undefined ? [{ approval, customer }] : []
  )
})
