/**
 * Keys of side effects that happen once in a conversation or a tenant.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `CREATE TABLE troupe.idempotency_keys (
    tenant text NOT NULL,
    -- A digest of the scope, the tool and the values of its key.
    key text NOT NULL,
    run_id uuid NOT NULL,
    call text NOT NULL,
    seq int4 NOT NULL,
    -- A digest of what the call asked for.
    asked text NOT NULL,
    -- In ms since 1970.
    at int8 NOT NULL,
    expires_at int8 NOT NULL,
    PRIMARY KEY (tenant, key)
  )`,
  `CREATE INDEX idempotency_keys_expiry ON troupe.idempotency_keys (expires_at)`,
  `ALTER TABLE troupe.idempotency_keys ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY of_tenant ON troupe.idempotency_keys FOR SELECT
    USING (tenant = current_setting('troupe.tenant', true))`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
