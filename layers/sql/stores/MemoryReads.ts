/**
 * Reads memories in SQL: single rows, pages, candidates for a recall, and scopes that wait for their end.
 */
import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { MemoryPage, RowReference, StaleScope } from "../../../services/MemoryStore.ts"
import { candidates_max, ofOneTenant, page_max } from "../../../services/MemoryStore.ts"
import { AgentName, Tenant } from "../../../src/value/Ids.ts"
import type { MemoryScope, MemoryTier, NewMemoryRow } from "../../../src/memory/MemoryRow.ts"
import { query_words_max } from "../../../src/memory/SearchWords.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { storedStatus } from "../engine/StoredStatus.ts"
import type { TenantReads } from "../engine/TenantReads.ts"
import { columns, joined, readRows, tiers } from "./MemoryRows.ts"

export const where_scope =
  "s.anchor = $1::text AND s.agent = $2::text AND s.tier = $3::int2 AND s.tenant = $4::text"

/** The values of the first four parameters of a statement with `where_scope`. */
export const scopeValues = ({ agent, anchor, tenant, tier }: MemoryScope): Array<unknown> => [
  anchor,
  agent,
  tiers[tier],
  tenant
]

const rowsOf = (sql: SqlClient.SqlClient, text: string, params: ReadonlyArray<unknown>) =>
  Effect.flatMap(sql.unsafe(text, params), readRows)

/** The row, or undefined. `lock` locks the row and its scope, so that nobody else writes there. */
export const findRow = (
  sql: SqlClient.SqlClient,
  { agent, id, tenant }: RowReference,
  lock = false
) =>
  Effect.map(
    rowsOf(
      sql,
      `SELECT ${columns} FROM ${joined} WHERE r.id = $1::uuid AND r.tenant = $2::text AND r.agent = $3::text
       ${lock ? "FOR UPDATE OF s, r" : ""}`,
      [id, tenant, agent]
    ),
    ([row]) => row
  )

export const findKey = (sql: SqlClient.SqlClient, { agent, key, tenant }: NewMemoryRow) =>
  key === undefined
    ? Effect.succeed(undefined)
    : Effect.map(
        rowsOf(
          sql,
          `SELECT ${columns} FROM ${joined} WHERE r.key = $1::text AND r.agent = $2::text AND r.tenant = $3::text`,
          [key, agent, tenant]
        ),
        ([row]) => row
      )

export const listRows = (
  sql: SqlClient.SqlClient,
  scope: MemoryScope,
  { after, all = false, limit }: MemoryPage
) =>
  rowsOf(
    sql,
    `SELECT ${columns} FROM ${joined} WHERE ${where_scope}
       ${all ? "" : "AND r.superseded_by IS NULL AND r.undone_by IS NULL"}
       ${after === undefined ? "" : "AND r.position < (SELECT p.position FROM troupe.memory_rows p WHERE p.id = $6::uuid)"}
     ORDER BY r.position DESC LIMIT $5::int4`,
    [
      ...scopeValues(scope),
      Math.min(Math.max(limit, 0), page_max),
      ...(after === undefined ? [] : [after])
    ]
  )

/**
 * Finds the positions of a recall's candidates, and nothing else about them. Candidates are the newest rows of each scope, and
 * for each word the newest rows of each scope that have it; a row counts more the fewer rows its word was found in. Each is found
 * by an index of bounded length, however many rows a scope has. This statement runs with the engine's rights: row security would
 * look up the tenant for each of 1,500 words of a scope, and a recall would take twice as long (bench row `recall`).
 */
const find_statement = `WITH home AS MATERIALIZED (
    SELECT s.id FROM unnest($1::text[], $2::text[], $3::int2[]) AS w(anchor, agent, tier)
    JOIN troupe.memory_scopes s ON s.anchor = w.anchor AND s.agent = w.agent AND s.tier = w.tier AND s.tenant = $4::text),
  found AS (
    SELECT f.position, 1.0::float8 / count(*) OVER (PARTITION BY h.id, q.word) AS worth
    FROM home h CROSS JOIN unnest($5::text[]) AS q(word) CROSS JOIN LATERAL (
      SELECT w.position FROM troupe.memory_words w WHERE w.scope = h.id AND w.word = q.word
      ORDER BY w.position DESC LIMIT ${candidates_max.of_word}) f),
  best AS (
    SELECT f.position FROM found f GROUP BY f.position
    ORDER BY sum(f.worth) DESC, f.position DESC LIMIT ${candidates_max.all}),
  newest AS (
    SELECT n.position FROM home h CROSS JOIN LATERAL (
      SELECT r.position FROM troupe.memory_rows r
      WHERE r.scope = h.id AND r.superseded_by IS NULL AND r.undone_by IS NULL
      ORDER BY r.position DESC LIMIT ${candidates_max.newest}) n)
  SELECT string_agg(c.position::text, ',') AS positions FROM (SELECT position FROM best UNION SELECT position FROM newest) c`

