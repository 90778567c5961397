/**
 * Erases the rows of other tables that belong to a subject's runs or conversations, or that name the subject. Rows of some tables
 * are removed; in others, texts are overwritten. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { dispatched_topic } from "../../../services/TaskStore.ts"
import type { RunEraser, ErasureMark } from "../../../src/erasure/ErasedValue.ts"
import { markedColumn, namesIn } from "../../../src/erasure/ErasedValue.ts"
import { candidateTexts, holdsId } from "../../../src/erasure/SubjectEraser.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { Erased } from "../engine/FeatureTables.ts"
import { declared } from "../engine/FeatureTables.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction } from "../engine/SqlFailure.ts"
import { textMember } from "../engine/StoredText.ts"
import { erasedTables } from "../../stores/StoredStores.ts"
import { removeMessages } from "../outbox/OutboxRows.ts"
import type { ErasedCounts } from "./ErasedCounts.ts"
import type { Piece } from "./TablePieces.ts"
import { forEachPiece, inPiece, placeBehind } from "./TablePieces.ts"

/** The most rows in one transaction. */
const page_max = 100

type ErasedTable = (typeof erasedTables)[number]

interface Swept {
  readonly table: string
  /**
   * A list: the columns with texts from outside, where the whole row is removed. A record: what is overwritten in each column,
   * where the row stays.
   */
  readonly columns: ReadonlyArray<string> | Readonly<Record<string, ErasureMark>>
  /** SQL condition for the rows that may be changed or removed; absent = all. */
  readonly where?: string
  /**
   * The table says who owns a run or conversation. It is swept last: without it, a repeated erasure would not find what is left.
   */
  readonly saysWhose?: true
  /** Messages of a queue are removed by their ids, because the rows of their keys have to be locked before them. */
  readonly ids?: true
  /** `false`: the rows contain only ids, and therefore name nobody, whatever the subject is called. */
  readonly names?: false
}

/** The condition that the row's run is over: a run that is not over keeps what it needs to continue. */
const is_over = "NOT EXISTS (SELECT FROM troupe.runs r WHERE r.run_id = t.run_id AND r.status < 3)"

/** The condition that a budget's account is a person's, or a conversation's. */
const of_person = `EXISTS (SELECT FROM troupe.budget_accounts a WHERE a.holder = t.holder AND a.budget = t.budget
  AND a.starts_at = t.starts_at AND a.tenant = t.tenant AND a.scope IN ('customer', 'conversation'))`

const removed: ReadonlyArray<Swept> = [
  {
    table: "outbox",
    columns: ["key", "payload", "failures"],
    where: `t.topic <> '${dispatched_topic}'`,
    ids: true
  },
  // These are matched by ids only: without its dispatch, a task of somebody else would never begin.
  {
    table: "outbox",
    columns: ["key", "payload", "failures"],
    where: `t.topic = '${dispatched_topic}'`,
    ids: true,
    names: false
  },
  {
    table: "dead_letters",
    columns: ["key", "payload", "failures", "resolved_by", "resolved_reason"]
  },
  {
    table: "tool_messages",
    columns: ["id", "payload", "result", "error"],
    where: "t.status > 0"
  },
  { table: "approvals", columns: ["payload", "answer"], where: is_over },
  { table: "budget_holds", columns: ["holder"], where: of_person },
  {
    table: "budget_accounts",
    columns: ["holder"],
    where: "t.scope IN ('customer', 'conversation')"
  }
]

const marked: ReadonlyArray<Swept> = [
  { table: "blob_uses", columns: { name: "text" } },
  {
    table: "conversations",
    columns: { begun_by: "text", trigger_event_id: "text", title: "text", metadata: "text" },
    saysWhose: true
  },
  { table: "conversation_messages", columns: { content: "said", tool_calls: "said" } },
  {
    table: "agent_tasks",
    columns: {
      message: "text",
      by: "said",
      trace_id: "said",
      reason: "text",
      idempotency_key: "text"
    },
    where: "t.status > 1",
    saysWhose: true
  },
  { table: "erasures", columns: { by: "text", via: "text" } }
]

/** Those of stores that are written once: as their tables say. */
const ofStored = ({ columns, erased, name: table }: ErasedTable): ReadonlyArray<Swept> => {
  const { marked, owner, removed } = erased ?? {}
  return [
    ...(removed === undefined
      ? []
      : [{ table, columns: removed, ...("run_id" in columns ? { where: is_over } : undefined) }]),
    ...(owner === undefined
      ? []
      : [
          {
            table,
            columns: [owner[0]],
            where: `${textMember(`t.${owner[0]}`, owner[1])} = to_json($7::text)::text`
          }
        ]),
    ...(marked === undefined ? [] : [{ table, columns: marked }])
  ]
}

const isList = (columns: Swept["columns"]): columns is ReadonlyArray<string> =>
  Array.isArray(columns)

const namesOf = ({ columns }: Swept): ReadonlyArray<string> =>
  isList(columns) ? columns : Object.keys(columns)

