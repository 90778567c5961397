/**
 * Tables as CSV (RFC 4180) that a spreadsheet opens as texts: no cell is ever a formula.
 */
import { withVisible } from "./InvisibleText.ts"

/** A number stands as it is; absent = an empty cell. */
export type Cell = string | number | undefined

/**
 * What spreadsheets take for the beginning of a formula, also behind spaces, and the controls that OWASP names with it
 * (owasp.org/www-community/attacks/CSV_Injection).
 */
const begins_formula = /^(?:\s*[=+\-@＝＋－＠]|[\t\r\n])/u

const cellOf = (cell: Cell): string => {
  if (cell === undefined) return ""
  if (typeof cell === "number") return String(cell)
  // A character that is not seen could hide the sign behind it from this check, and not from the reader.
  const text = withVisible(cell)
  const inert = begins_formula.test(text) ? `'${text}` : text
  return `"${inert.replaceAll('"', '""')}"`
}

const lineOf = (cells: ReadonlyArray<Cell>): string => `${cells.map(cellOf).join(",")}\r\n`

/** The table with its header. It begins with a byte order mark, without which Excel does not read it as UTF-8. */
export const csvOf = (
  header: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<Cell>>
): string => `\ufeff${[header, ...rows].map(lineOf).join("")}`
