/** Runs: they are read from the journal, and operators' commands go to the runtime. */
import { Effect } from "effect"
import { CallRecords } from "../../services/CallRecords.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { JournalError } from "../../services/RunJournal.ts"
import { entriesWithin, forEachEntry, RunReader } from "../../services/RunReader.ts"
import { RunList } from "../../services/RunList.ts"
import type { StoreError } from "../../services/StoreError.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import type { AgentTask } from "../../src/delivery/AgentTask.ts"
import { limit_default } from "../../src/operation/Page.ts"
import type { RunSummary } from "../../src/operation/RunSummary.ts"
import * as RunOperations from "../../src/operation/RunOperations.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { defined } from "../../src/value/PlainObject.ts"
import type { RunQuarantined } from "../../src/run/Quarantine.ts"
import { settlementOf } from "../../src/run/UnknownCall.ts"
import { comparedDeeds } from "../../src/replay/ComparedDeeds.ts"
import { forked_units_max, NotForkable } from "../../src/run/Forked.ts"
import { RunNotFound } from "../../src/run/RunCommand.ts"
import type { JournalEntry, RunEnded, RunEvent } from "../../src/run/RunEvent.ts"
import * as Fold from "../../src/run/RunFold.ts"
import type { RunItem } from "../../src/run/RunItem.ts"
import { agentOfRun } from "../../src/run/RunState.ts"
import { shownEvent } from "../../src/run/RunItem.ts"
import type { FoldState, RunUsage } from "../../src/run/RunState.ts"
import * as State from "../../src/run/RunState.ts"
import { decimalText } from "../../src/value/Decimal.ts"
import type { CallRecord } from "../../src/tool/CallRecord.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { rootFrame } from "../../src/value/Ids.ts"
import { boundedPage } from "../../src/value/Pages.ts"
import { pageOf, serve } from "./Served.ts"

/** The number of entries that are folded at a time, and fewer where they are long: a run's whole journal is never in memory. */
const fold_page = 64

/** The maximum number of calls whose outcome is unknown in one response. */
const unknown_max = 500

/** Drops the result of a call, because a summary shows no results and the other entries are still to be read. */
const slim = (event: RunEvent): RunEvent =>
  event._tag === "CallSettled" && event.outcome._tag === "Value"
    ? { ...event, outcome: { _tag: "Value", json: "null" } }
    : event

/** The task of a run of the principal's tenant. */
const taskOf = Effect.fnUntraced(function* ({ tenant }: Principal, run_id: RunId) {
  const task = yield* TaskStore.use((tasks) => tasks.read(tenant, run_id))
  return task ?? (yield* new RunNotFound({ run_id }))
})

const foldRun = Effect.fnUntraced(function* ({ id, tenant }: AgentTask) {
  const state = State.emptyState()
  const reader = yield* RunReader
  yield* forEachEntry(
    { read: (run, from, limit) => reader.readFor(tenant, run, from, limit) },
    id,
    fold_page,
    ({ event }) => Fold.evolve(state, slim(event))
  )
  return state
})

const costOf = ({ cost, currency, unpriced_turns }: RunUsage): Pick<RunSummary, "cost"> =>
  currency === undefined && unpriced_turns === 0
    ? {}
    : {
        cost: {
          unpriced_turns,
          ...(cost === undefined || currency === undefined
            ? undefined
            : { currency, amount: decimalText(cost) })
        }
      }

const endOf = (
  ended: RunEnded | undefined
): Pick<RunSummary, "text" | "files" | "finish" | "sources"> => {
  if (ended === undefined) return {}
  const { files, finish, sources, text } = ended
  return {
    text,
    ...(finish === undefined ? undefined : { finish }),
    ...(sources === undefined ? undefined : { sources }),
    ...(files === undefined ? undefined : { files })
  }
}

const summaryOf = (task: AgentTask, state: FoldState): RunSummary => {
  const pending_approvals: Array<RunSummary["pending_approvals"][number]> = []
  const unknown_calls: Array<RunSummary["unknown_calls"][number]> = []
  const client_calls: Array<RunSummary["client_calls"][number]> = []
  for (const { arguments: args, id, phase, proposed } of state.open) {
    if (phase._tag === "AwaitingApproval" && phase.request._tag === "ClientRequested") {
      const { approval, payload } = phase.request
      client_calls.push({ id: approval, call: id, tool: payload.tool_name })
    } else if (phase._tag === "AwaitingApproval") {
      pending_approvals.push({ call: id, payload: phase.request.payload })
    } else if (phase._tag === "Unknown") {
      unknown_calls.push({
        call: id,
        tool: proposed.name,
        arguments: args as RunSummary["unknown_calls"][number]["arguments"]
      })
    }
  }
  for (const { call, limit, payload } of State.openQuestions(state)) {
    pending_approvals.push({ call, payload, ...(limit === undefined ? undefined : { limit }) })
  }
  // A task whose run has not been claimed yet has no events.
  const roles = state.accepted === undefined ? task.roles : state.accepted.roles
  const root = state.frames.get(rootFrame)
  const reason = state.ended?.reason ?? state.stopping?.reason ?? task.reason
  return {
    id: task.id,
    conversation: task.conversation,
    agent: root?.next ?? root?.agent ?? agentOfRun(task),
    ordinal: task.ordinal,
    status: State.statusOf(state),
    task_status: task.status,
    message: task.message,
    by: task.by,
    ...defined({ via: task.via }),
    ...(roles === undefined ? undefined : { roles }),
    trace_id: task.trace_id,
    ...defined({ nested: task.nested, forked: task.forked }),
    created_at: task.created_at,
    length: state.length,
    steps: state.steps,
    tokens: state.tokens,
    ...costOf(state.used),
    pending_approvals,
    unknown_calls,
    client_calls,
    ...(reason === undefined || reason === "" ? undefined : { reason }),
    ...(state.stopping?.message === undefined ? undefined : { detail: state.stopping.message }),
    ...(state.stopping?.retry_after_ms === undefined
      ? undefined
      : { retry_after_ms: state.stopping.retry_after_ms }),
    ...endOf(state.ended)
  }
}

