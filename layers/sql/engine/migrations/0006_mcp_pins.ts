/**
 * The accepted definitions of MCP servers' tools, and each acceptance. Times are ms since 1970; names and definitions come
 * from outside and are JSON text.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

const statements = [
  `CREATE TABLE troupe.mcp_pins (
    server text NOT NULL,
    tool text NOT NULL,
    hash text NOT NULL,
    definition text NOT NULL,
    accepted_by text NOT NULL,
    accepted_at int8 NOT NULL,
    how text NOT NULL,
    PRIMARY KEY (server, tool)
  )`,
  `CREATE TABLE troupe.mcp_pin_changes (
    place int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    server text NOT NULL,
    tool text NOT NULL,
    old_hash text,
    new_hash text NOT NULL,
    accepted_by text NOT NULL,
    accepted_at int8 NOT NULL,
    how text NOT NULL
  )`,
  `CREATE INDEX mcp_pin_changes_newest ON troupe.mcp_pin_changes (server, place DESC)`
]

export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
