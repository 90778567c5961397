/**
 * Records of ended loops in SQL. The record of a run of this runtime is written when somebody first looks for it: an ended run
 * does not change, so one writing suffices, and ending a run costs nothing for it. Everything is read with the tenant's database
 * role.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { LoopStore } from "../../../services/semstreams/LoopStore.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { completionKey, flowOf, loopIdOf, recordOf } from "../../../src/semstreams/LoopRecord.ts"
import { isRunId, RunId } from "../../../src/value/Ids.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { run_over, run_quarantined, run_parked } from "../journal/Codes.ts"
import { entries } from "../journal/RunRows.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"
import { StoredText } from "../engine/StoredText.ts"

const page_max = 500
const key_max = 500
const value_max = 4_000_000
/** The most runs whose records are written in one pass. */
const made_max = 100

const decodeRecords = rowDecoder(
  Schema.Struct({ key: StoredText, value: StoredText }),
  "records of loops"
)
const decodeEnded = rowDecoder(Schema.Struct({ run_id: RunId, length: Schema.Int }), "ended runs")

/** The SQL client, and the service that runs reads on behalf of a tenant. */
interface LoopReads {
  readonly sql: SqlClient.SqlClient
  readonly reads: TenantReads["Service"]
}

const save = (
  sql: SqlClient.SqlClient,
  tenant: Tenant,
  key: string,
  value: string,
  conflict: string
) => {
  const flow = flowOf(value)
  return Effect.mapError(
    sql.unsafe(
      `INSERT INTO troupe.loop_records (tenant, key, flow, value)
       VALUES ($1::text, $2::text, $3::text, $4::text) ON CONFLICT (tenant, key) ${conflict}`,
      [
        tenant,
        JSON.stringify(key),
        flow === undefined ? null : JSON.stringify(flow),
        JSON.stringify(value)
      ]
    ),
    toStoreError
  )
}

/**
 * Writes the record of an ended run of this runtime, if there is none. Gives the record's text; undefined if the run has not
 * ended or makes no record.
 */
const settle = Effect.fnUntraced(function* ({ reads, sql }: LoopReads, tenant: Tenant, run: RunId) {
  const ended = Effect.gen(function* () {
    const rows = yield* sql.unsafe(
      `SELECT run_id, length FROM troupe.runs
       WHERE run_id = $1::uuid AND tenant = $2::text AND status >= $3::int2 AND status < $4::int2`,
      [run, tenant, run_over, run_parked + run_quarantined]
    )
    const [row] = yield* decodeEnded(rows)
    if (row === undefined) return undefined
    return yield* Effect.mapError(
      entries(sql, run, 0, row.length),
      ({ message }) => new StoreError({ message })
    )
  })
  const events = yield* Effect.mapError(reads.of(tenant)(ended), orStoreError)
  const record = events === undefined ? undefined : recordOf(run, events)
  if (record === undefined) return undefined
  const value = JSON.stringify(record)
  yield* save(sql, tenant, completionKey(run), value, "DO NOTHING")
  return value
})

/** Writes the records that are missing for the ended runs of a flow. */
const settleAll = Effect.fnUntraced(function* (of: LoopReads, tenant: Tenant, flow: string) {
  const { reads, sql } = of
  for (;;) {
    const rows = yield* Effect.mapError(
      reads.of(tenant)(
        sql.unsafe(
          `SELECT r.run_id, r.length FROM troupe.run_details d JOIN troupe.runs r ON r.run_id = d.run_id
         WHERE d.agent = $1::text AND NOT d.open AND r.tenant = $2::text AND r.status >= $3::int2 AND r.status < $5::int2
           AND NOT EXISTS (SELECT 1 FROM troupe.loop_records l
             WHERE l.tenant = r.tenant AND l.key = '"COMPLETE_' || r.run_id::text || '"')
         LIMIT $4::int4`,
          [flow, tenant, run_over, made_max, run_parked + run_quarantined]
        )
      ),
      toStoreError
    )
    const made = yield* Effect.forEach(
      yield* decodeEnded(rows),
      ({ run_id }) => settle(of, tenant, run_id),
      {
        concurrency: 4
      }
    )
    // It stops at a run that makes no record, because each further pass would find it again.
    if (rows.length < made_max || made.includes(undefined)) return
  }
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  const of = { sql, reads }
  const stored = (tenant: Tenant, key: string) =>
    sql
      .unsafe(
        `SELECT key, value FROM troupe.loop_records WHERE tenant = $1::text AND key = $2::text`,
        [tenant, JSON.stringify(key)]
      )
      .pipe(
        reads.of(tenant),
        Effect.flatMap(decodeRecords),
        Effect.mapBoth({ onSuccess: ([row]) => row?.value, onFailure: orStoreError })
      )
  return LoopStore.of({
    put: (tenant, key, value) =>
      key.length > key_max || value.length > value_max
        ? Effect.die(new RangeError("a loop's key or value is too long"))
        : Effect.asVoid(
            save(
              sql,
              tenant,
              key,
              value,
              "DO UPDATE SET flow = excluded.flow, value = excluded.value"
            )
          ),
    get: Effect.fn("LoopStore.get")(function* (tenant, key) {
      const found = yield* stored(tenant, key)
      const id = loopIdOf(key)
      if (found !== undefined || id === undefined || !isRunId(id)) return found
      return yield* settle(of, tenant, id)
    }),
    scan: Effect.fn("LoopStore.scan")(function* (tenant, flow, after, limit) {
      if (after === undefined) yield* settleAll(of, tenant, flow)
      const rows = yield* Effect.mapError(
        reads.of(tenant)(
          sql.unsafe(
            `SELECT key, value FROM troupe.loop_records
           WHERE tenant = $1::text AND flow = $2::text AND key > $3::text ORDER BY key LIMIT $4::int4`,
            [
              tenant,
              JSON.stringify(flow),
              after === undefined ? "" : JSON.stringify(after),
              Math.min(limit, page_max)
            ]
          )
        ),
        toStoreError
      )
      return yield* decodeRecords(rows)
    })
  })
})

export const layer: Layer.Layer<LoopStore, never, SqlClient.SqlClient | TenantReads> = Layer.effect(
  LoopStore,
  make
)
