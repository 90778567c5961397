/**
 * Records of ended loops. The record of a run of this runtime is written when somebody first looks for it: an ended run does not
 * change, so one writing suffices, and ending a run costs nothing for it. A store that is lost with its process keeps the newest
 * 20,000 of a tenant.
 */
import { Effect, Layer } from "effect"
import { Rows } from "../../../services/Rows.ts"
import { RunList } from "../../../services/RunList.ts"
import { forEachEntry, RunReader } from "../../../services/RunReader.ts"
import { LoopStore } from "../../../services/semstreams/LoopStore.ts"
import { StoreError } from "../../../services/StoreError.ts"
import { completionKey, flowOf, loopIdOf, recordOf } from "../../../src/semstreams/LoopRecord.ts"
import type { JournalEntry } from "../../../src/run/RunEvent.ts"
import type { AgentName, RunId } from "../../../src/value/Ids.ts"
import { isRunId, Tenant } from "../../../src/value/Ids.ts"
import { forEachPage } from "../../../src/value/Pages.ts"
import { optional, said, table, tableRows, text } from "../TypedRows.ts"

const page_max = 500
const entries_max = 10_000
const key_max = 500
const value_max = 4_000_000

export const loopRecords = table({
  name: "loop_records",
  what: "records of loops",
  key: ["tenant", "key"],
  columns: { tenant: text(Tenant), key: said, flow: optional(said), value: said },
  erased: { removed: ["key", "value"] },
  kept: { rows_max: 20_000 }
})

/** Writes the records of ended runs that nobody has looked for yet. */
const settling = Effect.gen(function* () {
  const rows = tableRows(yield* Rows, loopRecords)
  const runs = yield* RunList
  const reader = yield* RunReader

  /** Writes the record of a run that has ended, if there is none, and gives it. */
  const settle = Effect.fnUntraced(
    function* (tenant: Tenant, run: RunId) {
      const entries: Array<JournalEntry> = []
      yield* forEachEntry(
        { read: (id, from, limit) => reader.readFor(tenant, id, from, limit) },
        run,
        entries_max,
        (entry) => void entries.push(entry)
      )
      const record = recordOf(run, entries)
      if (record === undefined) return undefined
      const value = JSON.stringify(record)
      yield* rows.add([{ tenant, key: completionKey(run), flow: flowOf(value), value }])
      return value
    },
    Effect.catchTags({
      RunQuarantined: () => Effect.succeed(undefined),
      JournalError: ({ message }) => Effect.fail(new StoreError({ message }))
    })
  )

  /** Writes the records that are missing for the ended runs of a flow. */
  const settleAll = (tenant: Tenant, flow: string) =>
    forEachPage(
      page_max,
      (last: { readonly id: RunId } | undefined) =>
        runs.list({ tenant, agent: flow as AgentName, after: last?.id, limit: page_max }),
      Effect.fnUntraced(function* (page) {
        const ended = page.filter(
          ({ quarantined, status }) =>
            quarantined === undefined &&
            (status === "complete" || status === "failed" || status === "cancelled")
        )
        const keys = ended.map(({ id }) => JSON.stringify(completionKey(id)))
        const found = yield* rows.counts({ where: { tenant, key: ["in", keys] } }, ["key"])
        const known = new Set(found.map(({ key }) => key))
        const missing = ended.filter(({ id }) => !known.has(completionKey(id)))
        yield* Effect.forEach(missing, ({ id }) => settle(tenant, id), { concurrency: 4 })
        return undefined
      })
    )

  return { settle, settleAll }
})

const make = Effect.gen(function* () {
  const rows = tableRows(yield* Rows, loopRecords)
  const { settle, settleAll } = yield* settling
  return LoopStore.of({
    put: (tenant, key, value) =>
      key.length > key_max || value.length > value_max
        ? Effect.die(new RangeError("a loop's key or value is too long"))
        : Effect.asVoid(rows.add([{ tenant, key, flow: flowOf(value), value }], ["flow", "value"])),
    get: Effect.fn("LoopStore.get")(function* (tenant, key) {
      const found = yield* rows.one({ tenant, key })
      if (found !== undefined) return found.value
      const id = loopIdOf(key)
      return id === undefined || !isRunId(id) ? undefined : yield* settle(tenant, id)
    }),
    scan: Effect.fn("LoopStore.scan")(function* (tenant, flow, after, limit) {
      if (after === undefined) yield* settleAll(tenant, flow)
      return yield* rows.all({
        where: {
          tenant,
          flow,
          key: after === undefined ? undefined : [">", JSON.stringify(after)]
        },
        order: ["key"],
        limit: Math.min(limit, page_max)
      })
    })
  })
})

export const layer: Layer.Layer<LoopStore, never, Rows | RunList | RunReader> = Layer.effect(
  LoopStore,
  make
)
