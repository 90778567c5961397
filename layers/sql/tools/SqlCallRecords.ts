/**
 * Records of calls in SQL. All records of one write are inserted by one statement.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { CallRecords } from "../../../services/CallRecords.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { CallRecord } from "../../../src/tool/CallRecord.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError, toStoreError } from "../engine/SqlFailure.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500

const decodeRecords = rowDecoder(
  Schema.Struct({ record: Schema.fromJsonString(CallRecord) }),
  "records of calls"
)

/** Encodes a name as JSON text. Names come from models and may contain any character. */
const named = (name: string): string => JSON.stringify(name)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  const records = (tenant: Tenant, statement: string, values: ReadonlyArray<unknown>) =>
    sql.unsafe(statement, [tenant, ...values]).pipe(
      reads.of(tenant),
      Effect.flatMap(decodeRecords),
      Effect.mapBoth({
        onSuccess: (rows) => rows.map(({ record }) => record),
        onFailure: orStoreError
      })
    )

  return CallRecords.of({
    store: (records) =>
      records.length === 0
        ? Effect.void
        : Effect.mapBoth(
            sql.unsafe(
              `INSERT INTO troupe.call_records (key, tenant, run_id, tool_name, ended_at, record)
               SELECT key, tenant, run_id, tool_name, ended_at, record
               FROM unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::int8[], $6::text[])
                 WITH ORDINALITY AS row (key, tenant, run_id, tool_name, ended_at, record, place)
               ORDER BY place
               ON CONFLICT (key) DO NOTHING`,
              [
                records.map(({ key }) => named(key)),
                records.map(({ tenant }) => tenant),
                records.map(({ run_id }) => run_id),
                records.map(({ tool_name }) => named(tool_name)),
                records.map(({ ended_at }) => String(ended_at)),
                records.map((record) => JSON.stringify(record))
              ]
            ),
            { onSuccess: () => undefined, onFailure: toStoreError }
          ),
    ofRun: (tenant, run, limit, after) =>
      records(
        tenant,
        `SELECT record FROM troupe.call_records
         WHERE tenant = $1::text AND run_id = $2::uuid
           AND place > COALESCE((SELECT place FROM troupe.call_records WHERE key = $3::text), 0)
         ORDER BY place LIMIT $4::int4`,
        [run, named(after ?? ""), Math.min(limit, page_max)]
      ),
    ofTool: (tenant, tool_name, limit) =>
      records(
        tenant,
        `SELECT record FROM troupe.call_records
         WHERE tenant = $1::text AND tool_name = $2::text ORDER BY place DESC LIMIT $3::int4`,
        [named(tool_name), Math.min(limit, page_max)]
      ),
    forget: (tenant, before) =>
      Effect.mapBoth(
        sql.unsafe(
          `DELETE FROM troupe.call_records WHERE tenant = $1::text AND ended_at < $2::int8 RETURNING 1`,
          [tenant, before]
        ),
        { onSuccess: (gone) => gone.length, onFailure: toStoreError }
      )
  })
})

export const layer: Layer.Layer<CallRecords, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(CallRecords, make)
