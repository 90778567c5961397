/**
 * Handlers of runs: they read from the journal, and pass operators' commands to the runtime.
 */
import { Effect } from "effect"
import type { Layer } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import type { HttpApiGroup } from "effect/http-api"
import { AgentRuntime } from "../../../services/AgentRuntime.ts"
import type { JournalError } from "../../../services/RunJournal.ts"
import { forEachEntry, RunJournal } from "../../../services/RunJournal.ts"
import { RunList } from "../../../services/RunList.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import { TaskStore } from "../../../services/TaskStore.ts"
import type { Authentication, RequestBody, Validation } from "../../../src/operation/Boundary.ts"
import { CurrentPrincipal } from "../../../src/operation/Boundary.ts"
import { limit_default } from "../../../src/operation/Page.ts"
import type { RunSummary, SettleOutcome } from "../../../src/operation/RunsApi.ts"
import { TroupeApi } from "../../../src/operation/TroupeApi.ts"
import { decimalText } from "../../../src/value/Decimal.ts"
import type { AgentTask } from "../../../src/delivery/AgentTask.ts"
import { rootFrame } from "../../../src/value/Ids.ts"
import type { Settlement } from "../../../src/run/RunCommand.ts"
import { shownEvent } from "../../../src/run/ShownEvent.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { JournalEntry, RunEnded, RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunItem } from "../../../src/run/RunItem.ts"
import { agentOfRun } from "../../../src/run/RunLookup.ts"
import * as Fold from "../../../src/run/RunFold.ts"
import type { FoldState } from "../../../src/run/RunState.ts"
import * as State from "../../../src/run/RunState.ts"
import type { RunUsage } from "../../../src/run/RunUsage.ts"
import { taskFor } from "../boundary/Access.ts"
import { boundedPage } from "../../../src/value/Pages.ts"
import { problemOf } from "../boundary/Problems.ts"

/** The number of entries that are folded at a time, so that a run's whole journal is never in memory. */
const fold_page = 50

/** Drops the result of a call, because a summary shows no results and the other entries are still to be read. */
const slim = (event: RunEvent): RunEvent =>
  event._tag === "CallSettled" && event.outcome._tag === "Value"
    ? { ...event, outcome: { _tag: "Value", json: "null" } }
    : event

const foldRun = Effect.fnUntraced(function* (journal: RunJournal["Service"], task: AgentTask) {
  const state = State.emptyState()
  yield* Effect.mapError(
    forEachEntry(
      { read: (run, from, limit) => journal.readFor(task.tenant, run, from, limit) },
      task.id,
      fold_page,
      ({ event }) => Fold.evolve(state, slim(event))
    ),
    problemOf
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
  if (state.question !== undefined) {
    const { call, limit, payload } = state.question
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
    ...(roles === undefined ? undefined : { roles }),
    trace_id: task.trace_id,
    ...(task.nested === undefined ? undefined : { nested: task.nested }),
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

const settlementOf = (outcome: SettleOutcome): Settlement =>
  outcome === "run_again"
    ? { _tag: "RunAgain" }
    : "failed" in outcome
      ? { _tag: "Failed", message: outcome.failed }
      : { _tag: "Succeeded", json: JSON.stringify(outcome.succeeded) }

export const layer: Layer.Layer<
  HttpApiGroup.Service<"troupe", "runs">,
  never,
  AgentRuntime | TaskStore | RunJournal | RunList | Authentication | Validation | RequestBody
> = HttpApiBuilder.group(
  TroupeApi,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const runtime = yield* AgentRuntime
    const tasks = yield* TaskStore
    const journal = yield* RunJournal

    const runs = yield* RunList

    return handlers.handleAll({
      list: Effect.fnUntraced(function* ({ query }) {
        const { tenant } = yield* CurrentPrincipal
        const { after, limit = limit_default, ...filters } = query
        const { items, last } = yield* Effect.mapError(
          boundedPage<RunItem, StoreError>(limit, (before, count) =>
            runs.list({ ...filters, tenant, limit: count, after: before?.id ?? after })
          ),
          problemOf
        )
        return last === undefined ? { items } : { items, next_after: last.id }
      }),
      get: Effect.fnUntraced(function* ({ params }) {
        const task = yield* taskFor(tasks, yield* CurrentPrincipal, params.id)
        return summaryOf(task, yield* foldRun(journal, task))
      }),
      events: Effect.fnUntraced(function* ({ params, query }) {
        const { tenant } = yield* taskFor(tasks, yield* CurrentPrincipal, params.id)
        const { items, last } = yield* boundedPage<JournalEntry, JournalError | RunQuarantined>(
          query.limit ?? limit_default,
          (before, limit) =>
            journal.readFor(
              tenant,
              params.id,
              Math.max((before?.seq ?? query.after ?? -1) + 1, 0),
              limit
            )
        ).pipe(Effect.mapError(problemOf))
        const shown = items.map((entry) => ({ ...entry, event: shownEvent(entry.event) }))
        return last === undefined ? { items: shown } : { items: shown, next_after: last.seq }
      }),
      cancel: Effect.fnUntraced(function* ({ params, payload }) {
        const by = yield* CurrentPrincipal
        yield* taskFor(tasks, by, params.id)
        yield* Effect.mapError(runtime.interrupt(params.id, by, payload.reason), (error) =>
          problemOf(error)
        )
      }),
      settle: Effect.fnUntraced(function* ({ params, payload }) {
        const by = yield* CurrentPrincipal
        yield* taskFor(tasks, by, params.id)
        yield* Effect.mapError(
          runtime.settle(params.id, payload.call, settlementOf(payload.outcome), by),
          (error) => problemOf(error)
        )
      })
    })
  })
)
