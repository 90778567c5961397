/**
 * Lists of the runs of one process, for operators.
 */
import { Effect, Layer } from "effect"
import type {
  OpenRun,
  RunQuery,
  Standing,
  UnhostedQuery,
  UnknownQuery
} from "../../services/RunList.ts"
import { RunList } from "../../services/RunList.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import type { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { Need } from "../../src/run/Needs.ts"
import { needOf } from "../../src/run/Needs.ts"
import { bulk_max, counted_max } from "../../src/operation/Page.ts"
import type { RunStatus } from "../../src/run/RunState.ts"
import { agentOfRun } from "../../src/run/RunState.ts"
import type { RunItem, UnhostedWork } from "../../src/run/RunItem.ts"
import { runItem } from "../../src/run/RunItem.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"
import type { Store, StoredRun } from "./EphemeralStore.ts"
import { EphemeralStore } from "./EphemeralStore.ts"

const page_max = 500
/** One more than a bulk takes, which tells that there are more. */
const matching_max = bulk_max + 1
const tools_max = 500

/** Newest first. */
const newer = (a: AgentTask, b: AgentTask): number =>
  b.created_at - a.created_at || (a.id < b.id ? 1 : a.id > b.id ? -1 : 0)

const isWaiting = (store: Store, task: AgentTask, waiting: RunQuery["waiting"]): boolean => {
  if (waiting === undefined) return true
  if (waiting === "unknown") return store.unknown.has(task.id)
  for (const { record } of store.pending.values()) if (record.run_id === task.id) return true
  return false
}

/** The agents to which a run has handed over its conversation, in order. */
const handedTo = (run: StoredRun | undefined): ReadonlyArray<AgentName> =>
  run?.entries.flatMap(({ event }) => (event._tag === "HandedOff" ? [event.to] : [])) ?? []

const isOf = (store: Store, task: AgentTask, agent: AgentName): boolean =>
  agentOfRun(task) === agent || handedTo(store.runs.get(task.id)).includes(agent)

const isOver = (status: RunStatus): boolean =>
  status === "complete" || status === "failed" || status === "cancelled"

const hasStatus = (run: StoredRun | undefined, status: RunQuery["status"]): boolean => {
  if (status === undefined) return true
  if (run?.quarantined !== undefined) return false
  const current = run?.status ?? "pending"
  return status === "open" ? !isOver(current) : current === status
}

/** The tasks of the runs that match, newest first, each with its run if that has begun. */
const matching = (
  store: Store,
  query: RunQuery
): ReadonlyArray<readonly [AgentTask, StoredRun | undefined]> => {
  const { after, agent, created_from, created_to, status, tenant, waiting } = query
  const last = after === undefined ? undefined : store.tasks.get(after)?.task
  if (after !== undefined && last?.tenant !== tenant) return []
  const found: Array<[AgentTask, StoredRun | undefined]> = []
  for (const { task } of store.tasks.values()) {
    if (task.tenant !== tenant) continue
    if (agent !== undefined && !isOf(store, task, agent)) continue
    if (task.created_at < (created_from ?? -Infinity)) continue
    if (task.created_at >= (created_to ?? Infinity)) continue
    if (last !== undefined && newer(task, last) <= 0) continue
    const run = store.runs.get(task.id)
    if (!hasStatus(run, status)) continue
    if (isWaiting(store, task, waiting)) found.push([task, run])
  }
  return found.sort(([a], [b]) => newer(a, b))
}

const list = (store: Store, query: RunQuery): ReadonlyArray<RunItem> =>
  matching(store, query)
    .slice(0, Math.min(query.limit, page_max))
    .map(([task, run]) =>
      runItem(task, run?.status ?? "pending", [...(store.unknown.get(task.id)?.values() ?? [])], {
        handed_to: handedTo(run).at(-1),
        quarantined: run?.quarantined !== undefined
      })
    )

const order = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

type UnknownPlace = Pick<UnknownCall, "since" | "run_id" | "call">

const older = (a: UnknownPlace, b: UnknownPlace): number =>
  a.since - b.since || order(a.run_id, b.run_id) || order(a.call, b.call)

