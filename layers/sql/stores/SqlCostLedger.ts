/**
 * What turns and tools cost, in SQL. The database computes the sums, because its numbers are exact.
 */
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { CostGroup, CostTotal } from "../../../src/cost/TurnCost.ts"
import { CostLedger } from "../../../services/CostLedger.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { orStoreError } from "../engine/SqlFailure.ts"
import { StoredText, traceMember } from "../engine/StoredText.ts"
import { TenantReads } from "../engine/TenantReads.ts"

const page_max = 500

const TotalRow = Schema.Struct({
  key: Schema.String,
  currency: Schema.NullOr(Schema.String),
  amount: Schema.NullOr(Schema.String),
  turns: Schema.Number,
  input_tokens: Schema.Number,
  output_tokens: Schema.Number,
  cached_tokens: Schema.Number,
  cache_write_tokens: Schema.Number,
  reasoning_tokens: Schema.Number
})
const decodeTotals = rowDecoder(TotalRow, "costs")
const decodeTraceTotals = rowDecoder(
  TotalRow.mapFields((fields) => ({ ...fields, key: StoredText })),
  "costs of traces"
)

/** The id of a task's trace, as JSON text, whether it is stored alone or in an object. */
const trace = `CASE WHEN t.trace_id LIKE '{%' THEN ${traceMember("t.trace_id")} ELSE t.trace_id END`

/** Keys in the order of their bytes, which for these names is the order of their UTF-16 code units. */
const keys: Record<CostGroup, string> = {
  tenant: `c.tenant COLLATE "C"`,
  agent: `c.agent COLLATE "C"`,
  model: `c.model COLLATE "C"`,
  run: `c.run_id::text COLLATE "C"`,
  tool: `c.tool COLLATE "C"`,
  trace: `(${trace}) COLLATE "C"`,
  day: `to_char(to_timestamp(c.at / 86400000 * 86400) AT TIME ZONE 'UTC', 'YYYY-MM-DD') COLLATE "C"`
}

const filter = `c.tenant = $1::text
  AND ($2::int8 IS NULL OR c.at >= $2::int8) AND ($3::int8 IS NULL OR c.at < $3::int8)
  AND ($4::text IS NULL OR c.agent = $4::text) AND ($5::text IS NULL OR c.model = $5::text)
  AND ($6::uuid IS NULL OR c.run_id = $6::uuid) AND ($9::text IS NULL OR c.tool = $9::text)
  AND ($10::text IS NULL OR ${trace} = $10::text)`

/** Costs with their tasks: the trace of a run is stored with its task. */
const entries = `troupe.turn_costs c LEFT JOIN troupe.agent_tasks t ON t.id = c.run_id`

const statement = (key: string): string => `WITH page AS (
  SELECT DISTINCT ${key} AS key FROM ${entries}
  WHERE ${filter} AND ${key} IS NOT NULL AND ($7::text IS NULL OR ${key} > $7::text)
  ORDER BY 1 LIMIT $8::int4)
SELECT p.key, c.currency, trim_scale(sum(c.amount))::text AS amount, sum(c.turns)::float8 AS turns,
  sum(c.input_tokens)::float8 AS input_tokens, sum(c.output_tokens)::float8 AS output_tokens,
  sum(c.cached_tokens)::float8 AS cached_tokens, sum(c.cache_write_tokens)::float8 AS cache_write_tokens,
  sum(c.reasoning_tokens)::float8 AS reasoning_tokens
FROM ${entries} JOIN page p ON p.key = ${key}
WHERE ${filter} GROUP BY p.key, c.currency ORDER BY p.key, c.currency COLLATE "C"`

/** Merges rows into one total for each key. There is one row for each key and currency, and one for what has no price. */
const totalsOf = (rows: ReadonlyArray<typeof TotalRow.Type>): ReadonlyArray<CostTotal> => {
  const totals = new Map<string, CostTotal>()
  for (const row of rows) {
    const { amount, currency, key, turns } = row
    const before = totals.get(key)
    const unpriced = currency === null || amount === null
    totals.set(key, {
      key,
      amounts: [...(before?.amounts ?? []), ...(unpriced ? [] : [{ currency, amount }])],
      turns: (before?.turns ?? 0) + turns,
      unpriced_turns: (before?.unpriced_turns ?? 0) + (unpriced ? turns : 0),
      input_tokens: (before?.input_tokens ?? 0) + row.input_tokens,
      output_tokens: (before?.output_tokens ?? 0) + row.output_tokens,
      cached_tokens: (before?.cached_tokens ?? 0) + row.cached_tokens,
      cache_write_tokens: (before?.cache_write_tokens ?? 0) + row.cache_write_tokens,
      reasoning_tokens: (before?.reasoning_tokens ?? 0) + row.reasoning_tokens
    })
  }
  return [...totals.values()]
}

/** The id of a trace, encoded as in the row of its task. */
const stored = (trace_id: string | undefined): string | null =>
  trace_id === undefined ? null : JSON.stringify(trace_id)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const reads = yield* TenantReads
  return CostLedger.of({
    totals: Effect.fn("CostLedger.totals")(function* (query) {
      const rows = yield* reads.of(query.tenant)(
        sql.unsafe(statement(keys[query.by]), [
          query.tenant,
          query.from ?? null,
          query.to ?? null,
          query.agent ?? null,
          query.model ?? null,
          query.run_id ?? null,
          query.by === "trace" ? stored(query.after) : (query.after ?? null),
          Math.max(0, Math.min(query.limit, page_max)),
          query.tool ?? null,
          stored(query.trace_id)
        ])
      )
      return totalsOf(yield* (query.by === "trace" ? decodeTraceTotals : decodeTotals)(rows))
    }, Effect.mapError(orStoreError))
  })
})

export const layer: Layer.Layer<CostLedger, never, SqlClient.SqlClient | TenantReads> =
  Layer.effect(CostLedger, make)
