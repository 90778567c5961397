/**
 * The knowledge graph in SQL. A publication is one statement, so that it is written whole or not at all. In an ambient
 * transaction it commits with that.
 */
import { createHash } from "node:crypto"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { TriplePublisher } from "../../../services/semstreams/TriplePublisher.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import { triplesRefusal, triples_max } from "../../../src/semstreams/Triple.ts"
import type { Triple } from "../../../src/semstreams/Triple.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { StoredText } from "../engine/StoredText.ts"

const decodeTriples = rowDecoder(
  Schema.Struct({
    predicate: StoredText,
    object: StoredText,
    source: StoredText,
    said_at: StoredText,
    confidence: Schema.Number
  }),
  "triples"
)

/** The digest by which two facts about a subject count as the same: SHA-256 of predicate, object and source, in hex. */
const digestOf = ({ object, predicate, source }: Triple): string =>
  createHash("sha256")
    .update(canonical([predicate, object, source]))
    .digest("hex")

const add = (sql: SqlClient.SqlClient, tenant: Tenant, triples: ReadonlyArray<Triple>) =>
  sql.unsafe(
    `INSERT INTO troupe.triples (tenant, subject, digest, predicate, object, source, said_at, confidence)
     SELECT $1::text, t.subject, decode(t.digest, 'hex'), t.predicate, t.object, t.source, t.said_at, t.confidence
     FROM ROWS FROM (
       json_to_recordset($2::text::json) AS (subject text, digest text, predicate text, object text, source text, said_at text, confidence float8)
     ) WITH ORDINALITY AS t (subject, digest, predicate, object, source, said_at, confidence, place)
     ORDER BY t.place ON CONFLICT DO NOTHING`,
    [
      tenant,
      // Each text is JSON inside JSON, because texts are stored as JSON text, which can contain any character.
      JSON.stringify(
        triples.map((triple) => ({
          subject: JSON.stringify(triple.subject),
          digest: digestOf(triple),
          predicate: JSON.stringify(triple.predicate),
          object: JSON.stringify(triple.object),
          source: JSON.stringify(triple.source),
          said_at: JSON.stringify(triple.timestamp),
          confidence: triple.confidence
        }))
      )
    ]
  )

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  return TriplePublisher.of({
    addAll: Effect.fn("TriplePublisher.addAll")(function* (tenant, triples) {
      const refused = triplesRefusal(triples)
      if (refused !== undefined) return yield* refused
      if (triples.length === 0) return
      yield* Effect.mapError(add(sql, tenant, triples), toStoreError)
    }),
    about: Effect.fn("TriplePublisher.about")((tenant, subject, limit) =>
      sql
        .unsafe(
          `SELECT predicate, object, source, said_at, confidence FROM troupe.triples
           WHERE tenant = $1::text AND subject = $2::text ORDER BY position LIMIT $3::int4`,
          [tenant, JSON.stringify(subject), Math.min(limit, triples_max)]
        )
        .pipe(
          reads.of(tenant),
          Effect.flatMap(decodeTriples),
          Effect.mapBoth({
            onSuccess: (rows) =>
              rows.map(({ said_at, ...row }): Triple => ({ subject, ...row, timestamp: said_at })),
            onFailure: orStoreError
          })
        )
    )
  })
})

export const layer: Layer.Layer<TriplePublisher, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(TriplePublisher, make)