/** The needs of a task that the asking process does not host: its agent, or otherwise the needs of its run. */
const missingNeeds = (store: Store, { address, id }: AgentTask, hosted: ReadonlyArray<Need>) => {
  if (!hosted.includes(address.agent)) return [address.agent]
  const needs = store.runs.get(id)?.needs ?? []
  return needs.every((need) => hosted.includes(need)) ? [] : needs
}

/**
 * Work that the asking process does not host. No other process counts, because an ephemeral store has only one, except in tests.
 */
const unhosted = (store: Store, { hosted, tenant }: UnhostedQuery): ReadonlyArray<UnhostedWork> => {
  const found = new Map<string, UnhostedWork>()
  for (const { task } of store.tasks.values()) {
    if (task.status === "complete" || task.status === "failed") continue
    if (tenant !== undefined && task.tenant !== tenant) continue
    for (const need of missingNeeds(store, task, hosted)) {
      const name = `${task.tenant}\0${need}`
      const known = found.get(name)
      found.set(name, {
        tenant: task.tenant,
        ...needOf(need),
        count: (known?.count ?? 0) + 1,
        oldest_at: Math.min(known?.oldest_at ?? task.created_at, task.created_at)
      })
    }
  }
  const names = [...found].sort(([a], [b]) => (a < b ? -1 : 1))
  return names.slice(0, page_max).map(([, work]) => work)
}

const unknown = (store: Store, query: UnknownQuery): ReadonlyArray<UnknownCall> => {
  const { after, agent, limit, runs, since_to, tenant, tool } = query
  const found: Array<UnknownCall> = []
  for (const [run, calls] of store.unknown) {
    if (store.runs.get(run)?.tenant !== tenant) continue
    if (runs === undefined || runs.includes(run)) found.push(...calls.values())
  }
  return found
    .filter(
      (call) =>
        (tool === undefined || call.tool === tool) &&
        (agent === undefined || call.agent === agent) &&
        call.since < (since_to ?? Infinity) &&
        (after === undefined || older(call, after) > 0)
    )
    .sort(older)
    .slice(0, Math.min(limit, matching_max))
}

const open = (store: Store, tenant: Tenant, limit: number): ReadonlyArray<OpenRun> => {
  const found: Array<OpenRun> = []
  for (const run of store.open) {
    if (found.length >= Math.min(limit, counted_max + 1)) break
    const { created_at, owner, status } = run
    if (run.tenant === tenant && run.quarantined === undefined) {
      found.push({ created_at, owner, status })
    }
  }
  return found
}

const standing = (store: Store): Standing => {
  const counts = new Map<string, number>()
  for (const calls of store.unknown.values()) {
    for (const { tool } of calls.values()) counts.set(tool, (counts.get(tool) ?? 0) + 1)
  }
  let parked = 0
  for (const run of store.open) if (run.parkable) parked++
  let dead_letters = 0
  for (const { letter } of store.dead.values()) if (letter.status === "dead") dead_letters++
  const [oldest] = store.pending.values()
  return {
    running: store.open.size - parked,
    parked,
    questions: store.pending.size,
    oldest_question_at: oldest?.record.requested_at,
    dead_letters,
    unknown: [...counts].map(([tool, calls]) => ({ tool, calls })).slice(0, tools_max)
  }
}

const make = Effect.map(EphemeralStore, (store) =>
  RunList.of({
    list: (query) => Effect.sync(() => list(store, query)),
    unhosted: (query) => Effect.sync(() => unhosted(store, query)),
    matching: (query) =>
      Effect.sync(() =>
        matching(store, query)
          .slice(0, Math.min(query.limit, matching_max))
          .map(([{ id }]) => id)
      ),
    unknown: (query) => Effect.sync(() => unknown(store, query)),
    open: (tenant, limit) => Effect.sync(() => open(store, tenant, limit)),
    standing: Effect.sync(() => standing(store))
  })
)

export const layer: Layer.Layer<RunList, never, EphemeralStore> = Layer.effect(RunList, make)
