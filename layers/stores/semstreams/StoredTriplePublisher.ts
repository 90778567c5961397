/**
 * The knowledge graph. A publication is one step of the driver, so that it is written whole or not at all.
 */
import { Effect, Layer } from "effect"
import { Rows } from "../../../services/Rows.ts"
import { TriplePublisher } from "../../../services/semstreams/TriplePublisher.ts"
import { triplesRefusal, triples_max } from "../../../src/semstreams/Triple.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import { Tenant } from "../../../src/value/Ids.ts"
import { digest, float8, place, said, table, tableRows, text } from "../TypedRows.ts"

export const triples = table({
  name: "triples",
  what: "triples",
  key: ["tenant", "subject", "digest"],
  columns: {
    position: place,
    tenant: text(Tenant),
    subject: said,
    /** Two facts about a subject with the same digest count as the same. */
    digest,
    predicate: said,
    object: said,
    source: said,
    said_at: said,
    confidence: float8
  },
  group: ["tenant", "subject"],
  erased: { removed: ["subject", "predicate", "object", "source"] }
})

const make = Effect.map(Rows, (driver) => {
  const rows = tableRows(driver, triples)
  return TriplePublisher.of({
    addAll: Effect.fn("TriplePublisher.addAll")(function* (tenant, all) {
      const refused = triplesRefusal(all)
      if (refused !== undefined) return yield* refused
      yield* rows.add(
        all.map(({ timestamp: said_at, ...triple }) => {
          const { object, predicate, source } = triple
          return { tenant, ...triple, said_at, digest: canonical([predicate, object, source]) }
        })
      )
    }),
    about: Effect.fn("TriplePublisher.about")(function* (tenant, subject, limit) {
      const where = { tenant, subject }
      const most = Math.min(limit, triples_max)
      const found = yield* rows.all({ where, order: ["position"], limit: most })
      return found.map(({ position: _place, said_at, tenant: _tenant, ...triple }) => ({
        ...triple,
        timestamp: said_at
      }))
    })
  })
})

export const layer: Layer.Layer<TriplePublisher, never, Rows> = Layer.effect(TriplePublisher, make)
