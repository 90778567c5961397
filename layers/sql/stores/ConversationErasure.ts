/**
 * Erases runs of one conversation and the rows that belong to them, a few runs in each transaction, which locks the conversation.
 * Where the whole conversation is the subject's, the conversation itself is erased after them. The rows that say who owns the
 * runs are erased last, so that a repeated erasure finds what an interrupted one left. Private to this room.
 */
import { Effect, Option, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { BlobStore } from "../../../services/BlobStore.ts"
import type { RunEraser } from "../../../src/erasure/ErasedValue.ts"
import { erasedMember, markText } from "../../../src/erasure/ErasedValue.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { RunId } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction } from "../engine/SqlFailure.ts"
import type { ErasedCounts } from "./ErasedCounts.ts"
import type { OwnedConversation } from "./OwnedRuns.ts"
import { holdStill } from "./OwnedRuns.ts"
import { eraseRun } from "./RunErasure.ts"

/** The most runs in one transaction. */
const lot_max = 20

export interface Erasing {
  readonly sql: SqlClient.SqlClient
  readonly blobs: BlobStore["Service"]
  readonly tenant: Tenant
  readonly eraser: RunEraser
  readonly counts: ErasedCounts
}

const decodeTasks = rowDecoder(
  Schema.Struct({
    id: RunId,
    message: Schema.String,
    by: Schema.String,
    trace_id: Schema.String,
    reason: Schema.NullOr(Schema.String)
  }),
  "tasks"
)
const decodeMessages = rowDecoder(
  Schema.Struct({ seq: Schema.Int, content: Schema.String }),
  "messages"
)
const decodeBeginners = rowDecoder(
  Schema.Struct({ begun_by: Schema.NullOr(Schema.String) }),
  "conversations"
)

const decodeJson = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Json))

/**
 * The decoded JSON value of a stored text. A text that cannot be read was changed from outside: it is treated as a plain string.
 */
const readOr = (text: string): Schema.Json => Option.getOrElse(decodeJson(text), () => text)

const senderWithout = (by: unknown, eraser: RunEraser): unknown =>
  typeof by === "object" && by !== null && "id" in by
    ? {
        ...by,
        id: markText(eraser, String(by.id)),
        ...("via" in by && { via: markText(eraser, String(by.via)) })
      }
    : markText(eraser, String(by))

/**
 * A trace's column after the erasure. The id of a trace belongs to nobody and stays; what is stored beside it may be the
 * subject's.
 */
const traceWithout = (
  text: string,
  eraser: RunEraser,
  without: (said: Schema.Json) => unknown
): unknown =>
  Option.match(decodeJson(text), {
    onNone: () => markText(eraser, text),
    onSome: (said) => (typeof said === "string" ? said : without(said))
  })

const eraseTasks = Effect.fnUntraced(function* (
  { counts, eraser, sql }: Erasing,
  codes: ReadonlyMap<RunId, ReadonlySet<string>>
) {
  const runs = [...codes.keys()]
  const rows = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT id, message, by, trace_id, reason FROM troupe.agent_tasks WHERE id = ANY ($1::text[]::uuid[])`,
      [runs]
    ),
    decodeTasks
  )
  const texts = (value: (row: (typeof rows)[number]) => unknown) =>
    rows.map((row) => JSON.stringify(value(row)))
  const of = (name: string, id: RunId, value: unknown) =>
    erasedMember(name, value, codes.get(id) ?? new Set(), eraser)
  yield* sql.unsafe(
    `UPDATE troupe.agent_tasks t SET message = w.message, by = w.by, trace_id = w.trace_id, reason = nullif(w.reason, 'null'),
       idempotency_key = NULL
     FROM unnest($1::text[]::uuid[], $2::text[], $3::text[], $4::text[], $5::text[]) AS w(id, message, by, trace_id, reason)
     WHERE t.id = w.id AND t.id = ANY ($1::text[]::uuid[])`,
    [
      rows.map(({ id }) => id),
      texts(({ id, message }) => of("message", id, readOr(message))),
      texts(({ by }) => senderWithout(readOr(by), eraser)),
      texts(({ id, trace_id }) => traceWithout(trace_id, eraser, (said) => of("trace", id, said))),
      texts(({ id, reason }) => of("reason", id, reason === null ? null : readOr(reason)))
    ]
  )
  counts.add("agent_tasks", rows.length)
})

/** Erases the messages of these runs; with `undefined`, the messages of the conversation that belong to no run. */
const eraseMessages = Effect.fnUntraced(function* (
  { counts, eraser, sql, tenant }: Erasing,
  conversation: string,
  runs: ReadonlyArray<RunId> | undefined
) {
  const rows = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT m.seq, m.content FROM troupe.conversation_messages m
       WHERE m.tenant = $1::text AND m.conversation = $2::text
         AND ${runs === undefined ? "m.run_id IS NULL AND $3::text[] IS NOT NULL" : "m.run_id = ANY ($3::text[]::uuid[])"}`,
      [tenant, conversation, runs ?? []]
    ),
    decodeMessages
  )
  yield* sql.unsafe(
    `UPDATE troupe.conversation_messages m SET content = w.content, tool_calls = NULL
     FROM unnest($3::int4[], $4::text[]) AS w(seq, content)
     WHERE m.tenant = $1::text AND m.conversation = $2::text AND m.seq = w.seq`,
    [
      tenant,
      conversation,
      rows.map(({ seq }) => seq),
      rows.map(({ content }) => markedContent(content, eraser))
    ]
  )
  counts.add("conversation_messages", rows.length)
})

