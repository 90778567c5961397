/**
 * Encodes appends as parameters of the database's functions: `append_event` for a single event, `append_runs` for a batch
 * (`engine/migrations/0001_append.ts`). An append is encoded when it is made, before it waits for a batch. Private to this room.
 */
import type { Append } from "../../../services/RunJournal.ts"
import type { Approval } from "../../../src/approval/Approval.ts"
import type { BudgetAccount } from "../../../src/cost/Budget.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { CostEntry, Projection, RequestedApproval } from "../../../src/run/Projection.ts"
import { project } from "../../../src/run/Projection.ts"
import { storedAnswer } from "../engine/StoredText.ts"
import { approvalCode, run_over, run_parked, runCode, taskCode } from "./Codes.ts"
import type { Item } from "./GroupCommit.ts"

/** An append that waits to be written. */
export interface EncodedAppend extends Item {
  readonly append: Append
  /** ms since 1970. */
  readonly at: number
  readonly status: number
  /** The type and the JSON text of each event. */
  readonly events: ReadonlyArray<{ readonly type: string; readonly payload: string }>
  /** The end of the run, where the append writes nothing else beside its events; otherwise undefined. */
  readonly ending: Ending | undefined
  /** The answers to questions, where the append writes nothing else beside its events; otherwise undefined. */
  readonly answers: ReadonlyArray<AnsweredQuestion> | undefined
  /**
   * Everything that the append writes beside its events, as JSON text; null for most appends. It includes `ending` and `answers`.
   */
  readonly projection: () => string | null
}

/** A question that is no longer pending, as it is stored in its record; `answer` is JSON text. */
interface AnsweredQuestion {
  readonly id: string
  readonly status: number
  readonly answer: string
}

/** What the end of a run usually writes. An empty text means absent. */
interface Ending {
  /** The number of the task's status (`Codes.ts`). */
  readonly status: number
  /** Why the task failed, as JSON text. */
  readonly reason: string
  /** The assistant's message, encoded for storage. */
  readonly answer: string
}

/** The columns of a question. Its tenant and status are not part of the payload. */
export const approvalRow = (approval: RequestedApproval & Partial<Pick<Approval, "tenant">>) => {
  const { status: _status, tenant: _tenant, ...question } = approval
  return { id: question.id, expires_at: question.expires_at, payload: canonical(question) }
}

/** The columns of a cost. The database stores counts as int8 and the amount as numeric, which is exact. */
const costRow = ({ by, currency, offset, usage, ...entry }: CostEntry) => ({
  position: offset,
  part: by?.part ?? 0,
  tool: by?.tool,
  turns: by?.turns ?? 1,
  currency,
  amount: entry.amount,
  agent: entry.agent,
  model: entry.model,
  prices: entry.prices,
  input_tokens: usage.input_tokens,
  output_tokens: usage.output_tokens,
  cached_tokens: usage.cached_tokens ?? 0,
  cache_write_tokens: usage.cache_write_tokens ?? 0,
  reasoning_tokens: usage.reasoning_tokens ?? 0
})

/** The columns of a budget's account. */
export const accountRow = ({ holder, ...account }: BudgetAccount) => ({
  ...account,
  holder: JSON.stringify(holder)
})

/** Whether the append writes, beside its events, at most the end of a run and answers to questions. */
const isOnlyEndOrAnswers = ({ costs, known, requested, unknown }: Projection): boolean =>
  requested.length === 0 && costs.length === 0 && known.length === 0 && unknown.length === 0

/** The rows of what there is; undefined where there is nothing. */
const some = <A, B>(all: ReadonlyArray<A>, rowOf: (each: A) => B): ReadonlyArray<B> | undefined =>
  all.length === 0 ? undefined : all.map(rowOf)

