/** The record of an erasure while it goes on, and the digests of its marks. Private to this room. */
import { createHmac, randomBytes, randomUUID } from "node:crypto"
import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { ErasureId } from "../../../src/erasure/Erasure.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import type { ErasedCounts } from "./ErasedCounts.ts"

/** Digests with a random key, in hex, that is not stored. */
export const keyedDigest = () => {
  const key = randomBytes(32)
  const digest = (text: string) => createHmac("sha256", key).update(text).digest("hex")
  return { key: key.toString("hex"), digest }
}

/**
 * Writes the record of an erasure that begins. `end` writes what was erased so far, and when it ended (ms since 1970); null = it
 * failed.
 */
export const beginRecord = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  of: {
    readonly tenant: Tenant
    readonly by: string
    readonly via?: string
    /** The digest of what is erased. */
    readonly subject: string
    readonly what?: "conversation"
    readonly counts: ErasedCounts
  }
) {
  const { by, counts, subject, tenant, via, what } = of
  const id = ErasureId.make(randomUUID())
  const at = yield* Clock.currentTimeMillis
  yield* sql.unsafe(
    `INSERT INTO troupe.erasures (id, tenant, subject, of_what, by, via, at)
     VALUES ($1::text::uuid, $2::text, $3::text, $4::text, $5::text, $6::text, $7::int8)`,
    [
      id,
      tenant,
      subject,
      what ?? null,
      JSON.stringify(by),
      via === undefined ? null : JSON.stringify(via),
      at
    ]
  )
  return {
    begun: { id, tenant, subject, by, at },
    end: (ended_at: number | null) =>
      sql.unsafe(
        `UPDATE troupe.erasures SET ended_at = $2::int8, erased = $3::text WHERE id = $1::text::uuid`,
        [id, ended_at, JSON.stringify(counts.all)]
      )
  }
})
