/**
 * Memories and canonical texts in SQL. Those of one tenant are read with its database role, except by what writes them. A recall
 * finds the positions of its rows with the engine's rights, and reads the rows with the tenant's role.
 */
import { Effect, Layer } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { canonicals_max, MemoryStore } from "../../../services/MemoryStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { CanonicalText, comparedText } from "../../../src/memory/CanonicalText.ts"
import type { NewMemoryRow } from "../../../src/memory/MemoryRow.ts"
import { MemoryRefused } from "../../../src/memory/MemoryRow.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { eraseSubject } from "./MemoryErasure.ts"
import { candidateRows, findKey, findRow, listRows, runScopes, staleScopes } from "./MemoryReads.ts"
import { addRow, compoundScope, expireRows, inMemoryTransaction, undoRow } from "./MemoryWrites.ts"

/** The most runs of a conversation whose memories wait for the runs' end. */
const runs_max = 100

/**
 * The refusal of the database's trigger for copies of canonical texts, or undefined for another error. The trigger refuses where
 * the gateway did not see the canonical text, because it was registered in between.
 */
const refusedCopy = (error: SqlError.SqlError): MemoryRefused | undefined => {
  const { cause } = error.reason
  if (!(cause instanceof Error) || !("constraint" in cause)) return undefined
  if (cause.constraint !== "memory_canonical") return undefined
  const canonical = "detail" in cause && typeof cause.detail === "string" ? cause.detail : undefined
  return new MemoryRefused({
    reason: "canonical",
    message: "the text is a copy of a canonical text, or holds one",
    ...(canonical === undefined ? undefined : { canonical })
  })
}

/** Adds a row. If another transaction has meanwhile written a row with the same key, gives that row. */
const adder = (sql: SqlClient.SqlClient) =>
  Effect.fn("MemoryStore.add")(function* (row: NewMemoryRow) {
    const known = yield* findKey(sql, row)
    if (known !== undefined) return known
    return yield* Effect.catch(
      inMemoryTransaction(sql)(addRow(sql, row)),
      Effect.fnUntraced(function* (error: MemoryRefused | StoreError | SqlError.SqlError) {
        if (!SqlError.isSqlError(error)) return yield* error
        const other = error.reason._tag === "UniqueViolation" ? yield* findKey(sql, row) : undefined
        if (other !== undefined) return other
        return yield* refusedCopy(error) ?? error
      })
    )
  }, Effect.mapError(orStoreError))

const decodeCanonicals = rowDecoder(CanonicalText, "canonical texts")

const canonicalTexts = (sql: SqlClient.SqlClient, reads: TenantReads["Service"]) => ({
  register: Effect.fn("MemoryStore.register")(function* ({
    name,
    place,
    tenant,
    text,
    threshold
  }: CanonicalText) {
    const { trigrams, words } = comparedText({ name, text, threshold })
    const written = yield* sql.unsafe(
      `INSERT INTO troupe.memory_canonical_texts (tenant, place, name, text, threshold, words, trigrams)
         SELECT $1::text, $2::text, $3::text, $4::text, $5::float8, $6::int4, $7::text[] WHERE EXISTS (
             SELECT FROM troupe.memory_canonical_texts c WHERE c.tenant = $1::text AND c.place = $2::text AND c.name = $3::text)
           OR (SELECT count(*) FROM troupe.memory_canonical_texts c WHERE c.tenant = $1::text AND c.place = $2::text)
             < ${canonicals_max}
         ON CONFLICT (place, name, tenant) DO UPDATE SET text = excluded.text, threshold = excluded.threshold,
           words = excluded.words, trigrams = excluded.trigrams RETURNING 1`,
      [tenant, place, name, text, threshold, words, [...trigrams]]
    )
    if (written.length > 0) return
    const message = `a place has at most ${canonicals_max} canonical texts`
    return yield* new MemoryRefused({ reason: "full", message })
  }, Effect.mapError(orStoreError)),
  unregister: (tenant: Tenant, place: string, name: string) =>
    Effect.mapBoth(
      sql.unsafe(
        `DELETE FROM troupe.memory_canonical_texts WHERE place = $1::text AND name = $2::text AND tenant = $3::text`,
        [place, name, tenant]
      ),
      { onSuccess: () => undefined, onFailure: orStoreError }
    ),
  canonicals: (tenant: Tenant, place: string) =>
    sql
      .unsafe(
        `SELECT tenant, place, name, text, threshold FROM troupe.memory_canonical_texts
         WHERE place = $1::text AND tenant = $2::text LIMIT ${canonicals_max}`,
        [place, tenant]
      )
      .pipe(
        reads.of(tenant),
        Effect.flatMap(decodeCanonicals),
        Effect.mapError(orStoreError),
        // They are sorted in JavaScript, because the database's collation is another one.
        Effect.map((texts) => [...texts].sort((a, b) => (a.name < b.name ? -1 : 1)))
      )
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  const atomic = inMemoryTransaction(sql)
  return MemoryStore.of({
    ...canonicalTexts(sql, reads),
    add: adder(sql),
    repeat: ({ agent, id, tenant }) =>
      Effect.mapBoth(
        sql.unsafe(
          `UPDATE troupe.memory_rows SET seen = seen + 1 WHERE id = $1::uuid AND tenant = $2::text AND agent = $3::text`,
          [id, tenant, agent]
        ),
        { onSuccess: () => undefined, onFailure: orStoreError }
      ),
    get: (place) => Effect.mapError(reads.of(place.tenant)(findRow(sql, place)), orStoreError),
    candidates: (scopes, words) =>
      Effect.mapError(candidateRows(sql, reads, scopes, words), orStoreError),
    list: (scope, page) =>
      Effect.mapError(reads.of(scope.tenant)(listRows(sql, scope, page)), orStoreError),
    undo: (place, by) => Effect.mapError(atomic(undoRow(sql, place, by)), orStoreError),
    compound: (ended) => Effect.mapError(atomic(compoundScope(sql, ended)), orStoreError),
    interactions: (scope) =>
      Effect.mapError(reads.of(scope.tenant)(runScopes(sql, scope, runs_max)), orStoreError),
    stale: (tier, before, limit) =>
      Effect.mapError(staleScopes(sql, tier, before, limit), orStoreError),
    expire: (before, limit) =>
      Effect.mapError(atomic(expireRows(sql, before, limit)), orStoreError),
    erase: (tenant, subject) => Effect.mapError(eraseSubject(sql, tenant, subject), orStoreError)
  })
})

export const layer: Layer.Layer<MemoryStore, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(MemoryStore, make)
