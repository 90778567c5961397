/** A tier that is nearly full: what a run leaves goes on as far as there is room, on every store alike. */
import { layer } from "@effect/vitest"
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import { endScope } from "../../layers/memory/MemoryEnds.ts"
import { MemoryStore, rows_max } from "../../services/MemoryStore.ts"
import type { MemoryRow, MemoryScope } from "../../src/memory/MemoryRow.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "../sql/Engines.ts"
import { idOf, row } from "./Rows.ts"

/** Adds so many rows like the first one. */
type Fill<R> = (first: MemoryRow, count: number) => Effect.Effect<void, unknown, R>

const scopeOf = ({ agent, anchor, tenant, tier }: MemoryScope): MemoryScope => ({
  tenant,
  agent,
  tier,
  anchor
})

/** A conversation with room for so many rows, and a run of it with four, oldest first. */
const nearlyFull = <R>(fill: Fill<R>, room: number) =>
  Effect.gen(function* () {
    const store = yield* MemoryStore
    const tenant = Samples.tenant()
    const known = yield* store.add(row({ tenant, tier: "session", anchor: "c1", text: "known" }))
    yield* fill(known, rows_max.session - room - 1)
    const left = yield* Effect.forEach(["apples", "bread", "cheese", "dates"], (text, at) =>
      store.add(row({ tenant, text, at, anchor: "r1" }))
    )
    return { store, known, left, from: scopeOf(left[0]!), to: scopeOf(known) }
  })

const fullTierTests =
  <R>(fill: Fill<R>) =>
  (it: Vitest.MethodsNonLive<MemoryStore | R>): void => {
    it.effect("takes the first of the promoted rows that it has room for, and no more", () =>
      Effect.gen(function* () {
        const { from, known, left, store, to } = yield* nearlyFull(fill, 2)
        const ids = [idOf(0xffff), ...left.toReversed().map(({ id }) => id)]
        const promoted = ids.map((id) => ({ id, typology: "semantic" as const }))
        const ended = { from, to, promoted, repeated: [known.id] }
        assert.deepStrictEqual(yield* store.compound(ended), { promoted: 2, dropped: 2 })
        const kept = yield* Effect.forEach(left, store.get)
        assert.deepStrictEqual(
          kept.map((each) => each && [each.text, each.tier, each.typology]),
          [
            undefined,
            undefined,
            ["cheese", "session", "semantic"],
            ["dates", "session", "semantic"]
          ]
        )
        assert.strictEqual((yield* store.get(known))?.seen, 2)
        const { id: _, ...more } = { ...known, text: "one more" }
        assert.deepInclude(yield* Effect.flip(store.add(more)), { reason: "full" })
      })
    )

    it.effect("SA-36 that has no room at all takes none, and the run's rows are gone", () =>
      Effect.gen(function* () {
        const { from, left, store, to } = yield* nearlyFull(fill, 0)
        assert.deepStrictEqual(yield* endScope(store, { from, to }), { promoted: 0, dropped: 4 })
        assert.deepStrictEqual(yield* store.list(from, { limit: 10, all: true }), [])
        for (const each of left) assert.isUndefined(yield* store.get(each))
      })
    )

    it.effect("keeps the newest rows of a run that ends", () =>
      Effect.gen(function* () {
        const { from, left, store, to } = yield* nearlyFull(fill, 1)
        assert.deepStrictEqual(yield* endScope(store, { from, to }), { promoted: 1, dropped: 3 })
        assert.strictEqual((yield* store.get(left[3]!))?.tier, "session")
        assert.isUndefined(yield* store.get(left[2]!))
      })
    )
  }

layer(EphemeralMemoryStore.layer, { excludeTestServices: true })(
  "a full tier (ephemeral)",
  fullTierTests((first, count) =>
    MemoryStore.use((store) =>
      Effect.forEach(Array(count).keys(), () => store.add(first), { discard: true })
    )
  )
)

onEngines(
  "a full tier",
  fullTierTests((first, count) =>
    SqlClient.SqlClient.use((sql) =>
      Effect.andThen(
        sql.unsafe(
          `INSERT INTO troupe.memory_rows (tenant, agent, place, session, typology, text, words, source, author, at, scope)
           SELECT r.tenant, r.agent, r.place, r.session, r.typology, r.text, r.words, r.source, r.author, r.at, r.scope
           FROM troupe.memory_rows r CROSS JOIN generate_series(1, $2::int4) WHERE r.id = $1::uuid`,
          [first.id, count]
        ),
        sql.unsafe(
          `UPDATE troupe.memory_scopes SET rows = rows + $2::int4
           WHERE id = (SELECT scope FROM troupe.memory_rows WHERE id = $1::uuid)`,
          [first.id, count]
        )
      )
    )
  )
)
