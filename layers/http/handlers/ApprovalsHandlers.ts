/**
 * Handlers of approvals and decisions. The approval desk checks who may decide.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { ApprovalDesk } from "../../../services/ApprovalDesk.ts"
import { ApprovalRecords } from "../../../services/ApprovalRecords.ts"
import { RunList } from "../../../services/RunList.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import type { Approval } from "../../../src/approval/Approval.ts"
import { ApprovalNotFound } from "../../../src/approval/Approval.ts"
import { decisionOf } from "../../../src/approval/DecisionPayload.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { problemOf } from "../boundary/Problems.ts"

/** The maximum number of calls with an unknown outcome in the response, next to a page of approvals. */
const unknown_max = 100

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "approvals">,
  never,
  ApprovalDesk | ApprovalRecords | RunList | Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "approvals",
  Effect.fnUntraced(function* (handlers) {
    const desk = yield* ApprovalDesk
    const records = yield* ApprovalRecords
    const runs = yield* RunList

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const { run_id, status = "pending" } = query
        const { items, last } = yield* boundedPage<Approval, StoreError>(
          query.limit ?? limit_default,
          (before, limit) =>
            records.list({
              tenant,
              status,
              run_id,
              kind: "approval",
              limit,
              after: before?.id ?? query.after
            })
        ).pipe(Effect.mapError(problemOf))
        // Approvers also see the calls that wait for an operator.
        const unknown_calls =
          status === "pending"
            ? yield* Effect.mapError(
                runs.unknown({
                  tenant,
                  runs: run_id === undefined ? undefined : [run_id],
                  limit: unknown_max
                }),
                problemOf
              )
            : []
        return {
          items,
          ...(last === undefined ? undefined : { next_after: last.id }),
          ...(unknown_calls.length === 0 ? undefined : { unknown_calls })
        }
      }),
      get: Effect.fnUntraced(function* ({ params }) {
        const by = yield* CurrentPrincipal
        return yield* Effect.mapError(desk.get(params.id, by), (error) => problemOf(error))
      }),
      decide: Effect.fnUntraced(function* ({ params, payload }) {
        const by = yield* CurrentPrincipal
        yield* Effect.mapError(desk.decide(params.id, decisionOf(payload), by), (error) =>
          problemOf(error)
        )
        // A principal who may decide may also read what was decided, even a customer, who may read no other approval.
        const decided = yield* Effect.mapError(records.read(by.tenant, params.id), (error) =>
          problemOf(error)
        )
        return decided ?? (yield* Effect.fail(problemOf(new ApprovalNotFound({ id: params.id }))))
      })
    })
  })
)
