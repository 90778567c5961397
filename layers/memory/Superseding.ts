/**
 * Replaces memories that are no longer true. The named row gets a successor, and so does each other row of the address that says
 * the same fact: otherwise a recall would give the fact in those words again.
 */
import { Effect } from "effect"
import type { Remembered } from "../../services/AgentMemory.ts"
import type { MemoryStore } from "../../services/MemoryStore.ts"
import { typologyOf } from "../../src/memory/Classification.ts"
import { MemoryRefused, noSuchMemory, supersedingFault } from "../../src/memory/MemoryRefused.ts"
import type { MemoryRow, NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import { isDuplicate } from "../../src/memory/NearDuplicate.ts"
import { factsOf } from "../../src/memory/RowFacts.ts"

type Store = MemoryStore["Service"]

const isLate = (error: unknown): boolean =>
  error instanceof MemoryRefused && error.reason === "superseded"

/** The outcome for a row that has a successor: only a note with the successor's key has been stored before. */
const late = Effect.fnUntraced(function* (store: Store, row: NewMemoryRow, old: MemoryRow) {
  const { agent, superseded_by: id, tenant } = old
  const successor = id === undefined ? undefined : yield* store.get({ tenant, agent, id })
  if (row.key === undefined || successor?.key !== row.key) {
    return yield* supersedingFault(old) ?? noSuchMemory()
  }
  const repeated: Remembered = { row: successor, isNew: false, superseded: old }
  return repeated
})

/** Stores the row in the place of `old`. `candidates` are rows of the address that may say the same. */
export const supersede = Effect.fnUntraced(function* (
  store: Store,
  row: NewMemoryRow,
  old: MemoryRow,
  candidates: ReadonlyArray<MemoryRow>
) {
  if (supersedingFault(old) !== undefined) return yield* late(store, row, old)
  const { said } = factsOf(old)
  const { key: _, ...again } = row
  // The named row comes last, so that a repetition after a crash replaces those that are left.
  for (const each of candidates) {
    if (each.id === old.id || !isDuplicate(said, factsOf(each).said)) continue
    const { anchor, id: supersedes, tier } = each
    const typology = typologyOf(tier, row.text, undefined)
    const other = store.add({ ...again, anchor, tier, typology, supersedes })
    yield* Effect.catchIf(other, isLate, () => Effect.void)
  }
  const named = Effect.map(store.add(row), (stored): Remembered => {
    const isNew = stored.at === row.at && stored.text === row.text
    return { row: stored, isNew, superseded: old }
  })
  return yield* Effect.catchIf(named, isLate, () =>
    Effect.flatMap(store.get(old), (now) => late(store, row, now ?? old))
  )
})
