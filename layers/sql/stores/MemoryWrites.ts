/**
 * Writes memories in SQL. Each write runs in a transaction that locks the scope first, so that rows are counted and superseded
 * one at a time. `memory_words` has the words of live rows only: those of a superseded or undone row are removed from it.
 */
import { Clock, Effect, Schema } from "effect"
import { SqlError } from "effect/sql"
import type { SqlClient } from "effect/sql"
import type { EndedScope, RowReference } from "../../../services/MemoryStore.ts"
import { rows_max } from "../../../services/MemoryStore.ts"
import type { MemoryRow, MemoryScope, NewMemoryRow } from "../../../src/memory/MemoryRow.ts"
import { isCurrent, MemoryId, MemoryRefused } from "../../../src/memory/MemoryRow.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction } from "../engine/SqlFailure.ts"
import { findRow, scopeValues, where_scope } from "./MemoryReads.ts"
import { inserted, typologies, valuesOf } from "./MemoryRows.ts"

type Sql = SqlClient.SqlClient

/** How often a transaction is repeated after the database aborted it in favour of another one. */
const retries_max = 5

const isGivenUp = (error: unknown): boolean =>
  SqlError.isSqlError(error) &&
  (error.reason._tag === "DeadlockError" || error.reason._tag === "SerializationError")

/**
 * Runs a transaction that writes memories. Two that lock several scopes may deadlock; the database aborts one of them, and it is
 * repeated up to 5 times.
 */
export const inMemoryTransaction =
  (sql: Sql) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
    Effect.retry(inTransaction(sql)(self), { times: retries_max, while: isGivenUp })

const decodeInserted = rowDecoder(
  Schema.Struct({ id: MemoryId, position: Schema.BigInt }),
  "new memories"
)
const decodeHomes = rowDecoder(
  Schema.Struct({
    id: Schema.BigInt,
    rows: Schema.Int,
    place: Schema.String,
    session: Schema.String
  }),
  "scopes of memories"
)
const decodePositions = rowDecoder(Schema.Struct({ position: Schema.BigInt }), "memories")

const refused = (reason: MemoryRefused["reason"], message: string) =>
  new MemoryRefused({ reason, message })

/** The positions of the rows that the statement returns. */
const positions = (sql: Sql, text: string, params: ReadonlyArray<unknown>) =>
  Effect.map(Effect.flatMap(sql.unsafe(text, params), decodePositions), (rows) =>
    rows.map(({ position }) => String(position))
  )

/** Adds the words of those of the rows that are live to the index. */
const index = (sql: Sql, rows: ReadonlyArray<string>) =>
  sql.unsafe(
    `INSERT INTO troupe.memory_words (scope, word, position)
     SELECT r.scope, w.word, r.position FROM troupe.memory_rows r CROSS JOIN unnest(r.words) AS w(word)
     WHERE r.position = ANY ($1::int8[]) AND r.superseded_by IS NULL AND r.undone_by IS NULL`,
    [rows]
  )

/** Removes the words of these rows from the index. */
const unindex = (sql: Sql, rows: ReadonlyArray<string>) =>
  sql.unsafe(
    `DELETE FROM troupe.memory_words w USING troupe.memory_rows r
     WHERE r.position = ANY ($1::int8[]) AND w.scope = r.scope AND w.word = ANY (r.words) AND w.position = r.position`,
    [rows]
  )

/** Locks the scope, which it creates if necessary, and adds `count` to its number of rows. */
const enter = (
  sql: Sql,
  scope: MemoryScope & Pick<MemoryRow, "place" | "session" | "at">,
  count: number
) =>
  Effect.flatMap(
    Effect.flatMap(
      sql.unsafe(
        `INSERT INTO troupe.memory_scopes AS s (anchor, agent, tier, tenant, place, session, rows, touched_at)
         VALUES ($1::text, $2::text, $3::int2, $4::text, $5::text, $6::text, $7::int4, $8::int8)
         ON CONFLICT (anchor, agent, tier, tenant)
         DO UPDATE SET rows = s.rows + excluded.rows, touched_at = greatest(s.touched_at, excluded.touched_at)
         RETURNING id, rows, place, session`,
        [...scopeValues(scope), scope.place, scope.session, count, scope.at]
      ),
      decodeHomes
    ),
    ([home]) =>
      home === undefined ? Effect.die(new Error("a scope was not written")) : Effect.succeed(home)
  )

