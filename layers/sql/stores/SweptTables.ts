/**
 * Rows of other tables that are of a subject: because they are of its runs or conversations, or because they name it. Some are
 * removed, of others the texts are written over. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { Eraser } from "../../../src/erasure/ErasedValue.ts"
import { namesIn, textWithoutNames } from "../../../src/erasure/ErasedValue.ts"
import { candidateTexts, holdsId } from "../../../src/erasure/SubjectEraser.ts"
import type { Tenant } from "../../../src/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction } from "../engine/SqlFailure.ts"
import { removeMessages } from "../outbox/RemovedMessages.ts"
import type { ErasedCounts } from "./ErasedCounts.ts"
import type { Piece } from "./TablePieces.ts"
import { forEachPiece, inPiece, placeBehind } from "./TablePieces.ts"

/** Rows of one transaction. */
const page_max = 100

interface Swept {
  readonly table: string
  /** Its texts from outside. */
  readonly columns: ReadonlyArray<string>
  /** `delete`: the row as a whole; `mark`: the texts that name the subject. */
  readonly does: "delete" | "mark"
  /** Which rows may be touched; absent = all. */
  readonly where?: string
  /** It says whose a run or conversation is: without it, an erasure that is done again would not find what is left. */
  readonly saysWhose?: true
  /** The messages of a queue are found by their ids, because the rows of their keys are locked before them. */
  readonly ids?: true
}

/** A run that is under way keeps what it needs to go on. */
const is_over = "NOT EXISTS (SELECT FROM troupe.runs r WHERE r.run_id = t.run_id AND r.status < 3)"

const swept: ReadonlyArray<Swept> = [
  { table: "outbox", columns: ["key", "payload", "failures"], does: "delete", ids: true },
  {
    table: "dead_letters",
    columns: ["key", "payload", "failures", "resolved_by", "resolved_reason"],
    does: "delete"
  },
  { table: "notices", columns: ["recipient", "about", "payload"], does: "delete" },
  { table: "digest_items", columns: ["address", "recipient", "payload"], does: "delete" },
  { table: "notice_preferences", columns: ["recipient"], does: "delete" },
  {
    table: "channel_bindings",
    columns: ["conversation", "address", "recipient", "thread"],
    does: "delete"
  },
  {
    table: "tool_messages",
    columns: ["id", "payload", "result", "error"],
    does: "delete",
    where: "t.status > 0"
  },
  { table: "call_records", columns: ["record"], does: "delete", where: is_over },
  { table: "approvals", columns: ["payload", "answer"], does: "delete", where: is_over },
  { table: "loop_records", columns: ["key", "value"], does: "delete" },
  { table: "triples", columns: ["subject", "predicate", "object", "source"], does: "delete" },
  { table: "blob_uses", columns: ["name"], does: "mark" },
  { table: "event_inbox", columns: ["source", "event"], does: "mark" },
  { table: "flow_states", columns: ["state"], does: "mark" },
  { table: "authorizations", columns: ["granted_by", "revoked_by"], does: "mark" },
  // Of somebody else's token only the names of who made and revoked it are the subject's.
  {
    table: "access_tokens",
    columns: ["token"],
    does: "delete",
    where: "t.token::json->>'principal' = $7::text"
  },
  { table: "access_tokens", columns: ["token", "revoked_by"], does: "mark" },
  {
    table: "conversations",
    columns: ["begun_by", "trigger_event_id"],
    does: "mark",
    saysWhose: true
  },
  { table: "conversation_messages", columns: ["content", "tool_calls"], does: "mark" },
  {
    table: "agent_tasks",
    columns: ["message", "by", "trace_id", "reason", "idempotency_key"],
    does: "mark",
    where: "t.status > 1",
    saysWhose: true
  },
  { table: "rule_candidates", columns: ["draft"], does: "mark" },
  { table: "platform_changesets", columns: ["state"], does: "mark" },
  { table: "platform_clusters", columns: ["triage"], does: "mark" },
  { table: "platform_drafts", columns: ["document", "state"], does: "mark" },
  { table: "erasures", columns: ["by"], does: "mark" }
]

export interface Sweep {
  readonly sql: SqlClient.SqlClient
  readonly tenant: Tenant
  readonly subject: string
  readonly eraser: Eraser
  readonly counts: ErasedCounts
  /** Ids of runs and of whole conversations that are the subject's. */
  readonly runs: ReadonlyArray<string>
  readonly conversations: ReadonlyArray<string>
  /** All of them. */
  readonly ids: ReadonlySet<string>
}

const decodeRows = rowDecoder(
  Schema.Struct({
    place: Schema.String,
    id: Schema.NullOr(Schema.String),
    texts: Schema.Array(Schema.NullOr(Schema.String))
  }),
  "rows that name a subject"
)

