/**
 * Lists and searches conversations in SQL: one statement for a page, which reads neither journals nor more of each conversation
 * than its newest messages. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient, SqlConnection } from "effect/sql"
import type {
  ConversationPage,
  ConversationQuery,
  ConversationStore
} from "../../../services/ConversationStore.ts"
import {
  cursorParts,
  looked_max,
  searched_messages_max,
  searched_units_max
} from "../../../services/ConversationStore.ts"
import type { ConversationItem } from "../../../src/conversation/Conversation.ts"
import { Metadata, shownText } from "../../../src/conversation/Conversation.ts"
import { defined } from "../../../src/value/PlainObject.ts"
import { readableRows } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { beginningIn, saidMember, StoredText } from "../engine/StoredText.ts"
import type { TenantReads } from "../engine/TenantReads.ts"
import { isQuarantined, RunCode, runStatus } from "../journal/Codes.ts"
import { columns, conversationOf, ConversationRow } from "./ConversationRows.ts"

const page_max = 500
/** How many characters are read of the JSON of the last message. */
const last_units = 2_000

const ItemRow = Schema.Struct({
  ...ConversationRow.fields,
  title: Schema.NullOr(StoredText),
  metadata: Schema.NullOr(Schema.fromJsonString(Metadata)),
  messages: Schema.Int,
  active_at: Schema.BigInt,
  /** Of the oldest run that is not over; null = there is none. */
  run_status: Schema.NullOr(RunCode),
  role: Schema.NullOr(Schema.Literals(["user", "assistant"])),
  said: Schema.NullOr(Schema.String),
  said_at: Schema.NullOr(Schema.BigInt)
})
const decodeItems = readableRows(ItemRow, "conversations")

const cursorOf = (row: { readonly active_at: bigint | string; readonly id: string }) =>
  `${row.active_at}.${row.id}`

const itemOf = ({
  active_at,
  messages,
  metadata,
  role,
  run_status,
  said,
  said_at,
  title,
  ...row
}: typeof ItemRow.Type): ConversationItem => {
  const status = run_status === null ? "idle" : runStatus(run_status)
  return {
    ...conversationOf(row),
    ...defined({ title: title ?? undefined, metadata: metadata ?? undefined }),
    status:
      run_status !== null && isQuarantined(run_status)
        ? "quarantined"
        : status === "complete" || status === "failed" || status === "cancelled"
          ? "processing"
          : status,
    messages,
    ...(role === null || said === null
      ? undefined
      : { last_message: { role, text: shownText(beginningIn(said)), at: Number(said_at) } }),
    active_at: Number(active_at),
    cursor: cursorOf({ active_at, id: row.id })
  }
}

const order = (row: string) =>
  `${row}.active_slot DESC, ${row}.active_at DESC, ${row}.id COLLATE "C" DESC`

const said_roles = "m.role IN ('user', 'assistant')"

/** A run without a head is one whose message waits. */
const drawn = `LEFT JOIN LATERAL (SELECT coalesce((SELECT r.status FROM troupe.runs r WHERE r.run_id = t.id), 0) AS status
    FROM troupe.agent_tasks t WHERE t.address_key = c.address_key AND t.agent = c.agent AND t.tenant = c.tenant AND t.status < 2
      AND t.conversation = c.id ORDER BY t.ordinal LIMIT 1) o ON true
  LEFT JOIN LATERAL (SELECT m.role, left(${saidMember("m.content")}, ${last_units}) AS said, m.created_at
    FROM troupe.conversation_messages m WHERE m.tenant = c.tenant AND m.conversation = c.id AND ${said_roles}
    ORDER BY m.seq DESC LIMIT 1) l ON true`

