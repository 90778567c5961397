/**
 * The text of a run's turns as its reader has it, who may have been away: what comes twice is left out, what was missed comes from
 * the journal, and a turn that was begun anew says so.
 */

/** The text that was given of a turn: its length in UTF-16 units, and its hash. */
export interface GivenText {
  readonly step: number
  readonly length: number
  readonly hash: number
}

/** A piece of a turn, or that its pieces so far are void. `cursor`: where the reader stands behind it. */
export type TurnPart =
  | {
      readonly type: "text"
      readonly step: number
      readonly text: string
      readonly cursor: string
    }
  | { readonly type: "restart"; readonly step: number; readonly cursor: string }

/** Of no text. The offset basis of FNV-1a with 32 bits. */
const hash_empty = 0x811c9dc5

/** Continues the hash over a text: FNV-1a over its UTF-16 units. */
const hashed = (hash: number, text: string): number => {
  let next = hash
  for (let at = 0; at < text.length; at++) {
    next = Math.imul(next ^ text.charCodeAt(at), 0x01000193)
  }
  return next >>> 0
}

const nothingOf = (step: number): GivenText => ({ step, length: 0, hash: hash_empty })

export class TurnText {
  readonly #cursorOf: (open: GivenText | undefined) => string
  /** What was given of the turn in progress, or of the last one. */
  #given: GivenText
  /** The journal has the text of the turns up to this one; pieces of them that come later are outdated. */
  #settled = 0

  /** `cursorOf` makes the cursor of a place behind the reader's last event, and within the turn in progress if it has a text. */
  constructor(
    cursorOf: (open: GivenText | undefined) => string,
    given: GivenText | undefined = nothingOf(0)
  ) {
    this.#cursorOf = cursorOf
    this.#given = given
  }

  get cursor(): string {
    const { length, step } = this.#given
    return this.#cursorOf(step > this.#settled && length > 0 ? this.#given : undefined)
  }

  /** Takes a piece of a turn in progress. */
  delta(step: number, text: string, offset: number): ReadonlyArray<TurnPart> {
    if (step <= this.#settled) return []
    if (step !== this.#given.step) this.#given = nothingOf(step)
    // The turn from its start: it was begun anew, or this is all of it so far.
    else if (offset === 0 && this.#given.length > 0) return this.#anew(step, text)
    // The reader came within the turn, or pieces were left out: the text will come from the journal.
    if (offset !== this.#given.length || text === "") return []
    return this.#give(step, text)
  }

  /** Takes the turn as it was journaled, and returns the part of it that was not given yet. */
  turned(step: number, text: string): ReadonlyArray<TurnPart> {
    if (step !== this.#given.step) this.#given = nothingOf(step)
    const parts = this.#anew(step, text)
    this.#settled = Math.max(this.#settled, step)
    return parts
  }

  /** The text of a turn from its start: what follows what was given, or all of it, where it does not begin with that. */
  #anew(step: number, text: string): ReadonlyArray<TurnPart> {
    const { hash, length } = this.#given
    const isSame = text.length >= length && hashed(hash_empty, text.slice(0, length)) === hash
    if (isSame) return text.length === length ? [] : this.#give(step, text.slice(length))
    this.#given = nothingOf(step)
    const restart: TurnPart = { type: "restart", step, cursor: this.cursor }
    return text === "" ? [restart] : [restart, ...this.#give(step, text)]
  }

  #give(step: number, text: string): ReadonlyArray<TurnPart> {
    const { hash, length } = this.#given
    this.#given = { step, length: length + text.length, hash: hashed(hash, text) }
    return [{ type: "text", step, text, cursor: this.cursor }]
  }
}
