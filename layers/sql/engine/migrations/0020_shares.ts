/**
 * How much of its tenant's room for files each customer takes, and all customers together. A file counts for the customer that
 * brought it, from this release on.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  // The SHA-256 of the customer's id, in hex. Null = it counts for the tenant alone.
  `ALTER TABLE troupe.blobs ADD COLUMN charged_to text`,
  // The customer '' stands for all of them together.
  `CREATE TABLE troupe.blob_shares (
    tenant text NOT NULL,
    customer text NOT NULL,
    bytes int8 NOT NULL,
    PRIMARY KEY (customer, tenant)
  )`,
  `ALTER TABLE troupe.blob_shares ENABLE ROW LEVEL SECURITY`,
  `CREATE POLICY of_tenant ON troupe.blob_shares FOR SELECT USING (tenant = current_setting('troupe.tenant', true))`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
