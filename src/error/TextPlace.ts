/** A range `[from, to)` of a text, in UTF-16 units. */
export interface TextPlace {
  readonly from: number
  readonly to: number
}