const answeredRows = (
  { answered }: Projection,
  at: number
): ReadonlyArray<AnsweredQuestion> | undefined =>
  some(answered, ({ by, decision, id, status, via }) => ({
    id,
    status: approvalCode(status),
    answer: canonical({ decided_at: at, decided_by: by, decided_via: via, decision })
  }))

const endingOf = ({ answer, task }: Projection): Ending | undefined =>
  task === undefined
    ? undefined
    : {
        status: taskCode(task.status),
        reason: task.reason === undefined ? "" : JSON.stringify(task.reason),
        answer: answer === undefined ? "" : storedAnswer(answer)
      }

/**
 * The object that `troupe.append_projection` reads. Undefined members are left out. Texts from outside are stored as JSON text,
 * and are therefore JSON text here too.
 *
 * - `asked`: questions that became open.
 * - `answered`: questions that are no longer pending. Its `answer` holds a person's decision.
 * - `closed`: the run is over.
 * - `answer`: the assistant's message, which goes to the conversation.
 * - `costs`: what turns and tools spent.
 * - `known`: calls whose outcome is no longer unknown. `unknown`: calls whose outcome became unknown.
 * - `took`: what is settled in budgets.
 */
const projectionText = (
  { answer, costs, known, requested, task, unknown }: Projection,
  answered: ReadonlyArray<AnsweredQuestion> | undefined,
  isOver: boolean,
  took: Append["took"]
): string =>
  JSON.stringify({
    asked: some(requested, approvalRow),
    answered,
    task_status: task === undefined ? undefined : taskCode(task.status),
    task_reason: task?.reason === undefined ? undefined : JSON.stringify(task.reason),
    closed: isOver ? true : undefined,
    answer: answer === undefined ? undefined : storedAnswer(answer),
    costs: some(costs, costRow),
    known: some(known, (call) => ({ call: JSON.stringify(call) })),
    unknown: some(unknown, ({ call, tool }) => ({
      call: JSON.stringify(call),
      tool: JSON.stringify(tool)
    })),
    took: took && {
      settled: took.settled,
      charged: took.charged.map(({ account, ...charge }) => ({ ...charge, ...accountRow(account) }))
    }
  })

/** Encodes an append. Throws a RangeError where an event is not JSON. */
export const encodeAppend = (append: Append, at: number): EncodedAppend => {
  const events = append.events.map((event) => ({ type: event._tag, payload: canonical(event) }))
  const status = append.parkable === true ? run_parked : runCode(append.status)
  const projected = project(append.run, append.events, at)
  let size = 0
  for (const { payload } of events) size += payload.length
  const isOver = status >= run_over
  const answered = answeredRows(projected, at)
  const isOnly = append.took === undefined && isOnlyEndOrAnswers(projected)
  const isOnlyEnd = isOnly && answered === undefined
  const ending = isOver && isOnlyEnd ? endingOf(projected) : undefined
  const answers = !isOver && isOnly && projected.task === undefined ? answered : undefined
  const projection = () =>
    isOver || !isOnlyEnd || projected.task !== undefined
      ? projectionText(projected, answered, isOver, append.took)
      : null
  // Appends to one run never share a batch: the first would make the second stale.
  return { lane: append.run, size, append, at, status, events, ending, answers, projection }
}

/** A statement for a batch. It returns one row for each refused append: the append's place in the batch, from 1. */
export interface Statement {
  readonly text: string
  readonly params: ReadonlyArray<unknown>
}

// Every parameter is cast, because the drivers bind an empty array without a type. PGlite and PostgreSQL encode numbers beyond
// int4 differently, so arrays of those are passed as text.
const append_event = `SELECT 1 AS place WHERE NOT troupe.append_event(
  $1::uuid, $2::int4, $3::int4, $4::int4, $5::int8, $6::text, $7::text, $8::text::json)`
const append_runs = `SELECT place FROM troupe.append_runs(
  $1::text[]::uuid[], $2::int4[], $3::int4[], $4::int4[], $5::int4[], $6::text[]::int8[],
  $7::int4[], $8::int4[], $9::text[], $10::text[], $11::int4[], $12::int4[], $13::text[], $14::text[],
  $15::int4[], $16::text[]) AS place`

