/**
 * The statement that appends: it advances the heads whose epoch and length match, and writes events and projections
 * joined to the heads that it returned, so that a refused append writes nothing and fails alone. One text for both
 * engines; its parameters are arrays, so that there is one prepared text whatever the size. Private to this room.
 *
 * READ COMMITTED only: there, a head that was locked by a claim is checked again with its new epoch.
 */
import { canonical } from "../../src/Canonical.ts"
import type { Tenant } from "../../src/Ids.ts"
import { project } from "../../src/run/Projection.ts"
import type { Append } from "../../services/RunJournal.ts"
import { approvalCode, run_over, runCode, taskCode } from "./Codes.ts"
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
    const { status, tenant: _, ...payload } = approval
    return {
      id: approval.id,
      expires_at: approval.expires_at,
      payload: canonical(payload),
      status: answer?.status ?? approvalCode(status),
      answer: answer?.answer ?? null
    }
  })
  let size = 0
  for (const payload of payloads) size += payload.length
  for (const { payload } of requested) size += payload.length
  return {
    lane: append.run,
    size,
    append,
    at,
    status: runCode(append.status),
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
    message: projection.answer === undefined ? undefined : JSON.stringify(projection.answer)
  }
}

/** Does it write nothing but one event? */
const isBare = (item: Encoded): boolean =>
  item.payloads.length === 1 &&
  item.status < run_over &&
  item.task === undefined &&
  item.message === undefined &&
  item.requested.length === 0 &&
  item.answered.length === 0

export interface Statement {
  readonly text: string
  readonly params: ReadonlyArray<unknown>
  /** What its rows say: that the one append is written, or the places, from 1, of those that are refused. */
  readonly rows: "written" | "refused"
}

/** For one append of one event, which needs no arrays and is planned anew by an engine that prepares nothing. */
const scalar = `WITH h AS (
  UPDATE troupe.runs SET length = length + 1, status = $4::int2
  WHERE run_id = $1::uuid AND epoch = $2::int4 AND length = $3::int4 AND status < ${run_over}
  RETURNING run_id)
INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
SELECT run_id, $3::int4, $5::int8, $6::text, $7::text FROM h RETURNING 1 AS i`

const one = (item: Encoded): Statement => ({
  text: scalar,
  rows: "written",
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

const heads = `head AS (UPDATE troupe.runs r SET length = b.length + b.n, status = b.status::int2 FROM b
  WHERE r.run_id = b.run_id::uuid AND r.epoch = b.epoch AND r.length = b.length AND r.status < ${run_over}
  RETURNING r.run_id, r.tenant, b.length AS base, b.at::int8 AS at, b.i::int4 AS i`
const refused = `SELECT b.i::int4 AS i FROM b WHERE NOT EXISTS (SELECT FROM head h WHERE h.i = b.i)`

/** Each append one event, and nothing else: type and payload travel with the head. */
const flat = `WITH b AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::int4[], $3::int4[], $4::int4[], $5::int4[], $6::text[], $7::text[], $8::text[])
  WITH ORDINALITY AS t(run_id, epoch, length, n, status, at, type, payload, i)),
${heads}, b.type, b.payload),
ev AS (INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
  SELECT run_id, base, at, type, payload FROM head)
${refused}`

const general = `WITH b AS MATERIALIZED (SELECT * FROM unnest($1::text[], $2::int4[], $3::int4[], $4::int4[], $5::int4[], $6::text[])
  WITH ORDINALITY AS t(run_id, epoch, length, n, status, at, i)),
${heads}),
ev AS (INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
  SELECT h.run_id, h.base + e.off, h.at, e.type, e.payload FROM head h
  JOIN unnest($7::int4[], $8::int4[], $9::text[], $10::text[]) AS e(i, off, type, payload) ON e.i = h.i)`

/** Questions asked and answered. Parameters from $11 on. */
const questions = `,
ap AS (INSERT INTO troupe.approvals (id, tenant, run_id, status, expires_at, payload, answer)
  SELECT a.id::uuid, h.tenant, h.run_id, a.status::int2, NULLIF(a.expires_at, '')::int8, a.payload, NULLIF(a.answer, '')
  FROM head h JOIN unnest($11::int4[], $12::text[], $13::int4[], $14::text[], $15::text[], $16::text[])
    WITH ORDINALITY AS a(i, id, status, expires_at, payload, answer, place) ON a.i = h.i
  ORDER BY a.place),
an AS (UPDATE troupe.approvals p SET status = a.status::int2, answer = a.answer
  FROM head h JOIN unnest($17::int4[], $18::text[], $19::int4[], $20::text[]) AS a(i, id, status, answer) ON a.i = h.i
  WHERE p.id = a.id::uuid AND p.status = 0)`

/** The task's status, the answer in the conversation, the end. Parameters are numbered from `$first` on. */
const ends = (first: number): string => {
  const p = (n: number) => `$${first + n}`
  return `,
tk AS (UPDATE troupe.agent_tasks t SET status = x.status::int2, reason = NULLIF(x.reason, '')
  FROM head h JOIN unnest(${p(0)}::int4[], ${p(1)}::int4[], ${p(2)}::text[]) AS x(i, status, reason) ON x.i = h.i
  WHERE t.id = h.run_id AND t.status < 2),
de AS (UPDATE troupe.run_details d SET open = false
  FROM head h JOIN unnest(${p(3)}::int4[]) AS x(i) ON x.i = h.i WHERE d.run_id = h.run_id),
said AS (SELECT h.run_id, h.at, h.i, d.conversation, x.content FROM head h
  JOIN unnest(${p(4)}::int4[], ${p(5)}::text[]) AS x(i, content) ON x.i = h.i
  JOIN troupe.run_details d ON d.run_id = h.run_id),
cv AS (UPDATE troupe.conversations c SET messages = c.messages + x.n
  FROM (SELECT conversation, count(*)::int4 AS n FROM said GROUP BY conversation) x
  WHERE c.id = x.conversation RETURNING c.id, c.messages - x.n AS base),
ms AS (INSERT INTO troupe.conversation_messages (conversation, seq, role, content, channel_origin, run_id, created_at)
  SELECT s.conversation, cv.base + (row_number() OVER (PARTITION BY s.conversation ORDER BY s.i))::int4 - 1,
    'assistant', s.content, COALESCE(t.channel_origin, 'api'), s.run_id, s.at
  FROM said s JOIN cv ON cv.id = s.conversation LEFT JOIN troupe.agent_tasks t ON t.id = s.run_id)`
}

const texts = {
  none: `${general}\n${refused}`,
  questions: `${general}${questions}\n${refused}`,
  ends: `${general}${ends(11)}\n${refused}`,
  both: `${general}${questions}${ends(21)}\n${refused}`
}

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

/** A run may stand in a batch once. */
export const statementOf = (batch: ReadonlyArray<Encoded>): Statement => {
  if (batch.every(isBare)) {
    return batch.length === 1
      ? one(batch[0]!)
      : { text: flat, params: flatParams(batch), rows: "refused" }
  }
  const asks = batch.some((item) => item.requested.length > 0 || item.answered.length > 0)
  const closes = batch.some(
    (item) => item.task !== undefined || item.message !== undefined || item.status >= run_over
  )
  return {
    text: asks ? (closes ? texts.both : texts.questions) : closes ? texts.ends : texts.none,
    params: [
      ...headParams(batch),
      ...eventParams(batch),
      ...(asks ? questionParams(batch) : []),
      ...(closes ? endParams(batch) : [])
    ],
    rows: "refused"
  }
}
