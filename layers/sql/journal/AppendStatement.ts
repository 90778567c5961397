/**
 * An append as its function in the database takes it: arrays, so that there is one text whatever the size of the batch.
 * The functions are in `engine/migrations/0001_append.ts`. Private to this room.
 */
import type { Approval } from "../../../src/approval/Approval.ts"
import { canonical } from "../../../src/Canonical.ts"
import type { Tenant } from "../../../src/Ids.ts"
import type { CostEntry, Projection } from "../../../src/run/Projection.ts"
import { project } from "../../../src/run/Projection.ts"
import { storedAnswer } from "../engine/StoredText.ts"
import type { Append } from "../../../services/RunJournal.ts"
import { approvalCode, run_over, run_rests, runCode, taskCode } from "./Codes.ts"
import type { Item } from "./GroupCommit.ts"

interface ApprovalRow {
  readonly id: string
  readonly expires_at: number | undefined
  /** The record without its tenant, which is copied from the head. */
  readonly payload: string
  readonly status: number
  readonly answer: string | null
}

interface AnswerRow {
  readonly id: string
  readonly status: number
  readonly answer: string
}

/** An append as the statement takes it; its texts are written once, before it waits. */
export interface Encoded extends Item {
  readonly append: Append
  /** ms since 1970. */
  readonly at: number
  readonly status: number
  readonly payloads: ReadonlyArray<string>
  readonly requested: ReadonlyArray<ApprovalRow>
  readonly answered: ReadonlyArray<AnswerRow>
  readonly task: { readonly status: number; readonly reason: string | null } | undefined
  readonly message: string | undefined
  readonly costs: ReadonlyArray<CostEntry>
  /** Calls whose outcome nobody knows from here on, and those that are no longer among them. */
  readonly unknown: Projection["unknown"]
  readonly known: Projection["known"]
}

/** The row of a question that waits. */
export const approvalRow = (approval: Approval): ApprovalRow => {
  const { status, tenant: _, ...payload } = approval
  return {
    id: approval.id,
    expires_at: approval.expires_at,
    payload: canonical(payload),
    status: approvalCode(status),
    answer: null
  }
}

/** Throws a RangeError where an event is not JSON. */
export const encode = (append: Append, at: number): Encoded => {
  const payloads = append.events.map(canonical)
  const projection = project({ run_id: append.run, tenant: "" as Tenant }, append.events, at)
  const answers = new Map<string, AnswerRow>()
  for (const { by, decision, id, status } of projection.answered) {
    const answer = canonical({ decided_at: at, decided_by: by, decision })
    answers.set(id, { id, status: approvalCode(status), answer })
  }
  const requested = projection.requested.map((approval): ApprovalRow => {
    // A row that this statement inserts is not seen by its own update: asked and closed at once is one row.
    const answer = answers.get(approval.id)
    answers.delete(approval.id)
    const row = approvalRow(approval)
    return answer === undefined ? row : { ...row, status: answer.status, answer: answer.answer }
  })
  let size = 0
  for (const payload of payloads) size += payload.length
  for (const { payload } of requested) size += payload.length
  return {
    lane: append.run,
    size,
    append,
    at,
    status: append.rests === true ? run_rests : runCode(append.status),
    payloads,
    requested,
    answered: [...answers.values()],
    task:
      projection.task === undefined
        ? undefined
        : {
            status: taskCode(projection.task.status),
            reason:
              projection.task.reason === undefined ? null : JSON.stringify(projection.task.reason)
          },
    message: projection.answer === undefined ? undefined : storedAnswer(projection.answer),
    costs: projection.costs,
    unknown: projection.unknown,
    known: projection.known
  }
}

/** Does it write nothing but one event? */
const isBare = (item: Encoded): boolean =>
  item.payloads.length === 1 &&
  item.status < run_over &&
  item.task === undefined &&
  item.message === undefined &&
  item.requested.length === 0 &&
  item.answered.length === 0 &&
  item.costs.length === 0

/** Its rows are the places, from 1, of refused appends. */
export interface Statement {
  readonly text: string
  readonly params: ReadonlyArray<unknown>
}

