/**
 * Cuts texts between characters: half a surrogate pair is no text, and does not survive a write as UTF-8.
 */

const cut_mark = "…"

/** The text up to so many UTF-16 units, at least 0, never half a surrogate pair. */
export const truncateUnits = (text: string, units_max: number): string => {
  if (text.length <= units_max) return text
  const last = text.charCodeAt(units_max - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? units_max - 1 : units_max)
}

/** The same with `…` as the last of its units, at least 1, where something is cut. */
export const cutText = (text: string, units_max: number): string =>
  text.length <= units_max ? text : truncateUnits(text, units_max - cut_mark.length) + cut_mark
