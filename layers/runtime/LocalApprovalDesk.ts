/**
 * Decides by amending the run under its lock, so that of several decisions at once one wins, whichever process and
 * channel they come from. Rings nobody itself: the journal's amendment does, wherever the run is.
 */
import { Clock, Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import type { Decision } from "../../src/approval/Approval.ts"
import { ApprovalNotFound } from "../../src/approval/Approval.ts"
import type { ApprovalId } from "../../src/Ids.ts"
import type { Principal } from "../../src/Principal.ts"
import { decideApproval, expireApproval } from "../../src/run/RunCommand.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { ToolCallObservers } from "../../services/ToolCallObserver.ts"
import { approvalDigest } from "./CallIdentity.ts"
import { amend, teller } from "./Facts.ts"

const make = Effect.gen(function* () {
  const journal = yield* RunJournal
  const records = yield* ApprovalRecords
  const digest = yield* Digest.Digest
  const clock = yield* Clock.Clock
  const tell = teller(yield* ToolCallObservers, clock)

  const get = Effect.fn("ApprovalDesk.get")(function* (id: ApprovalId, by: Principal) {
    const approval = yield* records.get(id)
    if (approval === undefined || approval.tenant !== by.tenant) {
      return yield* new ApprovalNotFound({ id })
    }
    return approval
  })

  return ApprovalDesk.of({
    get,
    decide: Effect.fn("ApprovalDesk.decide")(function* (
      id: ApprovalId,
      decision: Decision,
      by: Principal
    ) {
      const approval = yield* get(id, by)
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
      yield* amend(journal, tell, run_id, (state, now) =>
        decideApproval(state, { call, approval: id, decision, by, digest: bound }, now)
      ).pipe(Effect.catchTag("RunNotFound", () => new ApprovalNotFound({ id })))
    }),
    pending: (by, limit, after) =>
      records.list({ tenant: by.tenant, status: "pending", limit, after }),
    expire: Effect.fn("ApprovalDesk.expire")(function* (limit: number) {
      const overdue = yield* records.overdue(clock.currentTimeMillisUnsafe(), limit)
      // One whose run cannot be amended now keeps none of the others waiting.
      const closed = yield* Effect.filter(overdue, ({ call, id, run_id }) =>
        amend(journal, tell, run_id, (state, now) => expireApproval(state, call, id, now)).pipe(
          Effect.catchTag("RunNotFound", () => Effect.void),
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

export const layer: Layer.Layer<ApprovalDesk, never, RunJournal | ApprovalRecords | Digest.Digest> =
  Layer.effect(ApprovalDesk, make)
