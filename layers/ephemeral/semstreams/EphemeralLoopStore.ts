/**
 * Records of ended loops in one process: those that were put, and those made from the ended runs of the store.
 */
import { Effect, Layer } from "effect"
import { LoopStore } from "../../../services/semstreams/LoopStore.ts"
import type { StoredLoop } from "../../../services/semstreams/LoopStore.ts"
import { completionKey, flowOf, loopIdOf, recordOf } from "../../../src/semstreams/LoopRecord.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { isRunId } from "../../../src/value/Ids.ts"
import { EphemeralStore, offerRows, tenantKey } from "../EphemeralStore.ts"
import type { StoredRun } from "../EphemeralStore.ts"

const page_max = 500
const key_max = 500
const value_max = 4_000_000

interface Put {
  readonly tenant: Tenant
  readonly key: string
  readonly value: string
  readonly flow: string | undefined
}

const make = Effect.gen(function* () {
  const store = yield* EphemeralStore
  const put = new Map<string, Put>()
  yield* offerRows("loop_records", (tenant) =>
    [...put].flatMap(([name, { key, tenant: whose, value }]) =>
      whose === tenant ? [{ value: { key, value }, remove: () => void put.delete(name) }] : []
    )
  )

  /**
   * The record of an ended run of the store, as JSON text; undefined if there is none. The entries of an ended run never change.
   */
  const recordOfRun = (run: StoredRun | undefined, tenant: Tenant): string | undefined => {
    if (run === undefined || run.tenant !== tenant) return undefined
    const record = recordOf(run.run_id, run.entries)
    return record === undefined ? undefined : JSON.stringify(record)
  }

  return LoopStore.of({
    put: (tenant, key, value) =>
      Effect.suspend(() => {
        if (key.length > key_max || value.length > value_max) {
          return Effect.die(new RangeError("a loop's key or value is too long"))
        }
        put.set(tenantKey(tenant, key), { tenant, key, value, flow: flowOf(value) })
        return Effect.void
      }),
    get: (tenant, key) =>
      Effect.sync(() => {
        const id = loopIdOf(key)
        const run = isRunId(id) ? store.runs.get(id) : undefined
        return put.get(tenantKey(tenant, key))?.value ?? recordOfRun(run, tenant)
      }),
    scan: (tenant, flow, after, limit) =>
      Effect.sync(() => {
        const found = new Map<string, string>()
        for (const run of store.runs.values()) {
          if (run.address.agent !== flow) continue
          const value = recordOfRun(run, tenant)
          if (value !== undefined) found.set(completionKey(run.run_id), value)
        }
        for (const each of put.values()) {
          if (each.tenant !== tenant) continue
          if (each.flow === flow) found.set(each.key, each.value)
          else found.delete(each.key)
        }
        return [...found]
          .filter(([key]) => after === undefined || key > after)
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .slice(0, Math.min(limit, page_max))
          .map(([key, value]): StoredLoop => ({ key, value }))
      })
  })
})

export const layer: Layer.Layer<LoopStore, never, EphemeralStore> = Layer.effect(LoopStore, make)
