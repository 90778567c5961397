/**
 * The bytes of files in SQL. Every change is a transaction that locks the row of the tenant's total.
 */
import { createHash } from "node:crypto"
import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { BlobHolder, BlobLabel, BlobShare, HeldBlob } from "../../../services/BlobStore.ts"
import { BlobStore } from "../../../services/BlobStore.ts"
import type { StoreError } from "../../../services/StoreError.ts"
import {
  FileDigest,
  FileName,
  FileNotFound,
  FilesFull,
  MediaType
} from "../../../src/conversation/Part.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction, orStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const held_max = 100
const collected_max = 1_000

const decodeTotals = rowDecoder(Schema.Struct({ bytes: Schema.Number }), "totals of files")
const decodeShares = rowDecoder(
  Schema.Struct({ customer: Schema.String, bytes: Schema.Number }),
  "shares of files"
)
const decodeRemoved = rowDecoder(
  Schema.Struct({ size: Schema.Number, charged_to: Schema.NullOr(Schema.String) }),
  "sizes of files"
)
const decodeSizes = rowDecoder(Schema.Struct({ size: Schema.Number }), "sizes of files")
const decodeBytes = rowDecoder(Schema.Struct({ bytes: Schema.Uint8Array }), "bytes of files")
const decodeDigests = rowDecoder(Schema.Struct({ digest: Schema.String }), "digests of files")
const decodeUnsure = rowDecoder(
  Schema.Struct({ tenant: Tenant, digest: Schema.String, holder: Schema.String }),
  "names of files"
)
const decodeHeld = rowDecoder(
  Schema.Struct({
    digest: FileDigest,
    media_type: MediaType,
    name: Schema.NullOr(FileName),
    size: Schema.Number,
    held_as: Schema.Literals(["upload", "message", "result", "answer"])
  }),
  "names of files"
)

const holderText = (holder: BlobHolder): string =>
  "run" in holder ? `${holder.run}/${holder.as}` : JSON.stringify(holder.uploaded_by)

type Failure = SqlError.SqlError | StoreError

/** Locks the tenant's files until the transaction ends. Gives the sum of their sizes, in bytes. */
const lock = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant
): Effect.fn.Return<number, Failure> {
  yield* sql.unsafe(
    "INSERT INTO troupe.blob_totals (tenant, bytes) VALUES ($1::text, 0) ON CONFLICT DO NOTHING",
    [tenant]
  )
  const rows = yield* sql.unsafe(
    "SELECT bytes::float8 AS bytes FROM troupe.blob_totals WHERE tenant = $1::text FOR UPDATE",
    [tenant]
  )
  const [total] = yield* decodeTotals(rows)
  return total?.bytes ?? 0
})

/** Changes what the tenant has, and the customers with these keys. */
const add = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  bytes: number,
  charged: ReadonlyMap<string, number>
) {
  yield* sql.unsafe(
    "UPDATE troupe.blob_totals SET bytes = bytes + $2::text::int8 WHERE tenant = $1::text",
    [tenant, String(bytes)]
  )
  if (charged.size === 0) return
  let all = 0
  for (const each of charged.values()) all += each
  const shares = [...charged, [all_customers, all] as const]
  const params = [tenant, shares.map(([key]) => key), shares.map(([, each]) => String(each))]
  yield* sql.unsafe(
    `INSERT INTO troupe.blob_shares AS s (tenant, customer, bytes)
     SELECT $1::text, c, b::int8 FROM unnest($2::text[], $3::text[]) AS n(c, b)
     ON CONFLICT (customer, tenant) DO UPDATE SET bytes = s.bytes + excluded.bytes`,
    params
  )
  yield* sql.unsafe("DELETE FROM troupe.blob_shares WHERE tenant = $1::text AND bytes = 0", [
    tenant
  ])
})

/** The key of all customers of a tenant together. */
const all_customers = ""

/** The key of a customer, which does not say who it is. */
const keyOf = (customer: string): string => createHash("sha256").update(customer).digest("hex")

/** Why so many new bytes do not fit; undefined = they do. The tenant's files are locked. */
const refusal = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  bytes: number,
  share: BlobShare | undefined
): Effect.fn.Return<FilesFull | undefined, Failure> {
  if (share === undefined) return undefined
  const { bytes_max, customer, customers_bytes_max } = share
  const key = keyOf(customer)
  const rows = yield* sql.unsafe(
    `SELECT customer, bytes::float8 AS bytes FROM troupe.blob_shares
     WHERE tenant = $1::text AND customer = ANY ($2::text[])`,
    [tenant, [key, all_customers]]
  )
  const taken = new Map(
    (yield* decodeShares(rows)).map((row) => [row.customer, row.bytes] as const)
  )
  if ((taken.get(key) ?? 0) + bytes > bytes_max) {
    return new FilesFull({ bytes_max, share: "customer" })
  }
  return (taken.get(all_customers) ?? 0) + bytes > customers_bytes_max
    ? new FilesFull({ bytes_max: customers_bytes_max, share: "customers" })
    : undefined
})

