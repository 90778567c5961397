/**
 * Values that are computed from a memory row, each at its first use and once for a row object. This is safe because row objects
 * never change: a store makes a new object when a row is repeated, moved or superseded. No value is kept longer than its row
 * object.
 */
import type { MemoryRow } from "./MemoryRow.ts"
import { ComparableText } from "./NearDuplicate.ts"
import type { RecalledLine } from "./RecalledLines.ts"
import { lineOf } from "./RecalledLines.ts"
import { rowWords } from "./SearchWords.ts"
import type { Direction } from "./TextVector.ts"
import { unpackDirection } from "./TextVector.ts"

class RowFacts {
  readonly #row: MemoryRow
  #words: ReadonlySet<string> | undefined
  #said: ComparableText | undefined
  #direction: Direction | undefined
  #line: RecalledLine | undefined

  constructor(row: MemoryRow) {
    this.#row = row
  }

  /** The words by which searches find the row. */
  get words(): ReadonlySet<string> {
    return (this.#words ??= new Set(rowWords(this.#row.text)))
  }

  get said(): ComparableText {
    return (this.#said ??= new ComparableText(this.#row.text))
  }

  /** The direction of the row's embedding; undefined if it has none. */
  get direction(): Direction | undefined {
    const { embedding } = this.#row
    if (embedding === undefined) return undefined
    return (this.#direction ??= unpackDirection(embedding))
  }

  /** The row's line for prompts. All runs that recall the row share this object. */
  get line(): RecalledLine {
    return (this.#line ??= Object.freeze(lineOf(this.#row)))
  }
}
export type { RowFacts }

const known = new WeakMap<MemoryRow, RowFacts>()

export const factsOf = (row: MemoryRow): RowFacts => {
  let facts = known.get(row)
  if (facts === undefined) known.set(row, (facts = new RowFacts(row)))
  return facts
}
