/**
 * Approval records in one process.
 */
import { Effect, Layer } from "effect"
import type { Question } from "../../src/run/RunEvent.ts"
import type { ApprovalQuery } from "../../services/ApprovalRecords.ts"
import { ApprovalRecords, isOfKind } from "../../services/ApprovalRecords.ts"
import { marksOf } from "../../src/approval/ShownApproval.ts"
import type { Approval } from "../../src/approval/Approval.ts"
import { agentOfRun } from "../../src/run/RunState.ts"
import { defined } from "../../src/value/PlainObject.ts"
import type { Store } from "./EphemeralStore.ts"
import { EphemeralStore } from "./EphemeralStore.ts"
import { roundRobinByAge } from "./RoundRobin.ts"

const page_max = 500

const withOrigin = (store: Store, record: Approval): Approval => {
  const task = store.tasks.get(record.run_id)?.task
  if (task === undefined) return record
  return {
    ...record,
    conversation: task.conversation,
    asked_by: task.by,
    ...defined({ asked_via: task.via }),
    agent: agentOfRun(task)
  }
}

const withMarks = (store: Store, stored: Approval): Approval => {
  const record = withOrigin(store, stored)
  if (record.status !== "pending") return record
  const run = store.runs.get(record.run_id)
  let requested: Question | undefined
  for (const { event } of run?.entries ?? []) {
    const isQuestion = event._tag === "ApprovalRequested" || event._tag === "ClientRequested"
    if (isQuestion && event.approval === record.id) requested = event
  }
  const quarantined = run?.quarantined !== undefined
  return {
    ...record,
    ...marksOf(record, { tenant: run?.tenant ?? record.tenant, quarantined, requested })
  }
}

/** Whether a record at this place follows the one after which the page begins. After an unknown one follows nothing. */
const behind = (store: Store, { after, order }: ApprovalQuery): ((place: number) => boolean) => {
  if (after === undefined) return () => true
  const last = store.approvals.get(after)?.place
  if (last === undefined) return () => false
  return order === "newest" ? (place) => place < last : (place) => place > last
}

const make = Effect.map(EphemeralStore, (store) =>
  ApprovalRecords.of({
    get: (id) => Effect.sync(() => store.approvals.get(id)?.record),
    read: (tenant, id) =>
      Effect.sync(() => {
        const record = store.approvals.get(id)?.record
        return record?.tenant === tenant ? withMarks(store, record) : undefined
      }),
    list: (query) =>
      Effect.sync(() => {
        const isNewest = query.order === "newest"
        const isBehind = behind(store, query)
        const limit = Math.min(query.limit, page_max)
        const found: Array<Approval> = []
        const all = [...(query.status === "pending" ? store.pending : store.approvals).values()]
        for (const { place, record } of isNewest ? all.reverse() : all) {
          if (found.length >= limit) break
          if (!isBehind(place) || record.tenant !== query.tenant) continue
          if (query.status !== undefined && record.status !== query.status) continue
          if (query.run_id !== undefined && record.run_id !== query.run_id) continue
          if (!isOfKind(query)(record)) continue
          found.push(withMarks(store, record))
        }
        return found
      }),
    overdue: (now, limit) =>
      Effect.sync(() => {
        const found: Array<Approval> = []
        for (const { record } of store.pending.values()) {
          if (record.expires_at !== undefined && record.expires_at <= now) found.push(record)
        }
        return roundRobinByAge(found, ({ tenant }) => tenant).slice(0, limit)
      }),
    nextExpiry: (now) =>
      Effect.sync(() => {
        let next = Infinity
        for (const { record } of store.pending.values()) {
          const { expires_at = Infinity } = record
          if (expires_at > now && expires_at < next) next = expires_at
        }
        return Number.isFinite(next) ? next : undefined
      })
  })
)

export const layer: Layer.Layer<ApprovalRecords, never, EphemeralStore> = Layer.effect(
  ApprovalRecords,
  make
)