const uuids = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

/**
 * Candidates, which are judged here: those that hold the name in any way of writing, or an id of a run or conversation. Of what
 * is marked only the name counts.
 */
const findStatement = ({ columns, does, ids, table, where = "true" }: Swept): string => {
  const texts = columns.map((column) => `t.${column}::text`).join(", ")
  const of_ids = `OR EXISTS (SELECT FROM regexp_matches(s.whole, '${uuids}', 'g') m WHERE m[1] = ANY ($5::text[]))
    OR EXISTS (SELECT FROM unnest($6::text[]) c WHERE strpos(s.whole, c) > 0)`
  return `SELECT t.ctid::text AS place, ${ids === true ? "t.id::text" : "NULL"} AS id, ARRAY[${texts}] AS texts FROM troupe.${table} t
    CROSS JOIN LATERAL (SELECT concat_ws(E'\\n', ${texts}) COLLATE "default" AS whole OFFSET 0) s
    WHERE ${inPiece(2, 3)} AND t.tenant = $1::text AND ${where} AND $5::text[] IS NOT NULL
      AND $6::text[] IS NOT NULL AND $7::text IS NOT NULL
      AND (EXISTS (SELECT FROM unnest($4::text[]) w WHERE strpos(replace(lower(s.whole), E'\\\\', ''), lower(w)) > 0)
        ${does === "delete" ? of_ids : ""})
    ORDER BY t.ctid LIMIT ${page_max} ${ids === true ? "" : "FOR UPDATE OF t"}`
}

const isOf = (texts: ReadonlyArray<string | null>, { eraser, ids }: Sweep): boolean =>
  texts.some((text) => text !== null && (namesIn(text, eraser) || holdsId(text, ids)))

type Found = Effect.Success<ReturnType<typeof decodeRows>>[number]

const remove = Effect.fnUntraced(function* (
  { counts, sql, tenant }: Sweep,
  { ids, table }: Swept,
  rows: ReadonlyArray<Found>
) {
  if (ids === true) {
    const found = rows.flatMap(({ id }) => (id === null ? [] : [id]))
    return counts.add(table, yield* removeMessages(sql, tenant, found))
  }
  yield* sql.unsafe(`DELETE FROM troupe.${table} t WHERE t.ctid = ANY ($1::text[]::tid[])`, [
    rows.map(({ place }) => place)
  ])
  counts.add(table, rows.length)
})

const mark = Effect.fnUntraced(function* (
  { counts, eraser, sql }: Sweep,
  { columns, table }: Swept,
  rows: ReadonlyArray<Found>
) {
  for (const { place, texts } of rows) {
    const marked = texts.map((text) => (text === null ? null : textWithoutNames(text, eraser)))
    const sets = columns.map((column, i) => `${column} = $${i + 2}::text`)
    yield* sql.unsafe(
      `UPDATE troupe.${table} t SET ${sets.join(", ")} WHERE t.ctid = $1::text::tid`,
      [place, ...marked]
    )
  }
  counts.add(table, rows.length)
})

/** One page behind a place: the last place that was looked at, or undefined where the piece has no more. */
const sweepPage = Effect.fnUntraced(function* (sweep: Sweep, of: Swept, { from, to }: Piece) {
  const { conversations, runs, sql, subject, tenant } = sweep
  const rows = yield* Effect.flatMap(
    sql.unsafe(findStatement(of), [
      tenant,
      from,
      to,
      candidateTexts(subject),
      runs,
      conversations,
      subject
    ]),
    decodeRows
  )
  const theirs = rows.filter(({ texts }) =>
    of.does === "delete"
      ? isOf(texts, sweep)
      : texts.some((text) => text !== null && namesIn(text, sweep.eraser))
  )
  if (theirs.length > 0) yield* (of.does === "delete" ? remove : mark)(sweep, of, theirs)
  const last = rows.at(-1)
  return last === undefined || rows.length < page_max ? undefined : placeBehind(last.place)
})

/** Each page in a transaction of its own. `isLast`: the runs are erased already, so that what says whose they are goes too. */
export const sweepTables = Effect.fnUntraced(function* (sweep: Sweep, isLast: boolean) {
  for (const of of swept) {
    if (of.saysWhose === true && !isLast) continue
    yield* forEachPiece(
      sweep.sql,
      of.table,
      Effect.fnUntraced(function* ({ from, to }) {
        let next: string | undefined = from
        while (next !== undefined) {
          next = yield* inTransaction(sweep.sql)(sweepPage(sweep, of, { from: next, to }))
        }
        return undefined
      })
    )
  }
})
