/**
 * Bulks: a count of what matches, and steps that act on it. A step acts on each item as the operation for one item does, one after the
 * other. It holds nothing: what is done is in the records of the items, and where a step begins is in the request.
 */
import { Clock, Effect } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { OutboxReader } from "../../services/OutboxReader.ts"
import type { DeadLetterResolution } from "../../services/OutboxReplayer.ts"
import { OutboxReplayer } from "../../services/OutboxReplayer.ts"
import { RunList } from "../../services/RunList.ts"
import * as BulkOperations from "../../src/operation/BulkOperations.ts"
import type { InputOf } from "../../src/operation/Operation.ts"
import { bulk_max } from "../../src/operation/Page.ts"
import { isLimitedToOwn, ownRefusal } from "../../src/principal/Rights.ts"
import type { UnknownCall } from "../../src/run/UnknownCall.ts"
import { settlementOf } from "../../src/run/UnknownCall.ts"
import type { MessageId, Tenant } from "../../src/value/Ids.ts"
import { CallId, RunId } from "../../src/value/Ids.ts"
import type { PortError } from "./PortError.ts"
import type { RunQuery } from "../../services/RunList.ts"
import { serve } from "./Served.ts"

/** How many items a step has where the request does not say. */
const limit_default = 100

/** No item is begun later than this after the step, so that its answer is not waited for much longer. */
const step_ms_max = 2_000

/** Somebody was faster: what was to be done is needed no more. */
const overtaken: ReadonlyArray<unknown> = [
  "CallNotUnknown",
  "DeadLetterNotFound",
  "DeadLetterResolved",
  "RunIsOver",
  "RunNotFound"
] satisfies ReadonlyArray<PortError["_tag"]>

/** The store failed: the next step asks it again, and fails where it is away. */
const failing: ReadonlyArray<unknown> = ["JournalError", "StoreError"] satisfies ReadonlyArray<
  PortError["_tag"]
>

interface Became {
  readonly outcome: BulkOperations.Outcome
  readonly detail?: string
}

type ActError = Extract<PortError, { readonly message: string }>

/** What became of the items that a step came to. */
const acted = Effect.fnUntraced(function* <A, R>(
  found: ReadonlyArray<A>,
  act: (item: A) => Effect.Effect<void, ActError, R>
) {
  const end = (yield* Clock.currentTimeMillis) + step_ms_max
  const items: Array<A & Became> = []
  for (const item of found) {
    const error = yield* Effect.match(act(item), {
      onSuccess: () => undefined,
      onFailure: (error) => error
    })
    if (error === undefined) items.push({ ...item, outcome: "done" })
    // Who lost the right to one has lost it to all.
    else if (error._tag === "NotEntitled") return yield* error
    else {
      const outcome = overtaken.includes(error._tag) ? "skipped" : "failed"
      items.push({ ...item, outcome, detail: error.message })
    }
    if (failing.includes(error?._tag) || (yield* Clock.currentTimeMillis) >= end) break
  }
  return items
})

/** A step: one more item than it may have tells whether there is a next one. */
const stepOf = Effect.fnUntraced(function* <A extends object, C, E, R, R2>(
  limit: number,
  search: (limit: number) => Effect.Effect<ReadonlyArray<A>, E, R>,
  act: (item: A) => Effect.Effect<void, ActError, R2>,
  cursorOf: (item: A) => C
) {
  const found = yield* search(limit + 1)
  const items = yield* acted(found.slice(0, limit), act)
  const last = found[items.length - 1]
  return {
    items,
    ...(last !== undefined && items.length < found.length
      ? { next_after: cursorOf(last) }
      : undefined)
  }
})

/** What matches now, counted up to the bound. */
const counted = Effect.fnUntraced(function* <E, R>(
  search: (until: number, limit: number) => Effect.Effect<ReadonlyArray<unknown>, E, R>
) {
  const until = yield* Clock.currentTimeMillis
  const { length } = yield* search(until, bulk_max + 1)
  return {
    count: Math.min(length, bulk_max),
    ...(length > bulk_max ? { is_cut: true as const } : undefined),
    until
  }
})

const earlier = (until: number, end = Infinity): number => Math.min(until, end)

type Selected<O extends keyof typeof BulkOperations> = (typeof BulkOperations)[O] extends infer D
  ? D extends { readonly query: unknown }
    ? InputOf<D>
    : never
  : never

