/**
 * Selects the records of a list that are read.
 */

/** The maximum number of records in a page. */
export const record_page_max = 500

export interface RecordPage {
  /** At most 500. */
  readonly limit: number
  /** The id of the last record of the page before. If it is unknown, the page is empty. */
  readonly after?: string | undefined
}
