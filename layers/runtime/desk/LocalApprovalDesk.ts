/**
 * Decides by amending the run under its lock, so that of several decisions at once one wins, whichever process and
 * channel they come from. Then completes the `Deferred` of the question, which the run's actor awaits; that of an actor in
 * another process is completed there, where the journal tells of the amendment.
 */
import { Clock, Effect, Layer, Result } from "effect"
import { Digest } from "effect/crypto"
import type { Approval, Decision } from "../../../src/approval/Approval.ts"
import { ApprovalAltered, ApprovalNotFound } from "../../../src/approval/Approval.ts"
import type { AnyDecision } from "../../../src/approval/DecisionPayload.ts"
import { askedOf, differencesOf } from "../../../src/approval/ShownApproval.ts"
import * as Entries from "../../../src/entry/Entries.ts"
import type { ApprovalId, RunId } from "../../../src/Ids.ts"
import type { Principal } from "../../../src/Principal.ts"
import type { Amendment } from "../../../src/run/RunCommand.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { questionOf } from "../../../src/run/RunState.ts"
import { decideApproval, expireApproval } from "../../../src/run/RunCommand.ts"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { ApprovalRecords } from "../../../services/ApprovalRecords.ts"
import { RunJournal } from "../../../services/RunJournal.ts"
import { ToolCallObservers } from "../../../services/ToolCallObserver.ts"
import { approvalDigest, shownDigest } from "../tool/CallDigests.ts"
import { amend, observeCalls } from "./Observers.ts"
import { makeFaultReporter } from "../tool/Faults.ts"
import * as OpenQuestions from "./OpenQuestions.ts"

const pendingLimit = Entries.limitUpTo(500)
/** What people were shown, and its digest. */
interface Record {
  readonly id: ApprovalId
  readonly run: RunId
  readonly record: Approval
  readonly decision: Decision
  readonly shown: string
}

/**
 * Decides only on a record that says what the run asked; a denial counts whatever was shown, because nothing runs for it. A
 * question that the run does not know is the decider's to refuse.
 */
const asShown = <A, E>(
  state: RunState,
  { decision, id, record, run, shown }: Record,
  decided: () => Amendment<A, E>
): Amendment<A, E | ApprovalAltered> => {
  const request = questionOf(state, id)
  if (request === undefined || decision._tag === "Deny") return decided()
  const fields = differencesOf(record, askedOf(run, state.accepted.tenant, request))
  const isAltered =
    fields.length > 0 ||
    record.shown_digest !== request.shown_digest ||
    (request.shown_digest !== undefined && request.shown_digest !== shown)
  if (!isAltered) return decided()
  const error = new ApprovalAltered({ id, fields: fields.length > 0 ? fields : ["shown_digest"] })
  return { events: [], answer: Result.fail(error) }
}

const make = Effect.gen(function* () {
  const journal = yield* RunJournal
  const records = yield* ApprovalRecords
  const questions = yield* OpenQuestions.OpenQuestions
  const digest = yield* Digest.Digest
  const clock = yield* Clock.Clock
  const onDurable = observeCalls(yield* ToolCallObservers, clock, yield* makeFaultReporter)

  const found = Effect.fnUntraced(function* (id: ApprovalId, by: Principal) {
    const approval = yield* records.get(id)
    if (approval === undefined || approval.tenant !== by.tenant) {
      return yield* new ApprovalNotFound({ id })
    }
    return approval
  })

  return ApprovalDesk.of({
    get: Effect.fn("ApprovalDesk.get")(function* (id: ApprovalId, by: Principal) {
      return yield* found(
        yield* Entries.approvalId(id, "id"),
        yield* Entries.entitled(by, "inspect")
      )
    }),
    decide: Effect.fn("ApprovalDesk.decide")(function* (
      given: ApprovalId,
      said: AnyDecision,
      who: Principal
    ) {
      const id = yield* Entries.approvalId(given, "id")
      const decision = yield* Entries.decision(said, "decision")
      const by = yield* Entries.entitled(who, "decide")
      const approval = yield* found(id, by)
      const shown = yield* shownDigest(digest, approval)
      const { call, policy_version, run_id, tenant, tool_key } = approval
      const bound =
        decision._tag === "Modify"
          ? yield* approvalDigest(
              digest,
              { tenant, tool: tool_key, arguments: decision.arguments, policy_version },
              run_id,
              call
            )
          : approval.digest
      yield* amend(journal, onDurable, run_id, (state, now) =>
        asShown(state, { id, decision, record: approval, shown, run: run_id }, () =>
          decideApproval(state, { call, approval: id, decision, by, digest: bound }, now)
        )
      ).pipe(
        Effect.tap(() =>
          Effect.sync(() => OpenQuestions.complete(questions, run_id, id, decision))
        ),
        // The caller may be interrupted in between: what is durable is observed all the same.
        Effect.uninterruptible,
        Effect.catchTag("RunNotFound", () => new ApprovalNotFound({ id })),
        Effect.tapErrorTag("ApprovalAltered", ({ message, fields }) =>
          Effect.annotateLogs(Effect.logError(message), { approval: id, run: run_id, fields })
        )
      )
    }),
    pending: Effect.fn("ApprovalDesk.pending")(function* (by, limit, after) {
      const { tenant } = yield* Entries.entitled(by, "inspect")
      return yield* records.list({
        tenant,
        status: "pending",
        limit: yield* pendingLimit(limit, "limit"),
        after: after === undefined ? undefined : yield* Entries.approvalId(after, "after")
      })
    }),
    expire: Effect.fn("ApprovalDesk.expire")(function* (limit: number) {
      const overdue = yield* records.overdue(clock.currentTimeMillisUnsafe(), limit)
      // One whose run cannot be amended now keeps none of the others waiting.
      const closed = yield* Effect.filter(overdue, ({ call, id, run_id }) =>
        amend(journal, onDurable, run_id, (state, now) =>
          expireApproval(state, call, id, now)
        ).pipe(
          Effect.catchTag(["RunNotFound", "RunQuarantined"], () => Effect.void),
          Effect.as(true),
          Effect.catchTag("JournalError", ({ message }) =>
            Effect.as(
              Effect.annotateLogs(
                Effect.logWarning(`a question whose time is over stays open: ${message}`),
                { approval: id, run: run_id }
              ),
              false
            )
          )
        )
      )
      return closed.length
    })
  })
})

export const layer: Layer.Layer<
  ApprovalDesk,
  never,
  ApprovalRecords | Digest.Digest | OpenQuestions.OpenQuestions | RunJournal
> = Layer.effect(ApprovalDesk, make)