type Page<C> = { readonly limit: number; readonly after?: C | undefined }

const runsOf = (
  tenant: Tenant,
  filters: Selected<"countRuns">,
  until: number,
  page: Page<RunId>
) => {
  const created_to = earlier(until, filters.created_to)
  const query: RunQuery = { status: "open", ...filters, tenant, created_to, ...page }
  return RunList.use((runs) => runs.matching(query))
}

const lettersOf = (
  tenant: Tenant,
  { dead_to, ...filters }: Selected<"countLetters">,
  until: number,
  page: Page<MessageId>
) =>
  OutboxReader.use((letters) =>
    // It includes the last moment, and a letter of the moment of the count may be younger than that.
    letters.matching({ ...filters, tenant, dead_to: earlier(until - 1, dead_to), ...page })
  )

const callsOf = (
  tenant: Tenant,
  { since_to, ...filters }: Selected<"countCalls">,
  until: number,
  page: Page<Pick<UnknownCall, "since" | "run_id" | "call">>
) =>
  RunList.use((runs) =>
    runs.unknown({ ...filters, tenant, since_to: earlier(until, since_to), ...page })
  )

export const countRuns = serve(BulkOperations.countRuns, (filters, { tenant }) =>
  counted((until, limit) => runsOf(tenant, filters, until, { limit }))
)

export const cancelRuns = serve(
  BulkOperations.cancelRuns,
  Effect.fnUntraced(function* ({ after, limit = limit_default, reason, until, ...filters }, by) {
    if (isLimitedToOwn(by, "cancel")) return yield* ownRefusal(by, "cancel")
    const runtime = yield* AgentRuntime
    return yield* stepOf(
      limit,
      (limit) =>
        Effect.map(runsOf(by.tenant, filters, until, { limit, after }), (ids) =>
          ids.map((id) => ({ id }))
        ),
      ({ id }) => runtime.interrupt(id, by, reason),
      ({ id }) => id
    )
  })
)

export const countLetters = serve(BulkOperations.countLetters, (filters, { tenant }) =>
  counted((until, limit) => lettersOf(tenant, filters, until, { limit }))
)

const resolving = Effect.fnUntraced(function* (
  {
    after,
    limit = limit_default,
    reason,
    until,
    ...filters
  }: InputOf<typeof BulkOperations.replayLetters>,
  { by, tenant }: Pick<DeadLetterResolution, "by" | "tenant">,
  how: "replay" | "discard"
) {
  const replayer = yield* OutboxReplayer
  return yield* stepOf(
    limit,
    (limit) =>
      Effect.map(lettersOf(tenant, filters, until, { limit, after }), (ids) =>
        ids.map((event_id) => ({ event_id }))
      ),
    ({ event_id }) => replayer[how]({ event_id, reason, tenant, by }),
    ({ event_id }) => event_id
  )
})

export const replayLetters = serve(BulkOperations.replayLetters, (input, { id, tenant }) =>
  resolving(input, { tenant, by: id }, "replay")
)

export const discardLetters = serve(BulkOperations.discardLetters, (input, { id, tenant }) =>
  resolving(input, { tenant, by: id }, "discard")
)

export const countCalls = serve(BulkOperations.countCalls, (filters, { tenant }) =>
  counted((until, limit) => callsOf(tenant, filters, until, { limit }))
)

/** The call behind which a step begins, as `cursorOf` wrote it. */
const callAt = (cursor: string) => {
  const [since = "", run = "", ...call] = cursor.split(":")
  return { since: Number(since), run_id: RunId.make(run), call: CallId.make(call.join(":")) }
}

export const settleCalls = serve(
  BulkOperations.settleCalls,
  Effect.fnUntraced(function* ({ after, limit = limit_default, outcome, until, ...filters }, by) {
    const runtime = yield* AgentRuntime
    const settlement = settlementOf(outcome)
    const page = { after: after === undefined ? undefined : callAt(after) }
    const { items, ...more } = yield* stepOf(
      limit,
      (limit) => callsOf(by.tenant, filters, until, { limit, ...page }),
      ({ call, run_id }) => runtime.settle(run_id, call, settlement, by),
      ({ call, run_id, since }) => `${since}:${run_id}:${call}`
    )
    const shown = items.map(({ call, detail, outcome, run_id }) => ({
      run_id,
      call,
      outcome,
      ...(detail === undefined ? undefined : { detail })
    }))
    return { items: shown, ...more }
  })
)
