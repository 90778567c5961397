/**
 * Answers the questions of a replay from its recording, so that no person is asked. Each gets the same decision by the same
 * person, bound to the arguments of the replay's own question.
 */
import { Effect } from "effect"
import type { Digest } from "effect/crypto"
import { canonical } from "../../../src/value/Canonical.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { Principal } from "../../../src/principal/Principal.ts"
import type { RecordedQuestion, Recording } from "../../../src/replay/Recording.ts"
import { decideApproval, expireApproval } from "../../../src/run/RunCommand.ts"
import type { ApprovalRequested } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import type { RunJournal } from "../../../services/RunJournal.ts"
import { approvalDigest } from "../tool/CallDigests.ts"

/** The open questions of a run. */
export const openRequests = (state: RunState): ReadonlyArray<ApprovalRequested> => {
  const questions: Array<ApprovalRequested> = []
  if (state.question !== undefined) questions.push(state.question)
  for (const { phase } of state.open) {
    // A replay asks no client, so there are no questions to clients.
    if (phase._tag !== "AwaitingApproval") continue
    if (phase.request._tag === "ApprovalRequested") questions.push(phase.request)
  }
  return questions
}

/** The key by which questions are matched: the call for a question about a limit, the tool and arguments for any other. */
const subjectOf = (request: ApprovalRequested): string =>
  request.limit === undefined ? `${request.tool_key} ${canonical(request.arguments)}` : request.call

export interface ReplayAnswers {
  /** Answers one question as it was answered in the recording. False = the recording has no such question, or no answer to it. */
  readonly answer: (state: RunState, request: ApprovalRequested) => Effect.Effect<boolean>
}

const late = Number.MAX_SAFE_INTEGER

export const make = (
  digest: Digest.Digest["Service"],
  journal: RunJournal["Service"],
  run: RunId,
  recording: Recording
): ReplayAnswers => {
  const left = new Map<string, Array<RecordedQuestion>>()
  for (const question of recording.questions) {
    const subject = subjectOf(question.request)
    const same = left.get(subject)
    if (same === undefined) left.set(subject, [question])
    else same.push(question)
  }
  return {
    answer: Effect.fnUntraced(function* (state, request) {
      const same = left.get(subjectOf(request)) ?? []
      // The question of the same call comes first. Another model than the recorded one may ask it at another call.
      const place = same.findIndex((each) => each.request.call === request.call)
      const [found] = same.splice(Math.max(place, 0), 1)
      if (found?.answer === undefined) return false
      const { answer } = found
      const { approval, call } = request
      if (answer._tag === "ApprovalClosed") {
        if (answer.how !== "expired" || request.expires_at === undefined) return false
        yield* Effect.ignore(journal.amend(run, (now) => expireApproval(now, call, approval, late)))
        return true
      }
      const { approvers, arguments: proposed, policy_version, tool_key } = request
      const { by, decision } = answer
      const { tenant } = state.accepted
      const changed = decision._tag === "Modify" ? decision.arguments : proposed
      const bound =
        decision._tag === "Modify"
          ? yield* approvalDigest(
              digest,
              { tenant, tool: tool_key, arguments: changed, policy_version },
              run,
              call
            )
          : request.digest
      // The desk checked whether the person may decide when the decision was recorded.
      const roles = approvers.length === 0 ? (["approver"] as const) : approvers
      const verdict = {
        call,
        approval,
        decision,
        by: new Principal({ id: by, tenant, roles }),
        digest: bound
      }
      yield* Effect.ignore(journal.amend(run, (now) => decideApproval(now, verdict, 0)))
      return true
    })
  }
}
