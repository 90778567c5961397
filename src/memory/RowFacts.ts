/**
 * What a recall and a note need to know of a row, each made when it is first asked for, once for a row. A row does not change: a
 * store gives another one for it when it is told again, moved or superseded, and nothing of this is kept longer than its row.
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

  /** By which it is found. */
  get words(): ReadonlySet<string> {
    return (this.#words ??= new Set(rowWords(this.#row.text)))
  }

  get said(): ComparableText {
    return (this.#said ??= new ComparableText(this.#row.text))
  }

  /** Of its embedding; undefined where it has none. */
  get direction(): Direction | undefined {
    const { embedding } = this.#row
    if (embedding === undefined) return undefined
    return (this.#direction ??= unpackDirection(embedding))
  }

  /** Every run that is told of the row has this very one. */
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