/** Those of features, as they are declared in the database. */
const sweptOf = ({ erased, name }: { readonly erased: Erased; readonly name: string }): Swept => ({
  table: name,
  columns: isRemoved(erased)
    ? erased
    : Object.fromEntries(
        Object.entries(erased).map(([column, as]) => [
          column,
          typeof as === "string" ? as : new Set(as)
        ])
      )
})

const isRemoved = (erased: Erased): erased is ReadonlyArray<string> => Array.isArray(erased)

/** All tables in which something is erased; the removals come before the overwriting. */
const sweptIn = (sql: SqlClient.SqlClient) =>
  Effect.map(declared(sql), (tables) => {
    const of_features = tables.map(sweptOf).filter((each) => namesOf(each).length > 0)
    const others = [...erasedTables.flatMap(ofStored), ...of_features]
    const isRemoval = ({ columns }: Swept) => isList(columns)
    return [
      ...removed,
      ...others.filter(isRemoval),
      ...marked,
      ...others.filter((each) => !isRemoval(each))
    ]
  })

export interface Sweep {
  readonly sql: SqlClient.SqlClient
  readonly tenant: Tenant
  /** Empty = only rows of `runs` and `conversations` are removed. */
  readonly subject: string
  readonly eraser: RunEraser
  readonly counts: ErasedCounts
  /** `runs` and `conversations`: ids of the runs and of the whole conversations that are the subject's. */
  readonly runs: ReadonlyArray<string>
  readonly conversations: ReadonlyArray<string>
  /** The ids of `runs` and `conversations` together. */
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
 * Finds candidates, which are then checked in JavaScript: rows that contain the name in any spelling, or, if the table's rows are
 * removed, the id of a run or conversation.
 */
const findStatement = (of: Swept): string => {
  const { columns, ids, table, where = "true" } = of
  const texts = namesOf(of)
    .map((column) => `t."${column}"::text`)
    .join(", ")
  const of_ids = `OR EXISTS (SELECT FROM regexp_matches(s.whole, '${uuids}', 'g') m WHERE m[1] = ANY ($5::text[]))
    OR EXISTS (SELECT FROM unnest($6::text[]) c WHERE strpos(s.whole, c) > 0)`
  return `SELECT t.ctid::text AS place, ${ids === true ? "t.id::text" : "NULL"} AS id, ARRAY[${texts}] AS texts FROM troupe.${table} t
    CROSS JOIN LATERAL (SELECT concat_ws(E'\\n', ${texts}) COLLATE "default" AS whole OFFSET 0) s
    WHERE ${inPiece(2, 3)} AND t.tenant = $1::text AND ${where} AND $5::text[] IS NOT NULL
      AND $6::text[] IS NOT NULL AND $7::text IS NOT NULL
      AND (EXISTS (SELECT FROM unnest($4::text[]) w WHERE strpos(replace(lower(s.whole), E'\\\\', ''), lower(w)) > 0)
        ${isList(columns) ? of_ids : ""})
    ORDER BY t.ctid LIMIT ${page_max} ${ids === true ? "" : "FOR UPDATE OF t"}`
}

const isOf = (
  { names }: Swept,
  texts: ReadonlyArray<string | null>,
  { eraser, ids }: Sweep
): boolean =>
  texts.some(
    (text) => text !== null && ((names !== false && namesIn(text, eraser)) || holdsId(text, ids))
  )

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
  table: string,
  columns: Readonly<Record<string, ErasureMark>>,
  rows: ReadonlyArray<Found>
) {
  const all = Object.entries(columns)
  const sets = all.map(([column], i) => `"${column}" = $${i + 2}::text`)
  let changed = 0
  for (const { place, texts } of rows) {
    const after = all.map(([column, as], i) => {
      const text = texts[i] ?? null
      return text === null ? null : markedColumn(column, as, text, eraser)
    })
    if (after.every((text, i) => text === texts[i])) continue
    changed++
    yield* sql.unsafe(
      `UPDATE troupe.${table} t SET ${sets.join(", ")} WHERE t.ctid = $1::text::tid`,
      [place, ...after]
    )
  }
  counts.add(table, changed)
})

/** Erases one page of rows, from `from` on. Gives the place after the last row, or undefined if the piece has no more rows. */
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
  const { columns, table } = of
  if (isList(columns)) {
    const theirs = rows.filter(({ texts }) => isOf(of, texts, sweep))
    if (theirs.length > 0) yield* remove(sweep, of, theirs)
  } else yield* mark(sweep, table, columns, rows)
  const last = rows.at(-1)
  return last === undefined || rows.length < page_max ? undefined : placeBehind(last.place)
})

/**
 * Erases in all these tables, each page in a transaction of its own. `isLast`: the runs are erased already, so that the rows that
 * say who owns them are erased too.
 */
export const sweepTables = Effect.fnUntraced(function* (sweep: Sweep, isLast: boolean) {
  for (const of of yield* sweptIn(sweep.sql)) {
    if (of.saysWhose === true && !isLast) continue
    // Without a subject there is no name to look for, and questions are found by their runs.
    if (sweep.subject === "" && (!isList(of.columns) || of.table === "approvals")) continue
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