const supersede = Effect.fnUntraced(function* (
  sql: Sql,
  home: bigint,
  older: MemoryId,
  by: MemoryId
) {
  const found = yield* positions(
    sql,
    `UPDATE troupe.memory_rows SET superseded_by = $1::uuid WHERE id = $2::uuid AND scope = $3::int8
       AND superseded_by IS NULL AND undone_by IS NULL RETURNING position`,
    [by, older, String(home)]
  )
  if (found.length === 0) {
    return yield* refused("superseded", "there is no such row to supersede, or it has a successor")
  }
  yield* unindex(sql, found)
})

export const addRow = Effect.fnUntraced(function* (sql: Sql, row: NewMemoryRow) {
  const { tier } = row
  const home = yield* enter(sql, row, 1)
  if (home.rows > rows_max[tier]) {
    return yield* refused("full", `the ${tier} tier holds ${rows_max[tier]} rows already`)
  }
  const [added] = yield* Effect.flatMap(
    sql.unsafe(inserted, [...valuesOf(row), String(home.id)]),
    decodeInserted
  )
  if (added === undefined) return yield* Effect.die(new Error("a memory was not written"))
  if (row.supersedes !== undefined) yield* supersede(sql, home.id, row.supersedes, added.id)
  yield* index(sql, [String(added.position)])
  const stored: MemoryRow = { ...row, id: added.id, seen: 1 }
  return stored
})

export const undoRow = Effect.fnUntraced(function* (sql: Sql, wanted: RowReference, by: string) {
  const row = yield* findRow(sql, wanted, true)
  if (row === undefined) return yield* refused("superseded", "there is no such row")
  if (row.superseded_by !== undefined) {
    return yield* refused("superseded", "the row has a successor")
  }
  if (!isCurrent(row)) return row
  const gone = yield* positions(
    sql,
    `UPDATE troupe.memory_rows SET undone_by = $2::text WHERE id = $1::uuid RETURNING position`,
    [wanted.id, by]
  )
  yield* unindex(sql, gone)
  const restored = yield* positions(
    sql,
    `UPDATE troupe.memory_rows SET superseded_by = NULL WHERE id = $1::uuid AND superseded_by = $2::uuid RETURNING position`,
    [row.supersedes ?? null, wanted.id]
  )
  yield* index(sql, restored)
  const undone: MemoryRow = { ...row, undone_by: by }
  return undone
})

/** Removes rows and their words in the index, and the scopes that have no rows left. */
export const removeRows = Effect.fnUntraced(function* (sql: Sql, rows: ReadonlyArray<string>) {
  if (rows.length === 0) return
  // The scope is locked before its rows, as by every other writer.
  yield* sql.unsafe(
    `SELECT FROM troupe.memory_scopes s WHERE s.id IN (
       SELECT r.scope FROM troupe.memory_rows r WHERE r.position = ANY ($1::int8[])) ORDER BY s.id FOR UPDATE`,
    [rows]
  )
  yield* unindex(sql, rows)
  const homes = yield* Effect.flatMap(
    sql.unsafe(
      `WITH gone AS (DELETE FROM troupe.memory_rows r WHERE r.position = ANY ($1::int8[]) RETURNING r.scope),
       fewer AS (SELECT g.scope, count(*)::int4 AS rows FROM gone g GROUP BY g.scope)
       UPDATE troupe.memory_scopes s SET rows = s.rows - f.rows FROM fewer f WHERE s.id = f.scope
       RETURNING s.id, s.rows, s.place, s.session`,
      [rows]
    ),
    decodeHomes
  )
  const empty = homes.filter(({ rows }) => rows <= 0).map(({ id }) => String(id))
  yield* sql.unsafe(`DELETE FROM troupe.memory_scopes s WHERE s.id = ANY ($1::int8[])`, [empty])
})

