/**
 * Ranks memories for a recall, by the words that they share with the query, by nearness and by age. It is pure, so candidates
 * from every store are ordered alike.
 */
import type { MemoryRow, MemoryTier, Typology } from "./MemoryRow.ts"
import type { RowFacts } from "./RowFacts.ts"
import { factsOf } from "./RowFacts.ts"

const day_ms = 86_400_000

/** After how many days the weight of a row's age is halved. Semantic and procedural memories age slowly. */
const half_life_days: Readonly<Record<Typology, number>> = {
  episodic: 14,
  semantic: 365,
  procedural: 365
}

const weights = { words: 0.55, vector: 0.2, age: 0.25 }

export interface Query {
  /** At most 32 words, because a row's matches are a 32-bit mask. `queryWords` gives at most 12. */
  readonly words: ReadonlyArray<string>
  /** How near the row's embedding is to the query's, 0 to 1. Absent = the share of common words is used in its place. */
  readonly nearness?: (row: MemoryRow, facts: RowFacts) => number
  /** The current time, in ms since 1970. */
  readonly now: number
}

export interface Ranked {
  readonly row: MemoryRow
  readonly facts: RowFacts
  readonly score: number
}

const tier_order: Readonly<Record<MemoryTier, number>> = {
  interaction: 0,
  session: 1,
  persistent: 2
}

const ageOf = ({ at, typology }: MemoryRow, now: number): number =>
  0.5 ** (Math.max(0, now - at) / day_ms / half_life_days[typology])

/** A bit mask of the words that the row contains. */
const sharedWords = ({ words }: RowFacts, sought: ReadonlyArray<string>): number => {
  let bits = 0
  for (let i = 0; i < sought.length; i++) if (words.has(sought[i] ?? "")) bits |= 1 << i
  return bits
}

const weigh = (bits: number, by: ReadonlyArray<number>): number => {
  let sum = 0
  for (let i = 0; i < by.length; i++) if ((bits & (1 << i)) !== 0) sum += by[i] ?? 0
  return sum
}

/** The weight of each word: the fewer rows contain it, the greater it is. */
const raritiesOf = (
  words: ReadonlyArray<string>,
  shared: ReadonlyArray<number>
): ReadonlyArray<number> =>
  words.map((_, i) => {
    let count = 0
    for (const bits of shared) count += (bits >>> i) & 1
    return count === 0 ? 0 : Math.log(1 + shared.length / count)
  })

/** Best first. A persistent row that shares no word with the query is left out, unless the query has no words. */
export const rank = (rows: ReadonlyArray<MemoryRow>, query: Query): ReadonlyArray<Ranked> => {
  const facts = rows.map(factsOf)
  const shared = facts.map((each) => sharedWords(each, query.words))
  const rarities = raritiesOf(query.words, shared)
  const total = rarities.reduce((sum, each) => sum + each, 0)
  const ranked: Array<Ranked> = []
  for (let i = 0; i < rows.length; i++) {
    const row = rows[i]
    const own = facts[i]
    const bits = shared[i] ?? 0
    if (row === undefined || own === undefined) continue
    if (bits === 0 && query.words.length > 0 && row.tier === "persistent") continue
    const words = total === 0 ? 0 : weigh(bits, rarities) / total
    const vector = query.nearness?.(row, own) ?? words
    const score =
      weights.words * words + weights.vector * vector + weights.age * ageOf(row, query.now)
    ranked.push({ row, facts: own, score })
  }
  return ranked.sort(
    (a, b) =>
      b.score - a.score ||
      b.row.at - a.row.at ||
      tier_order[a.row.tier] - tier_order[b.row.tier] ||
      (a.row.id < b.row.id ? -1 : 1)
  )
}

/** Without those that say what a newer one says too. The newest row of a fact stands where the best of its rows was. */
export const withoutRepetitions = (ranked: ReadonlyArray<Ranked>): ReadonlyArray<Ranked> => {
  const newest = new Map<string, Ranked>()
  for (const each of ranked) {
    const fact = each.facts.said.fact || each.row.id
    const known = newest.get(fact)
    if (known === undefined || each.row.at > known.row.at) newest.set(fact, each)
  }
  return [...newest.values()]
}