/** The stored content of a message: a text, or an object that has the text as its `content`. */
const decodeSaid = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Union([Schema.String, Schema.Struct({ content: Schema.String })]))
)

/**
 * The content after the erasure: the text's mark, the same as in the journal. What an answer says beside its text is dropped. A
 * content that cannot be read is marked as a whole.
 */
const markedContent = (content: string, eraser: RunEraser): string => {
  const said = Option.getOrElse(decodeSaid(content), () => content)
  return JSON.stringify(markText(eraser, typeof said === "string" ? said : said.content))
}

/** The tables whose rows of a run are deleted. */
const deletions = ["approvals", "call_records"]

export const eraseLot = Effect.fnUntraced(function* (
  erasing: Erasing,
  conversation: string,
  runs: ReadonlyArray<RunId>
) {
  const { blobs, counts, eraser, sql, tenant } = erasing
  yield* holdStill(sql, tenant, conversation)
  const codes = new Map<RunId, ReadonlySet<string>>()
  for (const run of runs) {
    const done = yield* eraseRun(sql, run, eraser)
    counts.add("run_events", done.written)
    codes.set(run, done.codes)
  }
  if (!eraser.whole) return
  for (const table of deletions) {
    const gone = yield* sql.unsafe(
      `DELETE FROM troupe.${table} WHERE run_id = ANY ($1::text[]::uuid[]) RETURNING 1 AS gone`,
      [runs]
    )
    counts.add(table, gone.length)
  }
  yield* blobs.release(tenant, runs)
  yield* eraseMessages(erasing, conversation, runs)
  yield* eraseTasks(erasing, codes)
})

/**
 * Erases the rest of a conversation that is the subject's, after its runs. It gets another name if its own name contains the
 * subject.
 */
export const eraseConversation = Effect.fnUntraced(function* (
  erasing: Erasing,
  { address_key, conversation }: OwnedConversation
) {
  const { counts, eraser, sql, tenant } = erasing
  yield* holdStill(sql, tenant, conversation)
  yield* eraseMessages(erasing, conversation, undefined)
  const [found] = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT begun_by FROM troupe.conversations WHERE id = $2::text AND tenant = $1::text`,
      [tenant, conversation]
    ),
    decodeBeginners
  )
  const begun_by = found?.begun_by == null ? null : String(readOr(found.begun_by))
  yield* sql.unsafe(
    `UPDATE troupe.conversations SET begun_by = $3::text, title = NULL, metadata = NULL WHERE id = $2::text AND tenant = $1::text`,
    [tenant, conversation, begun_by === null ? null : JSON.stringify(markText(eraser, begun_by))]
  )
  counts.add("conversations", 1)
  const [id, key] = [eraser.rename(conversation), eraser.rename(address_key)]
  if (id === conversation && key === address_key) return
  const names: ReadonlyArray<readonly [table: string, column: string, hasKey: boolean]> = [
    ["conversations", "id", true],
    ["agent_tasks", "conversation", true],
    ["conversation_messages", "conversation", false],
    ["run_details", "conversation", true],
    ["event_inbox", "conversation", false]
  ]
  for (const [table, column, hasKey] of names) {
    yield* sql.unsafe(
      `UPDATE troupe.${table} SET ${column} = $3::text${hasKey ? ", address_key = $4::text" : ""}
       WHERE tenant = $1::text AND ${column} = $2::text AND $4::text IS NOT NULL`,
      [tenant, conversation, id, key]
    )
  }
})

export const eraseLots = Effect.fnUntraced(function* (
  erasing: Erasing,
  conversation: string,
  runs: ReadonlyArray<RunId>
) {
  for (let i = 0; i < runs.length; i += lot_max) {
    yield* inTransaction(erasing.sql)(eraseLot(erasing, conversation, runs.slice(i, i + lot_max)))
  }
})

export const eraseOwned = Effect.fnUntraced(function* (erasing: Erasing, owned: OwnedConversation) {
  yield* eraseLots(erasing, owned.conversation, owned.runs)
  if (owned.whole) yield* inTransaction(erasing.sql)(eraseConversation(erasing, owned))
})

/** Erases what names the subject in these runs of others, which are all of one conversation. */
export const eraseNamed = (erasing: Erasing, conversation: string, runs: ReadonlyArray<RunId>) =>
  eraseLots({ ...erasing, eraser: { ...erasing.eraser, whole: false } }, conversation, runs)
