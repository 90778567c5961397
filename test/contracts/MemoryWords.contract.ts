/** Memories are found by their words, wherever they go and whatever stands beside them. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { MemoryStore } from "../../services/MemoryStore.ts"
import type { NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import { addAll, newRow, place, scopeOf, start, textsOf } from "./MemoryRows.ts"
import * as Samples from "./Samples.ts"

export const foundByWord = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  /** Its newest 16 rows are others than those that a test looks for. */
  const crowded = Effect.fnUntraced(function* (given: Partial<NewMemoryRow>) {
    const newer = { at: start + 1_000, ...given }
    yield* addAll(
      newRow("", newer),
      Array.from({ length: 20 }, (_, i) => `the chair ${i}`)
    )
  })

  it.effect("a row is found by its word among newer ones, and not once it is undone", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      const [old] = yield* addAll(newRow("", { tenant }), ["a walrus", "a seal"])
      const successor = yield* store.add(newRow("an otter", { tenant, supersedes: old!.id }))
      yield* crowded({ tenant })
      const found = Effect.map(store.candidates([scopeOf(old!)], ["walrus", "otter"]), (rows) =>
        textsOf(rows).filter((text) => !text.includes("chair"))
      )
      assert.deepStrictEqual(yield* found, ["an otter"])
      yield* store.undo(place(successor), "ada")
      assert.deepStrictEqual(yield* found, ["a walrus"])
      yield* store.undo(place(old!), "ada")
      assert.deepStrictEqual(yield* found, [])
    })
  )

  it.effect(
    "a row that went on is found by its word where it is, and nowhere after an erasure",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const given = { tenant, tier: "interaction", anchor: "run-1" } as const
        const rows = yield* addAll(newRow("", given), ["walrus Olga", "walrus Paul", "a walrus"])
        yield* crowded({ tenant })
        const from = scopeOf(rows[0]!)
        const to = { ...from, tier: "session", anchor: "c1" } as const
        const promoted = rows.slice(0, 2).map(({ id }) => ({ id, typology: "episodic" as const }))
        yield* store.compound({ from, to, promoted, repeated: [] })
        const found = Effect.map(store.candidates([from, to], ["walrus"]), (all) =>
          textsOf(all).filter((text) => text.includes("walrus"))
        )
        assert.sameMembers([...(yield* found)], ["walrus Olga", "walrus Paul"])
        const other = yield* store.add(newRow("Olga came", { ...given, anchor: "run-2" }))
        assert.deepStrictEqual(yield* store.interactions(to), [scopeOf(other)])
        yield* store.erase(tenant, "Olga")
        assert.deepStrictEqual(yield* found, ["walrus Paul"])
        assert.deepStrictEqual(yield* store.interactions(to), [])
      })
  )

  it.effect("of more rows that have a word than are candidates, those are that came last", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      const given = { tenant, tier: "interaction", anchor: "run-1" } as const
      const [earliest] = yield* addAll(newRow("", given), ["a walrus"])
      yield* addAll(
        newRow("", { tenant }),
        Array.from({ length: 70 }, (_, i) => `walrus ${i}`)
      )
      const from = scopeOf(earliest!)
      const to = { ...from, tier: "session", anchor: "c1" } as const
      const promoted = [{ id: earliest!.id, typology: "episodic" }] as const
      yield* store.compound({ from, to, promoted, repeated: [] })
      const found = textsOf(yield* store.candidates([to], ["walrus"]))
      assert.lengthOf(found, 64)
      assert.notInclude(found, "a walrus")
      assert.include(found, "walrus 69")
    })
  )
}