/** Whether each word of the parameter is in the title, or in one of the newest messages. Words are as JSON has them. */
const hasWords = (param: string) => `NOT EXISTS (SELECT FROM unnest(${param}::text[]) AS w(word)
  WHERE strpos(lower(coalesce(c.title, '')), lower(w.word)) = 0 AND NOT EXISTS (
    SELECT FROM (SELECT m.content FROM troupe.conversation_messages m
      WHERE m.tenant = c.tenant AND m.conversation = c.id AND ${said_roles} ORDER BY m.seq DESC LIMIT ${searched_messages_max}) m
    WHERE strpos(lower(left(${saidMember("m.content")}, ${searched_units_max})), lower(w.word)) > 0))`

const inJson = (word: string): string => JSON.stringify(word).slice(1, -1)

/**
 * The statement for a page. `tenant || ''` is how the indexes of lists have the tenant: the planner does not choose them where it
 * looks for a single conversation. The conversations are chosen before what is drawn of them is read (`OFFSET 0`).
 */
const statementOf = ({ after, begun_by, id, limit, tenant, words }: ConversationQuery) => {
  const params: Array<unknown> = [tenant, limit]
  const conditions = ["NOT c.deleted"]
  const param = (value: unknown) => `$${params.push(value)}::text`
  conditions.push(
    id === undefined ? "c.tenant || '' = $1::text" : `c.tenant = $1::text AND c.id = ${param(id)}`
  )
  if (begun_by !== undefined) conditions.push(`c.begun_by = ${param(JSON.stringify(begun_by))}`)
  if (after !== undefined) {
    const { at, id } = cursorParts(after)
    const time = `${param(String(at))}::int8`
    conditions.push(
      `c.active_slot <= ${time} / 900000 AND (c.active_at, c.id COLLATE "C") < (${time}, ${param(id)})`
    )
  }
  const chosen = `SELECT c.* FROM troupe.conversations c WHERE ${conditions.join(" AND ")}
    ORDER BY ${order("c")} LIMIT ${words === undefined ? "$2::int4" : looked_max}`
  // Of a search the last that was looked at is given as well: the next page begins behind it.
  const c =
    words === undefined
      ? `(SELECT s.*, true AS found, NULL::int4 AS place FROM (${chosen}) s OFFSET 0)`
      : `(SELECT s.* FROM (SELECT c.*, ${hasWords(`$${params.push(words.map(inJson))}`)} AS found,
          (row_number() OVER (ORDER BY ${order("c")}))::int4 AS place FROM (${chosen}) c) s
        WHERE s.found OR s.place = ${looked_max} ORDER BY ${order("s")} LIMIT $2::int4)`
  const text = `SELECT ${columns
    .split(", ")
    .map((name) => `c.${name}`)
    .join(
      ", "
    )}, c.title, c.metadata, c.messages, c.active_at, c.found, c.place, o.status AS run_status,
      l.role, l.said, l.created_at AS said_at FROM ${c} c ${drawn} ORDER BY ${order("c")}`
  return { text, params }
}

export const make =
  (sql: SqlClient.SqlClient, reads: TenantReads["Service"]): ConversationStore["Service"]["list"] =>
  (query) =>
    Effect.gen(function* () {
      const most = Math.min(query.limit, page_max)
      const items: Array<ConversationItem> = []
      let { after } = query
      for (;;) {
        const limit = most - items.length
        const { params, text } = statementOf({ ...query, after, limit })
        const rows = yield* reads.of(query.tenant)(sql.unsafe<SqlConnection.Row>(text, params))
        const found = rows.filter((row) => row["found"] === true)
        items.push(...(yield* decodeItems(found)).map(itemOf))
        const last = rows.at(-1)
        if (last === undefined || (rows.length < limit && last["place"] !== looked_max))
          return { items } satisfies ConversationPage
        after = cursorOf(last as never)
        // A row that cannot be read is left out, and the page is filled with others.
        if (items.length === most || query.words !== undefined) return { items, next: after }
      }
    }).pipe(Effect.mapError(orStoreError), Effect.withSpan("ConversationStore.list"))
