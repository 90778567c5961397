/** Where something stands in a text, in UTF-16 units: from the first to behind the last. */
export interface TextPlace {
  readonly from: number
  readonly to: number
}
