/**
 * Who began a conversation, as JSON text: the sender of its first message, which is all that earlier releases wrote.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `ALTER TABLE troupe.conversations ADD COLUMN begun_by text`,
  // A task's `by` is the sender's id alone, or id and roles. Cut out as text: json refuses a NUL within one.
  String.raw`UPDATE troupe.conversations c
   SET begun_by = CASE left(t.by, 1) WHEN '"' THEN t.by ELSE substring(t.by FROM '^\{"id":("(?:[^"\\]|\\.)*")') END
   FROM troupe.agent_tasks t WHERE t.tenant = c.tenant AND t.conversation = c.id AND t.ordinal = 1`,
  `CREATE INDEX conversations_begun_by ON troupe.conversations (tenant, begun_by, created_at DESC, position DESC)`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
