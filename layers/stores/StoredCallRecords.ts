/**
 * Records of calls. A store that is lost with its process keeps the newest 10,000.
 */
import { Effect, Layer } from "effect"
import { CallRecords } from "../../services/CallRecords.ts"
import { Rows } from "../../services/Rows.ts"
import { CallRecord, EndedAs, endedAs } from "../../src/tool/CallRecord.ts"
import { InvalidInput } from "../../src/schema/InvalidInput.ts"
import { RunId, Tenant } from "../../src/value/Ids.ts"
import type { Stored } from "./TypedRows.ts"
import {
  hidden,
  int8,
  json,
  oneOf,
  place,
  said,
  table,
  tableRows,
  text,
  uuid
} from "./TypedRows.ts"

const page_max = 500
const timings_max = 2_000

/** Names come from models and may contain any character. */
export const callRecords = table({
  name: "call_records",
  what: "records of calls",
  key: ["key"],
  columns: {
    place,
    key: said,
    tenant: text(Tenant),
    // Hidden columns are those that a store in memory finds rows by.
    run_id: hidden(uuid(RunId)),
    tool_name: hidden(said),
    ended_at: int8,
    took_ms: int8,
    ended_as: oneOf(EndedAs),
    record: json(CallRecord)
  },
  erased: { removed: ["record"] },
  group: [],
  kept: { rows_max: 10_000 }
})

const recordsOf = (found: ReadonlyArray<Stored<typeof callRecords.columns>>) =>
  found.map(({ record }) => record)

const make = Effect.map(Rows, (driver) => {
  const rows = tableRows(driver, callRecords)
  return CallRecords.of({
    store: (records) =>
      Effect.asVoid(
        rows.add(
          records.map((record) => {
            const { duration_ms: took_ms, ended_at, key, run_id, tenant, tool_name } = record
            const ended_as = endedAs(record)
            return { key, tenant, run_id, tool_name, ended_at, took_ms, ended_as, record }
          })
        )
      ),
    ofRun: Effect.fnUntraced(function* (tenant, run, limit, after) {
      const where = { tenant, run_id: run }
      const last = after === undefined ? undefined : { ...where, key: after }
      if (last !== undefined && (yield* rows.count({ where: last })) === 0) {
        return yield* new InvalidInput({ field: "after", reason: "the run has no such record" })
      }
      return recordsOf(
        yield* rows.all({ where, order: ["place"], after: last, limit: Math.min(limit, page_max) })
      )
    }),
    ofTool: (tenant, tool_name, limit) =>
      Effect.map(
        rows.all({
          where: { tenant, tool_name },
          order: ["place"],
          descends: true,
          limit: Math.min(limit, page_max)
        }),
        recordsOf
      ),
    // Only these cells are read: a record may be long.
    timings: (tenant, from, limit) =>
      rows.counts(
        {
          where: { tenant, ended_at: [">=", from] },
          order: ["ended_at", "place"],
          descends: true,
          limit: Math.max(0, Math.min(limit, timings_max))
        },
        ["tool_name", "ended_at", "took_ms", "ended_as"]
      ),
    forget: (tenant, before) => rows.remove({ where: { tenant, ended_at: ["<", before] } })
  })
})

export const layer: Layer.Layer<CallRecords, never, Rows> = Layer.effect(CallRecords, make)
