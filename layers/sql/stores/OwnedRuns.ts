/**
 * Finds what belongs to a subject: the conversations that it began or that are named after it, with all of their runs; and in
 * other conversations, the runs of its messages. Private to this room.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { SubjectIsActive, waiting_max } from "../../../src/erasure/Erasure.ts"
import type { Eraser } from "../../../src/erasure/ErasedValue.ts"
import { candidateTexts } from "../../../src/erasure/SubjectEraser.ts"
import { AgentName, ConversationId, RunId } from "../../../src/value/Ids.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { forked_conversation, forked_sender, is_fork } from "../engine/StoredText.ts"
import { forEachPiece, inPiece } from "./TablePieces.ts"

const Home = {
  conversation: ConversationId,
  agent: AgentName,
  address_key: ConversationId
}
const decodeConversations = rowDecoder(
  Schema.Struct({ ...Home, begun: Schema.Boolean }),
  "conversations"
)
const decodeTasks = rowDecoder(Schema.Struct({ ...Home, id: RunId, fork: Schema.Boolean }), "tasks")
const decodeRuns = rowDecoder(Schema.Struct({ id: RunId }), "tasks")

/** A conversation and those of its runs that have to be erased. */
export interface OwnedConversation {
  readonly conversation: ConversationId
  readonly agent: AgentName
  readonly address_key: ConversationId
  /** The conversation is the subject's: all of it is erased. */
  readonly whole: boolean
  readonly runs: Array<RunId>
}

export type Owned = Map<ConversationId, OwnedConversation>

export interface Sought {
  readonly tenant: Tenant
  readonly subject: string
  readonly eraser: Eraser
}

const conversations_statement = `SELECT t.id AS conversation, t.agent, t.address_key, t.begun_by IS NOT DISTINCT FROM $2::text AS begun
  FROM troupe.conversations t WHERE ${inPiece(4, 5)} AND t.tenant = $1::text AND (t.begun_by = $2::text
    OR EXISTS (SELECT FROM unnest($3::text[]) w WHERE strpos(lower(t.id || ' ' || t.address_key), lower(w)) > 0))`

/**
 * The sender is JSON text: the id alone, or an object whose first member is the id. A fork is of who sent the message of the run
 * that it was forked from.
 */
const tasks_statement = `SELECT t.id, t.conversation, t.agent, t.address_key, t.${is_fork} AS fork FROM troupe.agent_tasks t
  WHERE ${inPiece(5, 6)} AND t.tenant = $1::text
    AND (t.by = $2::text OR strpos(t.by, $3::text) = 1 OR t.conversation = ANY ($4::text[])
      OR (t.${is_fork} AND (${forked_sender} = $2::text OR ${forked_conversation} = ANY ($7::text[]))))`

export const findOwned = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { eraser, subject, tenant }: Sought
) {
  const owned: Owned = new Map()
  const id = JSON.stringify(subject)
  yield* forEachPiece(
    sql,
    "conversations",
    Effect.fnUntraced(function* ({ from, to }) {
      const params = [tenant, id, candidateTexts(subject), from, to]
      const rows = yield* decodeConversations(yield* sql.unsafe(conversations_statement, params))
      for (const { begun, ...home } of rows) {
        const isOf = begun || eraser.names(home.conversation) || eraser.names(home.address_key)
        if (isOf) owned.set(home.conversation, { ...home, whole: true, runs: [] })
      }
      return undefined
    })
  )
  yield* forEachPiece(
    sql,
    "agent_tasks",
    Effect.fnUntraced(function* ({ from, to }) {
      const whole = [...owned.values()].flatMap((each) => (each.whole ? [each.conversation] : []))
      const names = whole.map((each) => JSON.stringify(each))
      const params = [tenant, id, `{"id":${id},`, whole, from, to, names]
      for (const { fork, id: run, ...home } of yield* decodeTasks(
        yield* sql.unsafe(tasks_statement, params)
      )) {
        let known = owned.get(home.conversation)
        if (known === undefined) {
          // A fork has its conversation for itself.
          owned.set(home.conversation, (known = { ...home, whole: fork, runs: [] }))
        }
        known.runs.push(run)
      }
      return undefined
    })
  )
  return owned
})

/**
 * Runs of these conversations that are not over, at most `waiting_max`. A run in quarantine does not count, because it is not
 * continued.
 */
export const activeRuns = (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  conversations: ReadonlyArray<string>
) =>
  Effect.map(
    Effect.flatMap(
      sql.unsafe(
        `SELECT t.id FROM troupe.agent_tasks t LEFT JOIN troupe.runs r ON r.run_id = t.id
         WHERE t.tenant = $1::text AND t.conversation = ANY ($2::text[]) AND t.status < 2 AND coalesce(r.status, 0) < 3
         LIMIT ${waiting_max}`,
        [tenant, conversations]
      ),
      decodeRuns
    ),
    (rows) => rows.map(({ id }) => id)
  )

/**
 * Locks the conversation, so that no message can be added meanwhile. Fails with SubjectIsActive where one of its runs is not
 * over.
 */
export const holdStill = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  conversation: string
) {
  yield* sql.unsafe(
    `SELECT 1 FROM troupe.conversations c WHERE c.id = $2::text AND c.tenant = $1::text FOR UPDATE`,
    [tenant, conversation]
  )
  const runs = yield* activeRuns(sql, tenant, [conversation])
  if (runs.length > 0) return yield* new SubjectIsActive({ runs })
})