/**
 * Reads the found rows that are still live and in these scopes: each of the two statements sees what others have written before
 * it.
 */
const found_rows = `SELECT ${columns} FROM ${joined}
  WHERE r.position = ANY (string_to_array($5::text, ',')::int8[]) AND r.superseded_by IS NULL AND r.undone_by IS NULL AND s.tenant = $4::text
    AND EXISTS (SELECT FROM unnest($1::text[], $2::text[], $3::int2[]) AS w(anchor, agent, tier)
      WHERE w.anchor = s.anchor AND w.agent = s.agent AND w.tier = s.tier)`

const decodeFound = rowDecoder(
  Schema.Struct({ positions: Schema.NullOr(Schema.String) }),
  "places of memories"
)

export const candidateRows = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  reads: TenantReads["Service"],
  scopes: ReadonlyArray<MemoryScope>,
  words: ReadonlyArray<string>
) {
  const wanted = ofOneTenant(scopes)
  const [first] = wanted
  if (first === undefined) return []
  const values = [
    wanted.map(({ anchor }) => anchor),
    wanted.map(({ agent }) => agent),
    wanted.map(({ tier }) => tiers[tier]),
    first.tenant
  ]
  const [found] = yield* Effect.flatMap(
    sql.unsafe(find_statement, [...values, words.slice(0, query_words_max)]),
    decodeFound
  )
  const positions = found?.positions ?? null
  if (positions === null) return []
  return yield* reads.of(first.tenant)(rowsOf(sql, found_rows, [...values, positions]))
})

const ScopeRow = Schema.Struct({
  tenant: Tenant,
  agent: AgentName,
  tier: storedStatus(tiers),
  anchor: Schema.String,
  place: Schema.String,
  session: Schema.String
})
const decodeScopes = rowDecoder(ScopeRow, "scopes of memories")

const scopesOf = (sql: SqlClient.SqlClient, where: string, params: ReadonlyArray<unknown>) =>
  Effect.map(
    Effect.flatMap(
      sql.unsafe(
        `SELECT s.tenant, s.agent, s.tier, s.anchor, s.place, s.session FROM troupe.memory_scopes s WHERE ${where}`,
        params
      ),
      decodeScopes
    ),
    (rows) =>
      rows.map(({ place, session, ...scope }): StaleScope => ({
        scope,
        place,
        session
      }))
  )

export const runScopes = (
  sql: SqlClient.SqlClient,
  { agent, anchor, tenant }: MemoryScope,
  limit: number
) =>
  Effect.map(
    scopesOf(
      sql,
      `s.session = $1::text AND s.agent = $2::text AND s.tenant = $3::text AND s.tier = 0
       ORDER BY s.touched_at LIMIT $4::int4`,
      [anchor, agent, tenant, limit]
    ),
    (found) => found.map(({ scope }) => scope)
  )

/**
 * True unless the scope belongs to a run that is not over; the anchor of a run's scope is the run's id. Statuses: 3 complete, 4
 * failed, 5 cancelled, and the same plus 100 in quarantine.
 */
const is_over = `NOT EXISTS (SELECT FROM troupe.runs u WHERE s.tier = 0 AND u.status NOT IN (3, 4, 5, 103, 104, 105)
  AND u.run_id = CASE WHEN s.anchor ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN s.anchor::uuid END)`

export const staleScopes = (
  sql: SqlClient.SqlClient,
  tier: MemoryTier,
  before: number,
  limit: number
) =>
  scopesOf(
    sql,
    `s.tier = $1::int2 AND s.touched_at < $2::int8 AND ${is_over} ORDER BY s.touched_at LIMIT $3::int4`,
    [tiers[tier], before, Math.min(limit, page_max)]
  )
