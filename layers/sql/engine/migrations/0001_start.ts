/**
 * The first schema. The files `0001_*` are this one migration, by subject. The schema `troupe` itself is made before, for the
 * list of migrations.
 *
 * In all tables: times are ms since 1970 (int8) unless they are a lease that the database's clock measures; statuses are
 * numbers, of which none is ever given a second meaning; texts from outside (names, messages, payloads) are JSON texts,
 * because PostgreSQL's text refuses a NUL and UTF-8 has no lone surrogates. An index that is not explained serves its
 * primary key or a UNIQUE constraint.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { statements as accept } from "./0001_accept.ts"
import { statements as append } from "./0001_append.ts"
import { statements as budgets } from "./0001_budgets.ts"
import { statements as conversations } from "./0001_conversations.ts"
import { statements as memory } from "./0001_memory.ts"
import { statements as outbox } from "./0001_outbox.ts"
import { statements as runs } from "./0001_runs.ts"
import { statements as tenants } from "./0001_tenants.ts"
import { statements as tools } from "./0001_tools.ts"
import { statements as webhooks } from "./0001_webhooks.ts"

const statements = [
  ...runs,
  ...conversations,
  ...outbox,
  ...accept,
  ...budgets,
  ...append,
  ...tools,
  ...memory,
  ...webhooks,
  // Its row security is of all tables before.
  ...tenants
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
