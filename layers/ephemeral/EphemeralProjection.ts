/**
 * Appends events to a run, together with their projections. Private to this room.
 */
import { answered_topic, asked_topic, settled_topic } from "../../services/ChannelBindings.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import type { AnswerMessage, Projection } from "../../src/run/Projection.ts"
import { project } from "../../src/run/Projection.ts"
import { eventUnits } from "../../src/run/HeldUnits.ts"
import type { CallId } from "../../src/value/Ids.ts"
import { appended } from "../../src/value/ShortList.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"
import type { Store, StoredRun } from "./EphemeralStore.ts"
import { announce, isPosted, publish, tenantKey } from "./EphemeralStore.ts"
import { recordRunEnd } from "./RunEviction.ts"

const isOver = (status: RunStatus): boolean =>
  status === "complete" || status === "failed" || status === "cancelled"

/** Appends the events at the end of the run. The caller has checked the fence. */
export const appendEvents = (
  store: Store,
  run: StoredRun,
  events: ReadonlyArray<RunEvent>,
  status: RunStatus,
  parkable: boolean,
  at: number
): void => {
  const { entries } = run
  let units = 0
  for (const event of events) {
    entries.push({ seq: entries.length, at, event })
    units += eventUnits(event)
  }
  run.units += units
  store.units += units
  // A growing array reserves space for more entries. A run that begins to wait gets a copy without that space (bench row
  // `waiting`).
  if (parkable && !run.parkable) run.entries = entries.slice()
  run.parkable = parkable
  const isEnd = run.status !== status && isOver(status)
  run.status = status
  if (isEnd) close(store, run)
  const projection = project(run.run_id, events, at)
  if (projection.requested.length > 0 || projection.answered.length > 0) {
    writeApprovals(store, run, projection, at)
  }
  if (projection.task !== undefined) writeTask(store, run, projection.task, at)
  if (projection.answer !== undefined) writeAnswer(store, run, projection.answer, at)
  if (projection.costs.length > 0) writeCosts(store, run, projection.costs, at)
  if (projection.known.length > 0 || projection.unknown.length > 0) {
    writeUnknown(store, run, projection, at)
  }
  if (isEnd) recordRunEnd(store, run)
}

const close = (store: Store, run: StoredRun) => {
  const { actor } = run
  store.open.delete(run)
  const left = store.openOf.get(actor)?.filter((each) => each !== run) ?? []
  if (left.length > 0) store.openOf.set(actor, left)
  else store.openOf.delete(actor)
}

const writeApprovals = (store: Store, run: StoredRun, projection: Projection, at: number) => {
  const { conversation, tenant } = run
  const place = store.conversations.get(tenantKey(tenant, conversation))
  for (const request of projection.requested) {
    const record: Approval = { ...request, tenant }
    const stored = { place: ++store.place, record }
    store.approvals.set(record.id, stored)
    store.pending.set(record.id, stored)
    if (place !== undefined) {
      announce(store, place, asked_topic, { conversation, approval: record.id }, at)
    }
    publish(store, run, { type: "approval.requested", approval: record.id }, at)
  }
  for (const change of projection.answered) {
    const stored = store.pending.get(change.id)
    if (stored === undefined) continue
    store.pending.delete(change.id)
    stored.record = {
      ...stored.record,
      status: change.status,
      decided_at: at,
      ...(change.decision === undefined ? undefined : { decision: change.decision }),
      ...(change.by === undefined ? undefined : { decided_by: change.by }),
      ...(change.via === undefined ? undefined : { decided_via: change.via })
    }
    publish(store, run, { type: "approval.settled", approval: change.id }, at)
    if (place === undefined) continue
    const payload = { conversation, approval: change.id }
    announce(store, place, settled_topic, payload, at, isPosted(store, stored.record))
  }
}

/** Writes a lost record again, as pending. False if a pending record exists already; nothing is changed then. */
export const restoreApproval = (store: Store, record: Approval): boolean => {
  if (store.pending.has(record.id)) return false
  const stored = { place: ++store.place, record }
  store.approvals.set(record.id, stored)
  store.pending.set(record.id, stored)
  return true
}

const writeUnknown = (
  store: Store,
  { address, conversation, run_id }: StoredRun,
  { known, unknown }: Projection,
  at: number
) => {
  const calls = store.unknown.get(run_id) ?? new Map<CallId, UnknownCall>()
  for (const call of known) calls.delete(call)
  for (const { call, tool } of unknown) {
    calls.set(call, { run_id, call, tool, agent: address.agent, conversation, since: at })
  }
  if (calls.size === 0) store.unknown.delete(run_id)
  else store.unknown.set(run_id, calls)
}

const writeCosts = (store: Store, run: StoredRun, costs: Projection["costs"], at: number) => {
  let ledger = store.costs.get(run.tenant)
  if (ledger === undefined) store.costs.set(run.tenant, (ledger = new Map()))
  const { run_id } = run
  const written = costs.map((entry) => ({ ...entry, run_id, at }))
  ledger.set(run_id, [...(ledger.get(run_id) ?? []), ...written])
}

const writeTask = (
  store: Store,
  run: StoredRun,
  { reason, status }: NonNullable<Projection["task"]>,
  at: number
) => {
  const stored = store.tasks.get(run.run_id)
  // A task that has ended stays as it is: a run that is cancelled before its first claim passes through `processing` in the same
  // commit.
  if (stored === undefined || stored.task.status === "complete" || stored.task.status === "failed")
    return
  stored.task = { ...stored.task, status, ...(reason === undefined ? undefined : { reason }) }
  if (status !== "complete" && status !== "failed") return
  store.waiting.add(run.actor, -1)
  const type = run.status === "cancelled" ? "run.cancelled" : (`run.${status}` as const)
  publish(store, run, { type }, at)
}

const writeAnswer = (store: Store, run: StoredRun, answer: AnswerMessage, at: number) => {
  const stored = store.conversations.get(tenantKey(run.tenant, run.conversation))
  if (stored === undefined) return
  stored.active_at = Math.max(stored.active_at, at)
  stored.messages = appended(stored.messages, {
    conversation: run.conversation,
    seq: stored.counts.messages++,
    role: "assistant",
    ...answer,
    channel_origin: store.tasks.get(run.run_id)?.channel_origin ?? "api",
    run_id: run.run_id,
    created_at: at
  })
  const { conversation } = run
  announce(store, stored, answered_topic, { conversation, seq: stored.counts.messages - 1 }, at)
}