/** A call with every parameter's type: an empty array binds without one. */
const call = (name: string, types: ReadonlyArray<string>): string =>
  `SELECT refused AS i FROM troupe.${name}(${types.map((type, n) => `$${n + 1}::${type}`).join(", ")})`

const int = "int4[]"
const text = "text[]"
const head_types = [text, int, int, int, int, text]
const event_types = [int, int, text, text]
const question_types = [int, text, int, text, text, text, int, text, int, text]
const end_types = [int, int, text, int, int, text]
const cost_types = [int, int, text, text, text, text, text, text, text, text, text, text]

/** Gives a row where the append is refused. */
const scalar = `SELECT 1 AS i WHERE NOT troupe.append_one($1::uuid, $2::int4, $3::int4, $4::int4, $5::int8, $6::text, $7::text)`
const flat = call("append_flat", [...head_types, text, text])
const texts = {
  none: call("append_events", [...head_types, ...event_types]),
  questions: call("append_questions", [...head_types, ...event_types, ...question_types]),
  ends: call("append_ends", [...head_types, ...event_types, ...end_types]),
  both: call("append_all", [...head_types, ...event_types, ...question_types, ...end_types]),
  costs: call("append_costs", [...head_types, ...event_types, ...cost_types]),
  all: call("append_priced", [
    ...head_types,
    ...event_types,
    ...question_types,
    ...end_types,
    ...cost_types
  ]),
  spent: call("append_spent", [
    ...head_types,
    ...event_types,
    ...question_types,
    ...end_types,
    ...cost_types,
    text,
    int,
    text
  ])
}

const one = (item: Encoded): Statement => ({
  text: scalar,
  params: [
    item.append.run,
    item.append.fence.epoch,
    item.append.fence.length,
    item.status,
    item.at,
    item.append.events[0]!._tag,
    item.payloads[0]!
  ]
})

const flatParams = (batch: ReadonlyArray<Encoded>): ReadonlyArray<unknown> => [
  ...headParams(batch),
  batch.map(({ append }) => append.events[0]!._tag),
  batch.map(({ payloads }) => payloads[0]!)
]

const headParams = (batch: ReadonlyArray<Encoded>): ReadonlyArray<ReadonlyArray<unknown>> => [
  batch.map(({ append }) => append.run),
  batch.map(({ append }) => append.fence.epoch),
  batch.map(({ append }) => append.fence.length),
  batch.map(({ payloads }) => payloads.length),
  batch.map(({ status }) => status),
  // As text: an array of numbers beyond int4 is not encoded alike by the two engines.
  batch.map(({ at }) => String(at))
]

const eventParams = (batch: ReadonlyArray<Encoded>): ReadonlyArray<ReadonlyArray<unknown>> => {
  const places: Array<number> = []
  const offsets: Array<number> = []
  const types: Array<string> = []
  const payloads: Array<string> = []
  for (let i = 0; i < batch.length; i++) {
    const item = batch[i]!
    for (let off = 0; off < item.payloads.length; off++) {
      places.push(i + 1)
      offsets.push(off)
      types.push(item.append.events[off]!._tag)
      payloads.push(item.payloads[off]!)
    }
  }
  return [places, offsets, types, payloads]
}

/** Rows of a batch, each with the place, from 1, of the append that it belongs to. */
const placed = <A>(
  batch: ReadonlyArray<Encoded>,
  rowsOf: (item: Encoded) => ReadonlyArray<A>
): ReadonlyArray<readonly [place: number, row: A]> =>
  batch.flatMap((item, i) => rowsOf(item).map((row) => [i + 1, row] as const))

const questionParams = (batch: ReadonlyArray<Encoded>): ReadonlyArray<ReadonlyArray<unknown>> => {
  const asked = placed(batch, (item) => item.requested)
  const answered = placed(batch, (item) => item.answered)
  return [
    asked.map(([place]) => place),
    asked.map(([, row]) => row.id),
    asked.map(([, row]) => row.status),
    asked.map(([, row]) => (row.expires_at === undefined ? "" : String(row.expires_at))),
    asked.map(([, row]) => row.payload),
    asked.map(([, row]) => row.answer ?? ""),
    answered.map(([place]) => place),
    answered.map(([, row]) => row.id),
    answered.map(([, row]) => row.status),
    answered.map(([, row]) => row.answer)
  ]
}

