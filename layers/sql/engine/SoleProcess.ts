/**
 * For an engine that only one process can open: at the start, every lease in the store belongs to a process that has ended. Its
 * runs, deliveries and tool calls are freed at once, without waiting for the leases to expire.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
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

export const layer: Layer.Layer<never, Migrations.StartError, SqlClient.SqlClient> =
  Layer.effectDiscard(free).pipe(Layer.provide(Migrations.layer))
