/**
 * Which calls hold the keys of conversations and tenants, in SQL. A reservation is one statement in the transaction of its call's
 * dispatch, so that neither is without the other, and the unique index has a second one wait for the first.
 */
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { IdempotencyKeys } from "../../../services/IdempotencyKeys.ts"
import { CallId, RunId } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"

/** The most expired keys that a reservation removes: more than it adds, so that none are left in the end. */
const removed_max = 4

const decodeHolders = rowDecoder(
  Schema.Struct({
    run: RunId,
    call: CallId,
    seq: Schema.Int,
    asked: Schema.String,
    at: Schema.NumberFromString
  }),
  "holders of keys"
)

/** A key that was freed is asked for by any call: who freed it stands in place of the digest, which is never an object. */
const freedIn = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ by: Schema.String, at: Schema.Int }))
)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return IdempotencyKeys.of({
    find: (tenant, key, now) =>
      sql
        .unsafe(
          `SELECT k.run_id::text AS run, k.call, k.seq, k.asked, k.at::text AS at FROM troupe.idempotency_keys k
           WHERE k.tenant = $1::text AND k.key = $2::text AND k.expires_at > $3::text::int8`,
          [tenant, key, String(now)]
        )
        .pipe(
          Effect.flatMap(decodeHolders),
          Effect.map(([holder]) =>
            holder === undefined
              ? undefined
              : { ...holder, freed: Option.getOrUndefined(freedIn(holder.asked)) }
          ),
          Effect.mapError(orStoreError)
        ),
    reserve: ({ asked, at, call, expires_at, key, run, seq, tenant }, over) =>
      Effect.gen(function* () {
        const rows = yield* sql.unsafe(
          `INSERT INTO troupe.idempotency_keys AS k (tenant, key, run_id, call, seq, asked, at, expires_at)
           VALUES ($1::text, $2::text, $3::text::uuid, $4::text, $5::int4, $6::text, $7::text::int8, $8::text::int8)
           ON CONFLICT (tenant, key) DO UPDATE SET (run_id, call, seq, asked, at, expires_at)
             = (excluded.run_id, excluded.call, excluded.seq, excluded.asked, excluded.at, excluded.expires_at)
           WHERE k.expires_at <= excluded.at OR (k.run_id = excluded.run_id AND k.call = excluded.call)
             OR (k.run_id = $9::text::uuid AND k.call = $10::text AND k.seq = $11::int4)
           RETURNING 1 AS reserved`,
          [
            tenant,
            key,
            run,
            call,
            seq,
            asked,
            String(at),
            String(expires_at),
            over?.run ?? null,
            over?.call ?? null,
            over?.seq ?? null
          ]
        )
        yield* sql.unsafe(
          `DELETE FROM troupe.idempotency_keys k USING (
             SELECT e.tenant, e.key FROM troupe.idempotency_keys e WHERE e.expires_at <= $1::text::int8
             ORDER BY e.expires_at LIMIT ${removed_max} FOR UPDATE SKIP LOCKED) old
           WHERE k.tenant = old.tenant AND k.key = old.key`,
          [String(at)]
        )
        return rows.length > 0
      }).pipe(Effect.mapError(orStoreError)),
    free: ({ call, run, tenant }, { at, by }) =>
      sql
        .unsafe(
          `UPDATE troupe.idempotency_keys k SET asked = $4::text
           WHERE k.tenant = $1::text AND k.run_id = $2::text::uuid AND k.call = $3::text
             AND k.expires_at > $5::text::int8 AND k.asked NOT LIKE '{%'
           RETURNING 1 AS freed`,
          [tenant, run, call, JSON.stringify({ by, at }), String(at)]
        )
        .pipe(
          Effect.map((rows) => rows.length > 0),
          Effect.mapError(orStoreError)
        )
  })
})

export const layer: Layer.Layer<IdempotencyKeys, never, SqlClient.SqlClient> = Layer.effect(
  IdempotencyKeys,
  make
)
