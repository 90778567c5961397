/**
 * Cuts texts without splitting a surrogate pair, half of which could not be written as UTF-8.
 */

const cut_mark = "…"

/**
 * The first units of a text, as a text of its own. What `slice` gives is to V8 a view of the whole text, which stays in memory as
 * long as the view: some thousand units of a result would hold its megabytes.
 */
export const beginningOf = (text: string, units: number): string =>
  JSON.parse(JSON.stringify(text.slice(0, units))) as string

/** The first `units_max` UTF-16 units of the text, at least 0, or one unit less where the cut would split a surrogate pair. */
export const truncateUnits = (text: string, units_max: number): string => {
  if (text.length <= units_max) return text
  const last = text.charCodeAt(units_max - 1)
  return beginningOf(text, last >= 0xd800 && last <= 0xdbff ? units_max - 1 : units_max)
}

/** Like `truncateUnits`, but a text that is cut ends with `…`, which counts as one of its `units_max` units (at least 1). */
export const cutText = (text: string, units_max: number): string =>
  text.length <= units_max ? text : truncateUnits(text, units_max - cut_mark.length) + cut_mark