const endParams = (batch: ReadonlyArray<Encoded>): ReadonlyArray<ReadonlyArray<unknown>> => {
  const tasks = placed(batch, ({ task }) => (task === undefined ? [] : [task]))
  const over = placed(batch, ({ status }) => (status < run_over ? [] : [status]))
  const said = placed(batch, ({ message }) => (message === undefined ? [] : [message]))
  return [
    tasks.map(([place]) => place),
    tasks.map(([, row]) => row.status),
    tasks.map(([, row]) => row.reason ?? ""),
    over.map(([place]) => place),
    said.map(([place]) => place),
    said.map(([, content]) => content)
  ]
}

const costParams = (batch: ReadonlyArray<Encoded>): ReadonlyArray<ReadonlyArray<unknown>> => {
  const costs = placed(batch, (item) => item.costs)
  const column = (of: (entry: CostEntry) => unknown) => costs.map(([, entry]) => of(entry))
  // Counts as text: they may be beyond int4.
  const tokens = (of: (usage: CostEntry["usage"]) => number | undefined) =>
    column(({ usage }) => String(of(usage) ?? 0))
  return [
    costs.map(([place]) => place),
    column(({ offset }) => offset),
    column(({ agent }) => agent),
    column(({ model }) => model),
    column(({ currency }) => currency ?? ""),
    column(({ amount }) => amount ?? ""),
    column(({ prices }) => prices),
    tokens((usage) => usage.input_tokens),
    tokens((usage) => usage.output_tokens),
    tokens((usage) => usage.cached_tokens),
    tokens((usage) => usage.cache_write_tokens),
    tokens((usage) => usage.reasoning_tokens)
  ]
}

/** What a tool spent says more of itself than a turn does. */
const spentParams = (batch: ReadonlyArray<Encoded>): ReadonlyArray<ReadonlyArray<unknown>> => {
  const costs = batch.flatMap((item) => item.costs)
  return [
    ...costParams(batch),
    costs.map(({ by }) => by?.tool ?? ""),
    costs.map(({ by }) => by?.part ?? 0),
    costs.map(({ by }) => String(by?.turns ?? 1))
  ]
}

/** With what a tool spent among them, a batch is written whole by one function. */
const spent = (batch: ReadonlyArray<Encoded>): Statement => ({
  text: texts.spent,
  params: [
    ...headParams(batch),
    ...eventParams(batch),
    ...questionParams(batch),
    ...endParams(batch),
    ...spentParams(batch)
  ]
})

/** With a cost among them, a batch is written whole by one of two functions. */
const priced = (batch: ReadonlyArray<Encoded>, asks: boolean, closes: boolean): Statement =>
  asks || closes
    ? {
        text: texts.all,
        params: [
          ...headParams(batch),
          ...eventParams(batch),
          ...questionParams(batch),
          ...endParams(batch),
          ...costParams(batch)
        ]
      }
    : {
        text: texts.costs,
        params: [...headParams(batch), ...eventParams(batch), ...costParams(batch)]
      }

/** A run may stand in a batch once. */
export const statementOf = (batch: ReadonlyArray<Encoded>): Statement => {
  if (batch.every(isBare)) {
    return batch.length === 1 ? one(batch[0]!) : { text: flat, params: flatParams(batch) }
  }
  const asks = batch.some((item) => item.requested.length > 0 || item.answered.length > 0)
  const closes = batch.some(
    (item) => item.task !== undefined || item.message !== undefined || item.status >= run_over
  )
  if (batch.some((item) => item.costs.length > 0)) {
    return batch.some((item) => item.costs.some(({ by }) => by !== undefined))
      ? spent(batch)
      : priced(batch, asks, closes)
  }
  return {
    text: asks ? (closes ? texts.both : texts.questions) : closes ? texts.ends : texts.none,
    params: [
      ...headParams(batch),
      ...eventParams(batch),
      ...(asks ? questionParams(batch) : []),
      ...(closes ? endParams(batch) : [])
    ]
  }
}
