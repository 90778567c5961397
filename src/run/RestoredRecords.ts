/**
 * The approval records of a run's open questions, made again from its journal, for a store that has lost one.
 */
import type { Approval } from "../approval/Approval.ts"
import type { ApprovalId, RunId, Tenant } from "../value/Ids.ts"
import { project } from "./Projection.ts"
import type { JournalEntry } from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"

const isOpen = (state: RunState, id: ApprovalId): boolean =>
  state.question?.approval === id ||
  state.open.some(({ phase }) => phase._tag === "AwaitingApproval" && phase.request.approval === id)

/** In the order in which they were requested. `state` is the fold of all of `entries`. */
export const restoredRecords = (
  run: { readonly run_id: RunId; readonly tenant: Tenant },
  entries: ReadonlyArray<JournalEntry>,
  state: RunState
): ReadonlyArray<Approval> =>
  entries.flatMap(({ at, event }) =>
    (event._tag === "ApprovalRequested" || event._tag === "ClientRequested") &&
    isOpen(state, event.approval)
      ? project(run.run_id, [event], at).requested.map((request) => ({
          ...request,
          tenant: run.tenant
        }))
      : []
  )
