/**
 * Which erasures there were. Of whom is kept as a digest only, whose key is not. Records of calls name their tenant as the rows of
 * all other tables do: as JSON it was none that a policy or an erasure looks for.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `CREATE TABLE troupe.erasures (
    -- Lists are in this order.
    position int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    tenant text NOT NULL,
    -- The subject's keyed digest, in hex.
    subject text NOT NULL,
    -- A JSON string.
    by text NOT NULL,
    at int8 NOT NULL,
    -- Null = it did not come to its end.
    ended_at int8,
    -- Rows by table, as JSON.
    erased text NOT NULL DEFAULT '{}'
  )`,
  `CREATE INDEX erasures_tenant ON troupe.erasures (tenant, position)`,
  `ALTER TABLE troupe.erasures ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY of_tenant ON troupe.erasures FOR SELECT
    USING (tenant = current_setting('troupe.tenant', true))`,
  `UPDATE troupe.call_records SET tenant = tenant::json #>> '{}' WHERE tenant LIKE '"%'`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
