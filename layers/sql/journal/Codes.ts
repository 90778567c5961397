/**
 * The numbers that the tables store for statuses. A number is never reused for another meaning. Private to this room.
 */
import { Schema } from "effect"
import type { ApprovalStatus } from "../../../src/approval/Approval.ts"
import type { TaskStatus } from "../../../src/delivery/AgentTask.ts"
import type { RunStatus } from "../../../src/run/RunState.ts"
import { storedStatus } from "../engine/StoredStatus.ts"

/** From 3 on the run is over. Below 3 the run is recovered when its owner is gone, unless it is parked. */
const runCodes: Readonly<Record<RunStatus, number>> = {
  pending: 0,
  processing: 1,
  awaiting_approval: 2,
  complete: 3,
  failed: 4,
  cancelled: 5
}
/** From 2 on the task is over. */
const taskCodes: Readonly<Record<TaskStatus, number>> = {
  pending: 0,
  processing: 1,
  complete: 2,
  failed: 3
}
const approvalCodes: Readonly<Record<ApprovalStatus, typeof ApprovalCode.Type>> = {
  pending: 0,
  decided: 1,
  expired: 2,
  cancelled: 3
}

export const runCode = (status: RunStatus): number => runCodes[status]
export const taskCode = (status: TaskStatus): number => taskCodes[status]
export const approvalCode = (status: ApprovalStatus): number => approvalCodes[status]

export const StoredTaskStatus = storedStatus(taskCodes)
/** Every number that an approval may have. Not a codec of the status, with which no row is compiled (bench row `answers`). */
export const ApprovalCode = Schema.Literals([0, 1, 2, 3])
const approvalStatuses: Readonly<Record<typeof ApprovalCode.Type, ApprovalStatus>> = {
  0: "pending",
  1: "decided",
  2: "expired",
  3: "cancelled"
}
export const approvalStatus = (code: typeof ApprovalCode.Type): ApprovalStatus =>
  approvalStatuses[code]

/** The lowest number of a run that is over. */
export const run_over = 3
/** A run that awaits approval and has nothing to do until somebody answers. */
export const run_parked = -1
/**
 * Added to the number of a run in quarantine. A run with a number from 99 on is not claimed, appended to, recovered or adopted.
 */
export const run_quarantined = 100
/** Whether this is the number of a run in quarantine. */
export const isQuarantined = (code: number): boolean => code >= run_quarantined + run_parked

/** Every number that a run may have: parked or not, in quarantine or not. */
export const RunCode = Schema.Literals([-1, 0, 1, 2, 3, 4, 5, 99, 100, 101, 102, 103, 104, 105])
type RunCode = typeof RunCode.Type

const runStatuses: Readonly<Record<RunCode, RunStatus>> = {
  [-1]: "awaiting_approval",
  0: "pending",
  1: "processing",
  2: "awaiting_approval",
  3: "complete",
  4: "failed",
  5: "cancelled",
  99: "awaiting_approval",
  100: "pending",
  101: "processing",
  102: "awaiting_approval",
  103: "complete",
  104: "failed",
  105: "cancelled"
}
export const runStatus = (code: RunCode): RunStatus => runStatuses[code]
