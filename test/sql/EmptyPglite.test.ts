import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import * as EmptyPglite from "./EmptyPglite.ts"

/** Uses a database as most tests do, and gives the number of a transaction in it. */
const used = (...statements: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    for (const statement of statements) yield* sql.unsafe(statement)
    const [row] = yield* sql.unsafe<{ readonly xid: number }>("SELECT txid_current()::int4 AS xid")
    return row?.xid ?? 0
  }).pipe(
    Effect.provide(Layer.fresh(Layer.provideMerge(SqlStores.layer, EmptyPglite.migratedLayer))),
    Effect.scoped
  )

const written = `INSERT INTO troupe.runs (run_id, tenant, epoch, length, status)
  VALUES (gen_random_uuid(), 'default', 0, 0, nextval('troupe.outbox_place'))`

it.effect(
  "a database that a test has written to is emptied for the next one, which loads none",
  () =>
    Effect.gen(function* () {
      const first = yield* used(written)
      const next = yield* used(
        `DO $$ BEGIN
        IF EXISTS (SELECT FROM troupe.runs) OR nextval('troupe.outbox_place') <> 1 THEN RAISE 'it is not empty'; END IF;
      END $$`
      )
      assert.isAbove(next, first)
    })
)

it.effect("a database without a schema is used again, without what a test has made in it", () =>
  Effect.gen(function* () {
    const transaction = (statement: string) =>
      SqlClient.SqlClient.use((sql) =>
        Effect.andThen(
          sql.unsafe(statement),
          sql.unsafe<{ readonly xid: number }>("SELECT txid_current()::int4 AS xid")
        )
      ).pipe(Effect.provide(Layer.fresh(EmptyPglite.layer)), Effect.scoped)
    const made = "CREATE SCHEMA mine CREATE TABLE rows (id int4) CREATE TABLE others (id int4)"
    const [first] = yield* transaction(made)
    const [next] = yield* transaction(made)
    assert.isAbove(next!.xid, first!.xid)
  })
)

const changes = [
  ["changed function", "ALTER FUNCTION troupe.is_sought(text) COST 7"],
  ["table", "CREATE TABLE public.left (id int4)"],
  ["role", "CREATE ROLE somebody"],
  ["grant", "GRANT SELECT ON troupe.processes TO pg_monitor"]
] as const

for (const [what, statement] of changes) {
  it.effect(`a database with another ${what} than at first is not used again`, () =>
    Effect.gen(function* () {
      const first = yield* used(statement)
      assert.isBelow(yield* used(), first)
    })
  )
}
