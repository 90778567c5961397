/**
 * Statuses as the numbers that the tables hold. A number is never given a second meaning. Private to this room.
 */
import type { ApprovalStatus } from "../../../src/approval/Approval.ts"
import type { TaskStatus } from "../../../src/delivery/AgentTask.ts"
import type { RunStatus } from "../../../src/run/RunState.ts"

/** From 3 on the run is over; before that it is to be recovered, unless it is parked. */
const runStatuses: ReadonlyArray<RunStatus> = [
  "pending",
  "processing",
  "awaiting_approval",
  "complete",
  "failed",
  "cancelled"
]
/** From 2 on the task is over. */
const taskStatuses: ReadonlyArray<TaskStatus> = ["pending", "processing", "complete", "failed"]
const approvalStatuses: ReadonlyArray<ApprovalStatus> = [
  "pending",
  "decided",
  "expired",
  "cancelled"
]

const numbers = <A extends string>(all: ReadonlyArray<A>): ReadonlyMap<A, number> =>
  new Map(all.map((status, code) => [status, code]))

const runNumbers = numbers(runStatuses)
const taskNumbers = numbers(taskStatuses)
const approvalNumbers = numbers(approvalStatuses)

export const runCode = (status: RunStatus): number => runNumbers.get(status)!
export const taskCode = (status: TaskStatus): number => taskNumbers.get(status)!
export const approvalCode = (status: ApprovalStatus): number => approvalNumbers.get(status)!

export const runStatus = (code: number): RunStatus =>
  isQuarantined(code)
    ? runStatus(code - run_quarantined)
    : code === run_parked
      ? "awaiting_approval"
      : runStatuses[code]!
export const taskStatus = (code: number): TaskStatus => taskStatuses[code]!
export const approvalStatus = (code: number): ApprovalStatus => approvalStatuses[code]!

/** The first number of a run that is over. */
export const run_over = 3
/** A run that awaits approval, and of which nothing is to be done until somebody answers. */
export const run_parked = -1
/** Added to the number of a run in quarantine: from 99 on it is not claimed, appended to, recovered or adopted. */
export const run_quarantined = 100
/** Is it the number of a run in quarantine? */
export const isQuarantined = (code: number): boolean => code >= run_quarantined + run_parked