const sizeOf = (sql: SqlClient.SqlClient, tenant: Tenant, digest: string) =>
  Effect.map(
    Effect.flatMap(
      sql.unsafe(
        "SELECT size::float8 AS size FROM troupe.blobs WHERE digest = $2::text AND tenant = $1::text",
        [tenant, digest]
      ),
      decodeSizes
    ),
    ([row]) => row?.size
  )

/** Records that the holder uses the file, as unsure. A use that is sure already stays as it is. */
const name = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  label: BlobLabel,
  holder: BlobHolder
) {
  const at = yield* Clock.currentTimeMillis
  const isRun = "run" in holder
  yield* sql.unsafe(
    `INSERT INTO troupe.blob_uses (tenant, digest, holder, run, conversation, held_as, media_type, name, at)
     VALUES ($1::text, $2::text, $3::text, $4::text::uuid, $5::text, $6::text, $7::text, $8::text, $9::text::int8)
     ON CONFLICT (digest, holder, tenant) DO UPDATE
       SET media_type = excluded.media_type, name = excluded.name, at = excluded.at WHERE blob_uses.unsure`,
    [
      tenant,
      label.digest,
      holderText(holder),
      isRun ? holder.run : null,
      isRun ? holder.conversation : null,
      isRun ? holder.as : "upload",
      label.media_type,
      label.name ?? null,
      String(at)
    ]
  )
})

/** Removes those of these files that nothing uses any more. */
const removeUnnamed = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  digests: ReadonlyArray<string>
) {
  if (digests.length === 0) return
  const rows = yield* sql.unsafe(
    `DELETE FROM troupe.blobs b WHERE b.tenant = $1::text AND b.digest = ANY ($2::text[])
       AND NOT EXISTS (SELECT 1 FROM troupe.blob_uses u WHERE u.digest = b.digest AND u.tenant = b.tenant)
     RETURNING size::float8 AS size, charged_to`,
    [tenant, digests]
  )
  let bytes = 0
  const charged = new Map<string, number>()
  for (const { charged_to, size } of yield* decodeRemoved(rows)) {
    bytes -= size
    if (charged_to !== null) charged.set(charged_to, (charged.get(charged_to) ?? 0) - size)
  }
  yield* add(sql, tenant, bytes, charged)
})

/** Settles the tenant's unsure uses among these: those by runs that were accepted become sure, and the others are deleted. */
const settle = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  names: ReadonlyArray<{ readonly digest: string; readonly holder: string }>,
  before: string
) {
  yield* lock(sql, tenant)
  const [digests, holders] = [names.map(({ digest }) => digest), names.map(({ holder }) => holder)]
  const params = [tenant, digests, holders, before]
  // The time is checked again, because a use may have been renewed since it was found.
  const among = `u.tenant = $1::text AND u.unsure AND u.at < $4::text::int8
    AND (u.digest, u.holder) IN (SELECT d, h FROM unnest($2::text[], $3::text[]) AS w(d, h))`
  yield* sql.unsafe(
    `UPDATE troupe.blob_uses u SET unsure = false WHERE ${among}
       AND EXISTS (SELECT 1 FROM troupe.agent_tasks t WHERE t.id = u.run AND t.tenant = u.tenant)`,
    params
  )
  const rows = yield* sql.unsafe(
    `DELETE FROM troupe.blob_uses u WHERE ${among} RETURNING digest`,
    params
  )
  const forgotten = yield* decodeDigests(rows)
  yield* removeUnnamed(
    sql,
    tenant,
    forgotten.map(({ digest }) => digest)
  )
})

const pieceOf = (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  digest: string,
  from: number,
  bytes_max: number
) =>
  sql.unsafe(
    `SELECT substring(bytes FROM $3::int4 FOR $4::int4) AS bytes FROM troupe.blobs
     WHERE digest = $2::text AND tenant = $1::text`,
    [tenant, digest, from + 1, bytes_max]
  )

const bytesIn = (
  rows: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>
): Effect.Effect<Uint8Array | undefined, StoreError> =>
  Effect.mapBoth(Effect.flatMap(rows, decodeBytes), {
    onSuccess: ([row]) => row?.bytes,
    onFailure: orStoreError
  })

const reading = (
  sql: SqlClient.SqlClient,
  reads: TenantReads["Service"]
): Pick<BlobStore["Service"], "get" | "read" | "heldBy"> => ({
  get: (tenant, digest, from, bytes_max) => bytesIn(pieceOf(sql, tenant, digest, from, bytes_max)),
  read: (tenant, digest, from, bytes_max) =>
    bytesIn(reads.of(tenant)(pieceOf(sql, tenant, digest, from, bytes_max))),
  heldBy: (tenant, conversation, digest) =>
    sql
      .unsafe(
        `SELECT u.digest, u.media_type, u.name, u.held_as, b.size::float8 AS size
         FROM troupe.blob_uses u JOIN troupe.blobs b ON b.digest = u.digest AND b.tenant = u.tenant
         WHERE u.digest = $3::text AND u.tenant = $1::text AND u.conversation = $2::text LIMIT ${held_max}`,
        [tenant, conversation, digest]
      )
      .pipe(
        reads.of(tenant),
        Effect.flatMap(decodeHeld),
        Effect.mapBoth({
          onSuccess: (rows) =>
            rows.map(({ held_as, name, ...row }): HeldBlob => ({
              ...row,
              ...(name === null ? undefined : { name }),
              as: held_as
            })),
          onFailure: orStoreError
        })
      )
})

