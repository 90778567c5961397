/**
 * For an engine that only one process can have open: every lease there belongs to a process that is gone. Its
 * runs, its deliveries and its tool calls are free at once, and not only when the lease would have passed.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Migrator, SqlError } from "effect/sql"
import * as Migrations from "./Migrations.ts"
import { inTransaction } from "./SqlFailure.ts"

const free = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  inTransaction(sql)(
    Effect.gen(function* () {
      yield* sql`DELETE FROM troupe.processes`
      yield* sql`
        UPDATE troupe.outbox_keys k SET due_at = 0 FROM troupe.outbox o
        WHERE o.tenant = k.tenant AND o.key = k.key AND o.lease_owner IS NOT NULL`
      yield* sql`UPDATE troupe.outbox SET lease_owner = NULL WHERE lease_owner IS NOT NULL`
      yield* sql`
        UPDATE troupe.tool_messages SET owner = NULL, due_at = 0 WHERE status = 0 AND owner IS NOT NULL`
      yield* sql`UPDATE troupe.tool_workers SET expires_at = 0 WHERE expires_at > 0`
    })
  )
)

export const layer: Layer.Layer<
  never,
  Migrator.MigrationError | SqlError.SqlError,
  SqlClient.SqlClient
> = Layer.effectDiscard(free).pipe(Layer.provide(Migrations.layer))