/** The statement for an append of one event, the most common kind: `append_event` takes no arrays (bench row `durable`). */
const eventStatement = ({ append, at, events, projection, status }: EncodedAppend): Statement => ({
  text: append_event,
  params: [
    append.run,
    append.fence.epoch,
    append.fence.length,
    status,
    at,
    events[0]?.type,
    events[0]?.payload,
    projection()
  ]
})

/** The parts of all appends of a batch, in order, and for each the place of its append in the batch, from 1. */
const placed = <A>(
  batch: ReadonlyArray<EncodedAppend>,
  partsOf: (item: EncodedAppend) => ReadonlyArray<A>
) => {
  const places: Array<number> = []
  const parts: Array<A> = []
  let place = 0
  for (const item of batch) {
    place++
    for (const part of partsOf(item)) {
      places.push(place)
      parts.push(part)
    }
  }
  return { parts, places }
}

const none: ReadonlyArray<never> = []

/** The arrays of ends: places, the task's statuses, its reasons, the answers. */
const endingColumns = (batch: ReadonlyArray<EncodedAppend>): ReadonlyArray<unknown> => {
  const { parts, places } = placed(batch, ({ ending }) => (ending === undefined ? none : [ending]))
  return [
    places,
    parts.map(({ status }) => status),
    parts.map(({ reason }) => reason),
    parts.map(({ answer }) => answer)
  ]
}

/** The arrays of projections: places, and JSON. */
const projectionColumns = (
  batch: ReadonlyArray<EncodedAppend>,
  isOf: (item: EncodedAppend) => boolean
): ReadonlyArray<unknown> => {
  const { parts, places } = placed(batch, (item) => {
    const projection = isOf(item) ? item.projection() : null
    return projection === null ? none : [projection]
  })
  return [places, parts]
}

/** The arrays of appends, then those of events: places, positions in the append, types, JSON. */
const appendColumns = (batch: ReadonlyArray<EncodedAppend>): ReadonlyArray<unknown> => {
  const { parts, places } = placed(batch, ({ events }) => events)
  return [
    batch.map(({ append }) => append.run),
    batch.map(({ append }) => append.fence.epoch),
    batch.map(({ append }) => append.fence.length),
    batch.map(({ events }) => events.length),
    batch.map(({ status }) => status),
    batch.map(({ at }) => String(at)),
    places,
    batch.flatMap(({ events }) => events.map((_, position) => position)),
    parts.map(({ type }) => type),
    parts.map(({ payload }) => payload)
  ]
}

/** The parameters of `append_runs` without those of ends. Appends that `answerColumns` covers have no projection here. */
export const batchParams = (batch: ReadonlyArray<EncodedAppend>): ReadonlyArray<unknown> => [
  ...appendColumns(batch),
  ...projectionColumns(batch, ({ answers }) => answers === undefined)
]

/** The arrays of answered questions: places, ids, statuses, answers. */
export const answerColumns = (batch: ReadonlyArray<EncodedAppend>): ReadonlyArray<unknown> => {
  const { parts, places } = placed(batch, ({ answers = none }) => answers)
  return [
    places,
    parts.map(({ id }) => id),
    parts.map(({ status }) => status),
    parts.map(({ answer }) => answer)
  ]
}

/** The statement that appends a batch. A batch has at most one append for each run. */
export const statementOf = (batch: ReadonlyArray<EncodedAppend>): Statement => {
  const [first] = batch
  if (batch.length === 1 && first?.events.length === 1) return eventStatement(first)
  return {
    text: append_runs,
    params: [
      ...appendColumns(batch),
      ...endingColumns(batch),
      ...projectionColumns(batch, ({ ending }) => ending === undefined)
    ]
  }
}