const puts = (sql: SqlClient.SqlClient): Pick<BlobStore["Service"], "put" | "hold"> => ({
  put: Effect.fn("BlobStore.put")(
    function* (tenant, label, bytes, holder, tenant_bytes_max, share) {
      const total = yield* lock(sql, tenant)
      if ((yield* sizeOf(sql, tenant, label.digest)) === undefined) {
        const refused = yield* refusal(sql, tenant, bytes.length, share)
        if (refused !== undefined) return yield* refused
        const key = share === undefined ? undefined : keyOf(share.customer)
        if (total + bytes.length > tenant_bytes_max) {
          return yield* new FilesFull({ bytes_max: tenant_bytes_max })
        }
        yield* sql.unsafe(
          `INSERT INTO troupe.blobs (tenant, digest, size, bytes, charged_to)
           VALUES ($1::text, $2::text, $3::text::int8, $4::bytea, $5::text)`,
          [tenant, label.digest, String(bytes.length), bytes, key ?? null]
        )
        yield* add(
          sql,
          tenant,
          bytes.length,
          new Map(key === undefined ? [] : [[key, bytes.length]])
        )
      }
      yield* name(sql, tenant, label, holder)
    },
    inTransaction(sql),
    Effect.mapError(orStoreError)
  ),
  hold: Effect.fn("BlobStore.hold")(
    function* (tenant, label, holder, uploaded_by) {
      yield* lock(sql, tenant)
      const size = yield* sizeOf(sql, tenant, label.digest)
      const uploads =
        uploaded_by === undefined || size === undefined
          ? undefined
          : yield* sql.unsafe(
              `SELECT 1 FROM troupe.blob_uses
               WHERE digest = $2::text AND holder = $3::text AND tenant = $1::text`,
              [tenant, label.digest, holderText({ uploaded_by })]
            )
      if (size === undefined || uploads?.length === 0) {
        return yield* new FileNotFound({ digest: label.digest })
      }
      yield* name(sql, tenant, label, holder)
      return size
    },
    inTransaction(sql),
    Effect.mapError(orStoreError)
  )
})

const removals = (
  sql: SqlClient.SqlClient
): Pick<BlobStore["Service"], "release" | "withdraw" | "collect"> => ({
  withdraw: Effect.fn("BlobStore.withdraw")(
    function* (tenant, uploaded_by) {
      yield* lock(sql, tenant)
      const rows = yield* sql.unsafe(
        `DELETE FROM troupe.blob_uses WHERE holder = $2::text AND tenant = $1::text RETURNING digest`,
        [tenant, holderText({ uploaded_by })]
      )
      const withdrawn = yield* decodeDigests(rows)
      const digests = withdrawn.map(({ digest }) => digest)
      yield* removeUnnamed(sql, tenant, digests)
      return digests.length
    },
    inTransaction(sql),
    Effect.mapError(orStoreError)
  ),
  release: Effect.fn("BlobStore.release")(
    function* (tenant, runs) {
      yield* lock(sql, tenant)
      const rows = yield* sql.unsafe(
        `DELETE FROM troupe.blob_uses WHERE run = ANY ($2::text[]::uuid[]) AND tenant = $1::text
         RETURNING digest`,
        [tenant, runs]
      )
      const released = yield* decodeDigests(rows)
      const digests = released.map(({ digest }) => digest)
      yield* removeUnnamed(sql, tenant, digests)
    },
    inTransaction(sql),
    Effect.mapError(orStoreError)
  ),
  collect: Effect.fn("BlobStore.collect")(function* (before, limit) {
    const rows = yield* sql.unsafe(
      `SELECT tenant, digest, holder FROM troupe.blob_uses WHERE unsure AND at < $1::text::int8
       ORDER BY at LIMIT $2::int4`,
      [String(before), Math.min(limit, collected_max)]
    )
    const names = yield* decodeUnsure(rows)
    for (const [tenant, of] of Map.groupBy(names, (each) => each.tenant)) {
      yield* inTransaction(sql)(settle(sql, tenant, of, String(before)))
    }
    return names.length
  }, Effect.mapError(orStoreError))
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  return BlobStore.of({ ...reading(sql, yield* TenantReads), ...puts(sql), ...removals(sql) })
})

export const layer: Layer.Layer<BlobStore, never, SqlClient.SqlClient | TenantReads> = Layer.effect(
  BlobStore,
  make
)
