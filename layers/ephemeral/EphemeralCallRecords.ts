/**
 * The newest 10,000 records of calls, in one process. Once its scope is closed, it has no records and every method fails with
 * StoreError.
 */
import { Effect, Layer } from "effect"
import type { Scope } from "effect"
import { CallRecords } from "../../services/CallRecords.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { CallRecord } from "../../src/tool/CallRecord.ts"
import { offerRows } from "./EphemeralStore.ts"

const page_max = 500
const records_max = 10_000

/** Makes a store that is open until the scope closes. */
export const make: Effect.Effect<CallRecords["Service"], never, Scope.Scope> = Effect.gen(
  function* () {
    /** Oldest first. */
    const records = new Map<string, CallRecord>()
    let open = true
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        open = false
        records.clear()
      })
    )
    yield* offerRows("call_records", (tenant) =>
      [...records.values()]
        .filter((record) => record.tenant === tenant)
        .map(({ tenant: _tenant, ...value }) => ({
          value,
          remove: () => void records.delete(value.key)
        }))
    )
    const whileOpen = <A>(answer: () => A) =>
      Effect.suspend(() =>
        open
          ? Effect.succeed(answer())
          : Effect.fail(new StoreError({ message: "the store of call records is closed" }))
      )
    return CallRecords.of({
      store: (all) =>
        whileOpen(() => {
          for (const record of all) if (!records.has(record.key)) records.set(record.key, record)
          for (const key of records.keys()) {
            if (records.size <= records_max) break
            records.delete(key)
          }
        }),
      ofRun: (tenant, run, limit, after) =>
        whileOpen(() => {
          const found = [...records.values()].filter(
            (record) => record.tenant === tenant && record.run_id === run
          )
          const from = after === undefined ? 0 : found.findIndex(({ key }) => key === after) + 1
          return found.slice(from, from + Math.min(limit, page_max))
        }),
      ofTool: (tenant, tool_name, limit) =>
        whileOpen(() =>
          [...records.values()]
            .filter((record) => record.tenant === tenant && record.tool_name === tool_name)
            .reverse()
            .slice(0, Math.min(limit, page_max))
        ),
      forget: (tenant, before) =>
        whileOpen(() => {
          let forgotten = 0
          for (const [key, record] of records) {
            if (record.tenant !== tenant || record.ended_at >= before) continue
            records.delete(key)
            forgotten++
          }
          return forgotten
        })
    })
  }
)

export const layer: Layer.Layer<CallRecords> = Layer.effect(CallRecords, make)
