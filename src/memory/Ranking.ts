/**
 * The order in which memories are recalled: by what they share with the query, and by age. Pure, so that every store's
 * candidates are ordered alike.
 */
import type { MemoryRow, MemoryTier, Typology } from "./MemoryRow.ts"
import { rowWords } from "./SearchWords.ts"

const day_ms = 86_400_000

/** After so many days an age weighs half; what is the case and how things are done ages slowly. */
const half_life_days: Readonly<Record<Typology, number>> = {
  episodic: 14,
  semantic: 365,
  procedural: 365
}

/** The shares of words, of the embedding and of the age in a score. */
const weights = { words: 0.55, vector: 0.2, age: 0.25 }

export interface Query {
  readonly words: ReadonlyArray<string>
  /** How near the row's embedding is to the query's, 0 to 1; absent = unknown. */
  readonly nearness?: (row: MemoryRow) => number
  /** ms since 1970. */
  readonly now: number
}

export interface Ranked {
  readonly row: MemoryRow
  readonly score: number
}

const tier_order: Readonly<Record<MemoryTier, number>> = {
  interaction: 0,
  session: 1,
  persistent: 2
}

const ageOf = ({ at, typology }: MemoryRow, now: number): number =>
  0.5 ** (Math.max(0, now - at) / day_ms / half_life_days[typology])

/** Best first. A persistent row that shares nothing with the query is left out, unless the query has no words. */
export const rank = (rows: ReadonlyArray<MemoryRow>, query: Query): ReadonlyArray<Ranked> => {
  const found = rows.map((row) => new Set(rowWords(row.text)))
  const rarity = query.words.map((word) => {
    const count = found.reduce((sum, words) => sum + (words.has(word) ? 1 : 0), 0)
    return count === 0 ? 0 : Math.log(1 + rows.length / count)
  })
  const total = rarity.reduce((sum, each) => sum + each, 0)
  const ranked = rows.flatMap((row, i): ReadonlyArray<Ranked> => {
    const shared = query.words.reduce(
      (sum, word, place) => sum + (found[i]?.has(word) === true ? (rarity[place] ?? 0) : 0),
      0
    )
    if (shared === 0 && query.words.length > 0 && row.tier === "persistent") return []
    const words = total === 0 ? 0 : shared / total
    const vector = query.nearness?.(row) ?? words
    return [
      {
        row,
        score: weights.words * words + weights.vector * vector + weights.age * ageOf(row, query.now)
      }
    ]
  })
  return ranked.toSorted(
    (a, b) =>
      b.score - a.score ||
      b.row.at - a.row.at ||
      tier_order[a.row.tier] - tier_order[b.row.tier] ||
      (a.row.id < b.row.id ? -1 : 1)
  )
}