export const compoundScope = Effect.fnUntraced(function* (
  sql: Sql,
  { from, promoted, repeated, seen, to }: EndedScope
) {
  const [old] = yield* Effect.flatMap(
    sql.unsafe(
      `SELECT s.id, s.rows, s.place, s.session FROM troupe.memory_scopes s WHERE ${where_scope} FOR UPDATE`,
      scopeValues(from)
    ),
    decodeHomes
  )
  if (old === undefined) return { promoted: 0, dropped: 0 }
  const { place, session } = old
  const at = yield* Clock.currentTimeMillis
  const home = yield* enter(sql, { ...to, place, session, at }, 0)
  const target = String(home.id)
  const all = yield* positions(
    sql,
    `SELECT r.position FROM troupe.memory_rows r WHERE r.scope = $1::int8
       AND ($2::uuid[] IS NULL OR r.id = ANY ($2::uuid[]) OR r.superseded_by IS NOT NULL OR r.undone_by IS NOT NULL)`,
    [String(old.id), seen ?? null]
  )
  yield* unindex(sql, all)
  const moved = yield* positions(
    sql,
    `UPDATE troupe.memory_rows r SET scope = $1::int8, typology = p.typology
     FROM (SELECT o.position, q.typology
       FROM unnest($2::uuid[], $3::int2[]) WITH ORDINALITY AS q(id, typology, place)
       JOIN troupe.memory_rows o ON o.id = q.id WHERE o.scope = $4::int8 ORDER BY q.place LIMIT $5::int4) p
     WHERE r.position = p.position RETURNING r.position`,
    [
      target,
      promoted.map(({ id }) => id),
      promoted.map(({ typology }) => typologies[typology]),
      String(old.id),
      Math.max(0, rows_max[to.tier] - home.rows)
    ]
  )
  yield* index(sql, moved)
  yield* sql.unsafe(
    `DELETE FROM troupe.memory_rows WHERE scope = $1::int8 AND position = ANY ($2::int8[])`,
    [String(old.id), all]
  )
  yield* sql.unsafe(`UPDATE troupe.memory_scopes SET rows = rows - $2::int4 WHERE id = $1::int8`, [
    String(old.id),
    all.length
  ])
  yield* sql.unsafe(
    `DELETE FROM troupe.memory_scopes s WHERE s.id = $1::int8
       AND NOT EXISTS (SELECT FROM troupe.memory_rows r WHERE r.scope = s.id)`,
    [String(old.id)]
  )
  yield* sql.unsafe(`UPDATE troupe.memory_scopes SET rows = rows + $2::int4 WHERE id = $1::int8`, [
    target,
    moved.length
  ])
  yield* sql.unsafe(
    `UPDATE troupe.memory_rows SET seen = seen + 1 WHERE id = ANY ($1::uuid[]) AND scope = $2::int8`,
    [repeated, target]
  )
  return { promoted: moved.length, dropped: all.length - moved.length }
})

/**
 * Removes the oldest persistent rows that were written before `before` (ms since 1970), at most `limit` (up to 1,000). Gives how
 * many it removed.
 */
export const expireRows = Effect.fnUntraced(function* (sql: Sql, before: number, limit: number) {
  const old = yield* positions(
    sql,
    `SELECT r.position FROM troupe.memory_rows r JOIN troupe.memory_scopes s ON s.id = r.scope
     WHERE r.at < $1::int8 AND s.tier = 2 ORDER BY r.at LIMIT $2::int4 FOR UPDATE OF s`,
    [before, Math.min(limit, 1_000)]
  )
  yield* removeRows(sql, old)
  return old.length
})
