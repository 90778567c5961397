/**
 * The costs of turns and tools, in one process.
 */
import { BigDecimal, Effect, Layer } from "effect"
import { parseDecimal, decimalText } from "../../src/value/Decimal.ts"
import { dayOf } from "../../src/value/Times.ts"
import type { CostTotal } from "../../src/cost/TurnCost.ts"
import type { CostQuery } from "../../services/CostLedger.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import type { Store, StoredCost } from "./EphemeralStore.ts"
import { EphemeralStore } from "./EphemeralStore.ts"

const page_max = 500

/** The key of the group to which an entry belongs; undefined if it belongs to none. */
const groupOf = (
  store: Store,
  entry: StoredCost,
  { by, tenant }: CostQuery
): string | undefined => {
  switch (by) {
    case "tenant":
      return tenant
    case "agent":
      return entry.agent
    case "model":
      return entry.model
    case "run":
      return entry.run_id
    case "tool":
      return entry.by?.tool
    case "trace":
      return traceOf(store, entry)
    case "day":
      return dayOf(entry.at)
  }
}

const traceOf = (store: Store, { run_id }: StoredCost): string | undefined =>
  store.tasks.get(run_id)?.task.trace_id

const matches = (store: Store, entry: StoredCost, query: CostQuery): boolean =>
  (query.from === undefined || entry.at >= query.from) &&
  (query.to === undefined || entry.at < query.to) &&
  (query.agent === undefined || entry.agent === query.agent) &&
  (query.model === undefined || entry.model === query.model) &&
  (query.run_id === undefined || entry.run_id === query.run_id) &&
  (query.tool === undefined || entry.by?.tool === query.tool) &&
  (query.trace_id === undefined || traceOf(store, entry) === query.trace_id)

const totalOf = (key: string, entries: ReadonlyArray<StoredCost>): CostTotal => {
  const amounts = new Map<string, BigDecimal.BigDecimal>()
  const total = {
    turns: 0,
    unpriced_turns: 0,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    cache_write_tokens: 0,
    reasoning_tokens: 0
  }
  for (const { amount, by, currency, usage } of entries) {
    const turns = by?.turns ?? 1
    total.turns += turns
    total.input_tokens += usage.input_tokens
    total.output_tokens += usage.output_tokens
    total.cached_tokens += usage.cached_tokens ?? 0
    total.cache_write_tokens += usage.cache_write_tokens ?? 0
    total.reasoning_tokens += usage.reasoning_tokens ?? 0
    if (amount === undefined || currency === undefined) total.unpriced_turns += turns
    else {
      const sum = amounts.get(currency)
      const more = parseDecimal(amount)
      amounts.set(currency, sum === undefined ? more : BigDecimal.sum(sum, more))
    }
  }
  const byCurrency = [...amounts].sort(([a], [b]) => (a < b ? -1 : 1))
  return {
    key,
    amounts: byCurrency.map(([currency, sum]) => ({ currency, amount: decimalText(sum) })),
    ...total
  }
}

const make = Effect.map(EphemeralStore, (store) =>
  CostLedger.of({
    totals: (query) =>
      Effect.sync(() => {
        const groups = new Map<string, Array<StoredCost>>()
        const all = [...(store.costs.get(query.tenant)?.values() ?? [])]
        for (const entry of all.flat()) {
          if (!matches(store, entry, query)) continue
          const key = groupOf(store, entry, query)
          if (key === undefined || (query.after !== undefined && key <= query.after)) continue
          const group = groups.get(key)
          if (group === undefined) groups.set(key, [entry])
          else group.push(entry)
        }
        return [...groups]
          .sort(([a], [b]) => (a < b ? -1 : 1))
          .slice(0, Math.max(0, Math.min(query.limit, page_max)))
          .map(([key, entries]) => totalOf(key, entries))
      })
  })
)

export const layer: Layer.Layer<CostLedger, never, EphemeralStore> = Layer.effect(CostLedger, make)
