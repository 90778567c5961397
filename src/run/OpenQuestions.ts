/**
 * The records of the questions that a run waits for, made from its journal as they were made when it asked: where one was
 * lost, it is written again from here.
 */
import type { Approval } from "../approval/Approval.ts"
import type { ApprovalId, RunId, Tenant } from "../Ids.ts"
import { project } from "./Projection.ts"
import type { JournalEntry } from "./RunEvent.ts"
import type { RunState } from "./RunState.ts"

const isOpen = (state: RunState, id: ApprovalId): boolean =>
  state.question?.approval === id ||
  state.open.some(({ phase }) => phase._tag === "Asking" && phase.request.approval === id)

/** `state` is the fold of all of `entries`. In the order in which they were asked. */
export const openQuestions = (
  run: { readonly run_id: RunId; readonly tenant: Tenant },
  entries: ReadonlyArray<JournalEntry>,
  state: RunState
): ReadonlyArray<Approval> =>
  entries.flatMap(({ at, event }) =>
    event._tag === "ApprovalRequested" && isOpen(state, event.approval)
      ? project(run.run_id, [event], at).requested.map((asked) => ({
          ...asked,
          tenant: run.tenant
        }))
      : []
  )
