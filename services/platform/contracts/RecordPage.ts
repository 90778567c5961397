/**
 * Which records of a list are read.
 */

/** Records of a page. */
export const record_page_max = 500

export interface RecordPage {
  /** At most 500. */
  readonly limit: number
  /** The id of the last record of the page before: the page begins behind it. Behind an id that is not known there is nothing. */
  readonly after?: string | undefined
}
