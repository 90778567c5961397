/**
 * Erases one conversation, and before it the forks of its runs: first what is found by the ids of its runs, then its runs, a few in each transaction, and last the
 * conversation, in the transaction that ends the record of the erasure. One that is interrupted anywhere before is completed by
 * repeating it. Private to this room.
 *
 * Rows of others are matched by ids of runs, which nobody chooses. The id of a conversation may be any word: it counts only where
 * it stands as the id of one.
 */
import { Clock, Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { BlobStore } from "../../../services/BlobStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { ErasedConversation, ErasureRequest } from "../../../services/SubjectErasure.ts"
import { ConversationNotFound } from "../../../src/conversation/Conversation.ts"
import { SubjectIsActive } from "../../../src/erasure/Erasure.ts"
import { conversationEraser } from "../../../src/erasure/SubjectEraser.ts"
import type { ConversationId, Tenant } from "../../../src/value/Ids.ts"
import { AgentName, ConversationId as Id, RunId, Uuid } from "../../../src/value/Ids.ts"
import { rowReader } from "../engine/DecodedRows.ts"
import { forked_conversation, is_fork } from "../engine/StoredText.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"
import { removeMessages } from "../outbox/OutboxRows.ts"
import type { Erasing } from "./ConversationErasure.ts"
import { eraseConversation, eraseLot, eraseLots } from "./ConversationErasure.ts"
import { ErasedCounts } from "./ErasedCounts.ts"
import { beginRecord, keyedDigest } from "./ErasureRecords.ts"
import { eraseMemoriesOf } from "./MemoryErasure.ts"
import { activeRuns, holdStill } from "./OwnedRuns.ts"
import { sweepTables } from "./SweptTables.ts"

interface Deleting {
  readonly sql: SqlClient.SqlClient
  readonly blobs: BlobStore["Service"]
  /** Notes that rows are about to be erased. */
  readonly begin: Effect.Effect<void, StoreError, Scope.Scope>
  readonly tell: (erased: ErasedConversation) => Effect.Effect<void, SqlError.SqlError>
}

const readHomes = rowReader(Schema.Struct({ agent: AgentName, address_key: Id }), "conversations")
const readForks = rowReader(Schema.Struct({ conversation: Id }), "tasks")
const readRuns = rowReader(Schema.Struct({ id: RunId }), "tasks")
const readMessages = rowReader(Schema.Struct({ id: Uuid }), "messages of the outbox")

const runsOf = (sql: SqlClient.SqlClient, tenant: Tenant, conversation: ConversationId) =>
  Effect.map(
    readRuns(
      sql,
      `SELECT id FROM troupe.agent_tasks WHERE tenant = $1::text AND conversation = $2::text ORDER BY ordinal`,
      [tenant, conversation]
    ),
    (rows) => rows.map(({ id }) => id)
  )

/** The conversations of forks of its runs. */
const forksOf = (sql: SqlClient.SqlClient, tenant: Tenant, conversation: ConversationId) =>
  readForks(
    sql,
    `SELECT DISTINCT t.conversation FROM troupe.agent_tasks t JOIN troupe.conversations c
       ON c.tenant = t.tenant AND c.id = t.conversation AND NOT c.deleted
     WHERE t.tenant = $1::text AND t.${is_fork} AND ${forked_conversation} = $2::text`,
    [tenant, JSON.stringify(conversation)]
  )

/** Rows that have the conversation's id in a column, or as a member of what they say, and where they are. */
const its_rows: ReadonlyArray<readonly [table: string, condition: string]> = [
  [
    "channel_bindings",
    "t.conversation = $2::text AND t.tenant = $1::text AND $3::text IS NOT NULL"
  ],
  ...["notices", "digest_items"].map(
    (table) =>
      [
        table,
        "t.tenant = $1::text AND $2::text IS NOT NULL AND strpos(t.payload, '\"conversation\":' || $3::text) > 0"
      ] as const
  ),
  // The holds of an account before it.
  [
    "budget_holds",
    `t.tenant = $1::text AND t.holder = $3::text AND $2::text IS NOT NULL AND EXISTS (SELECT FROM troupe.budget_accounts a
     WHERE a.holder = t.holder AND a.budget = t.budget AND a.starts_at = t.starts_at AND a.tenant = t.tenant
       AND a.scope = 'conversation')`
  ],
  [
    "budget_accounts",
    "t.tenant = $1::text AND t.holder = $3::text AND t.scope = 'conversation' AND $2::text IS NOT NULL"
  ],
  [
    "dead_letters",
    "t.tenant = $1::text AND t.key = 'conversation/' || $2::text AND $3::text IS NOT NULL"
  ]
]

/** Removes what belongs to the conversation in other tables, of runs that are over. */
const eraseBeside = Effect.fnUntraced(function* (
  erasing: Erasing,
  conversation: ConversationId,
  runs: ReadonlyArray<RunId>
) {
  const { counts, eraser, sql, tenant } = erasing
  counts.add(
    "memory_rows",
    yield* eraseMemoriesOf(sql, { tenant, runs, conversations: [conversation] })
  )
  const params = [tenant, conversation, JSON.stringify(conversation)]
  for (const [table, condition] of its_rows) {
    const gone = yield* sql.unsafe(
      `DELETE FROM troupe.${table} t WHERE ${condition} RETURNING 1 AS gone`,
      params
    )
    counts.add(table, gone.length)
  }
  const told = yield* readMessages(
    sql,
    `SELECT id FROM troupe.outbox WHERE tenant = $1::text AND key = 'conversation/' || $2::text`,
    [tenant, conversation]
  )
  const ids = told.map(({ id }) => id)
  counts.add("outbox", yield* inTransaction(sql)(removeMessages(sql, tenant, ids)))
  yield* sweepTables(
    { sql, tenant, subject: "", eraser, counts, runs, conversations: [], ids: new Set(runs) },
    false
  )
})

export const make = ({ begin, blobs, sql, tell }: Deleting) => {
  const eraseOne = Effect.fn("SubjectErasure.eraseConversation")(function* ({
    conversation,
    tenant,
    ...who
  }: ErasedConversation & Pick<ErasureRequest, "by" | "via">) {
    const [home] = yield* readHomes(
      sql,
      `SELECT agent, address_key FROM troupe.conversations WHERE id = $2::text AND tenant = $1::text AND NOT deleted`,
      [tenant, conversation]
    )
    if (home === undefined) return yield* new ConversationNotFound({ id: conversation })
    const active = yield* activeRuns(sql, tenant, [conversation])
    if (active.length > 0) return yield* new SubjectIsActive({ runs: active })
    const counts = new ErasedCounts()
    const eraser = conversationEraser(conversation, keyedDigest().digest)
    const erasing: Erasing = { sql, blobs, tenant, eraser, counts }
    const record = yield* beginRecord(sql, {
      tenant,
      ...who,
      subject: eraser.digest(conversation),
      what: "conversation",
      counts
    })
    const erase = Effect.gen(function* () {
      yield* begin
      const runs = yield* runsOf(sql, tenant, conversation)
      yield* eraseBeside(erasing, conversation, runs)
      yield* eraseLots(erasing, conversation, runs)
      // What was added meanwhile.
      yield* eraseBeside(erasing, conversation, runs)
      yield* inTransaction(sql)(
        Effect.gen(function* () {
          yield* holdStill(sql, tenant, conversation)
          const rest = (yield* runsOf(sql, tenant, conversation)).filter((id) => !runs.includes(id))
          yield* eraseLot(erasing, conversation, rest)
          yield* eraseConversation(erasing, { ...home, conversation, whole: true, runs })
          yield* sql.unsafe(
            `UPDATE troupe.conversations SET deleted = true WHERE id = $2::text AND tenant = $1::text`,
            [tenant, eraser.rename(conversation)]
          )
          yield* record.end(yield* Clock.currentTimeMillis)
        })
      )
    })
    yield* Effect.tapError(Effect.scoped(erase), () => Effect.ignore(record.end(null)))
    yield* tell({ tenant, conversation })
  }, Effect.mapError(orStoreError))
  return Effect.fnUntraced(function* (request: Parameters<typeof eraseOne>[0]) {
    const { conversation, tenant } = request
    const forks = yield* Effect.mapError(forksOf(sql, tenant, conversation), orStoreError)
    for (const fork of forks) yield* eraseOne({ ...request, ...fork })
    yield* eraseOne(request)
  })
}
