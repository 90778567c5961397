/**
 * The steps of the durable rows: of every hundred, two ask a person and five end a run.
 */
import type { CallId } from "../../src/value/Ids.ts"
import { ApprovalId, callId, rootFrame, RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import { agentName } from "./Rig.ts"

/** A run ends at this step: five in a hundred. */
export const steps_per_run = 20
const asks_every = 50

/** One step's event, of about 330 bytes as JSON. */
export const eventOf = (step: number, count: number): RunEvent => {
  const call = callId(rootFrame, step, 0)
  if (step === steps_per_run) {
    return { _tag: "RunEnded", status: "complete", reason: "complete", text: "x".repeat(200) }
  }
  if (count % asks_every === 0) return asks(call, ApprovalId.make(uuid("a", count)))
  return {
    _tag: "CallSettled",
    call,
    outcome: { _tag: "Value", json: JSON.stringify({ id: count, text: "x".repeat(190) }) },
    started_at: 1_700_000_000_000,
    ended_at: 1_700_000_000_001
  }
}

let unique = 0
const uuid = (kind: string, n: number): string =>
  `${kind}${(++unique).toString(16).padStart(7, "0")}-0000-4000-8000-${n.toString(16).padStart(12, "0")}`

const asks = (call: CallId, id: ApprovalId): RunEvent => ({
  _tag: "ApprovalRequested",
  call,
  approval: ApprovalId.make(id),
  digest: "a".repeat(64),
  proposal: "b".repeat(64),
  payload: {
    tool_name: "change",
    agent_name: agentName,
    args_summary: "id: 1",
    effect_description: "Changes one record.",
    correlation_id: id
  },
  tool_key: "bench.change@1",
  arguments: { id: 1 },
  policy_version: "1",
  approvers: []
})

/** A run that nobody has yet. */
export const anotherRun = (): RunId => RunId.make(uuid("c", 0))

export const statusOf = (event: RunEvent): RunStatus =>
  event._tag === "RunEnded"
    ? "complete"
    : event._tag === "ApprovalRequested"
      ? "awaiting_approval"
      : "processing"
