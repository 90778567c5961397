/**
 * The knowledge graph in one process.
 */
import { Effect, Layer } from "effect"
import { TriplePublisher } from "../../../services/semstreams/TriplePublisher.ts"
import { triplesRefusal, triples_max } from "../../../src/semstreams/Triple.ts"
import type { Triple } from "../../../src/semstreams/Triple.ts"
import type { Tenant } from "../../../src/value/Ids.ts"
import { offerRows } from "../EphemeralStore.ts"

const make = Effect.gen(function* () {
  /** By tenant, then by subject, then by predicate, object and source together. */
  const graphs = new Map<Tenant, Map<string, Map<string, Triple>>>()
  yield* offerRows("triples", (tenant) =>
    [...(graphs.get(tenant)?.values() ?? [])].flatMap((facts) =>
      [...facts].map(([key, value]) => ({ value, remove: () => void facts.delete(key) }))
    )
  )
  return TriplePublisher.of({
    addAll: (tenant, triples) =>
      Effect.suspend(() => {
        const refused = triplesRefusal(triples)
        if (refused !== undefined) return Effect.fail(refused)
        let graph = graphs.get(tenant)
        if (graph === undefined) graphs.set(tenant, (graph = new Map()))
        for (const triple of triples) {
          let facts = graph.get(triple.subject)
          if (facts === undefined) graph.set(triple.subject, (facts = new Map()))
          const key = JSON.stringify([triple.predicate, triple.object, triple.source])
          if (!facts.has(key)) facts.set(key, triple)
        }
        return Effect.void
      }),
    about: (tenant, subject, limit) =>
      Effect.sync(() =>
        [...(graphs.get(tenant)?.get(subject)?.values() ?? [])].slice(
          0,
          Math.min(limit, triples_max)
        )
      )
  })
})

export const layer: Layer.Layer<TriplePublisher> = Layer.effect(TriplePublisher, make)