export const list = serve(
  RunOperations.list,
  Effect.fnUntraced(function* ({ after, limit = limit_default, ...filters }, { tenant }) {
    const runs = yield* RunList
    const page = yield* boundedPage<RunItem, StoreError>(
      limit,
      (last, limit) => runs.list({ ...filters, tenant, limit, after: last?.id ?? after }),
      // An item has a few thousand characters at most.
      { read_max: limit }
    )
    return pageOf(page, "id")
  })
)

export const get = serve(
  RunOperations.get,
  Effect.fnUntraced(function* ({ id }, by) {
    const task = yield* taskOf(by, id)
    return summaryOf(task, yield* foldRun(task))
  })
)

export const events = serve(
  RunOperations.events,
  Effect.fnUntraced(function* ({ after = -1, id, limit = limit_default }, by) {
    const { tenant } = yield* taskOf(by, id)
    const reader = yield* RunReader
    const page = yield* boundedPage<JournalEntry, JournalError | RunQuarantined>(
      limit,
      (last, limit) => reader.readFor(tenant, id, (last?.seq ?? after) + 1, limit)
    )
    const items = page.items.map((entry) => ({ ...entry, event: shownEvent(entry.event) }))
    return pageOf({ items, last: page.last }, "seq")
  })
)

export const records = serve(
  RunOperations.records,
  Effect.fnUntraced(function* ({ after, id, limit = limit_default }, by) {
    const { tenant } = yield* taskOf(by, id)
    const all = yield* CallRecords
    const page = yield* boundedPage<CallRecord, InvalidInput | StoreError>(limit, (last, limit) =>
      all.ofRun(tenant, id, limit, last?.key ?? after)
    )
    return pageOf(page, "key")
  })
)

export const unknown = serve(RunOperations.unknown, (_, { tenant }) =>
  Effect.map(
    RunList.use((runs) => runs.unknown({ tenant, limit: unknown_max })),
    (items) => ({ items })
  )
)

export const cancel = serve(RunOperations.cancel, ({ id, reason }, by) =>
  Effect.asVoid(AgentRuntime.use((runtime) => runtime.interrupt(id, by, reason)))
)

export const settle = serve(RunOperations.settle, ({ call, id, outcome }, by) =>
  Effect.asVoid(AgentRuntime.use((runtime) => runtime.settle(id, call, settlementOf(outcome), by)))
)

export const fork = serve(
  RunOperations.fork,
  Effect.fnUntraced(function* ({ id, ...options }, by) {
    const { created, task } = yield* AgentRuntime.use((runtime) => runtime.fork(id, options, by))
    return { id: task.id, conversation: task.conversation, created }
  })
)

/** The maximum number of deeds in one response. */
const deeds_max = 1_000

/** All events of a run, to be compared. */
const entriesOf = Effect.fnUntraced(function* ({ tenant }: Principal, id: RunId) {
  const reader = yield* RunReader
  const { entries, units } = yield* entriesWithin(
    { read: (run, from, limit) => reader.readFor(tenant, run, from, limit) },
    id,
    forked_units_max
  )
  if (units <= forked_units_max) return entries
  const reason = `its events have more than ${forked_units_max.toLocaleString("en")} characters`
  return yield* new NotForkable({ run_id: id, reason })
})

export const comparison = serve(
  RunOperations.comparison,
  Effect.fnUntraced(function* ({ id, of }, by) {
    const { forked } = yield* taskOf(by, id)
    const other = of ?? forked?.run
    if (other === undefined) {
      const reason = "it is no fork, so name the run that it is compared with"
      return yield* new InvalidInput({ field: "of", reason })
    }
    const before = yield* entriesOf(by, (yield* taskOf(by, other)).id)
    const items = comparedDeeds(before, yield* entriesOf(by, id))
    return { of: other, items: items.slice(0, deeds_max), is_cut: items.length > deeds_max }
  })
)
