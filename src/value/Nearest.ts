/**
 * Suggestions for a name that is not known.
 */
import { truncateUnits } from "./CutText.ts"

/** How many characters of a name are compared: the time grows with the product of two lengths. */
const names_units_max = 64

/** The edit distance of two names of at most 64 characters. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    let [corner, left] = [i - 1, i]
    row = row.map((above, j) => {
      if (j === 0) return i
      left = Math.min(above + 1, left + 1, corner + (a[i - 1] === b[j - 1] ? 0 : 1))
      corner = above
      return left
    })
  }
  return row.at(-1) ?? 0
}

/** ` Did you mean "x"?` with a leading space, or nothing when no name is near. */
export const didYouMean = (name: string, names: Iterable<string>): string => {
  let best: string | undefined
  // Cut first: lowering the letters of a very long name takes longer than everything else.
  const near = name.slice(0, names_units_max).toLowerCase()
  let least = Math.max(2, near.length >> 1)
  for (const each of names) {
    const d = distance(near, each.slice(0, names_units_max).toLowerCase())
    if (d < least) {
      least = d
      best = each
    }
  }
  return best === undefined ? "" : ` Did you mean "${best}"?`
}

const names_max = 20

/** The name that was probably meant, or, where none is near, at most 20 of the known names. */
export const suggestNames = (name: string, names: ReadonlyArray<string>): string =>
  didYouMean(name, names) || listNames(names)

/** ` There is: x, y.` with a leading space and at most 20 of the names, or nothing when there are none. */
export const listNames = (names: ReadonlyArray<string>): string => {
  if (names.length === 0) return ""
  const more = names.length > names_max ? `, and ${names.length - names_max} more` : ""
  return ` There is: ${names.slice(0, names_max).join(", ")}${more}.`
}

/** A text about members of arguments that their JSON Schema does not have; empty where it has them all. */
export const strayMembers = (given: unknown, schema: Readonly<Record<string, unknown>>): string => {
  const { properties } = schema
  if (typeof given !== "object" || given === null || Array.isArray(given)) return ""
  if (typeof properties !== "object" || properties === null) return ""
  const names = Object.keys(properties)
  return Object.keys(given)
    .filter((name) => !Object.hasOwn(properties, name))
    .slice(0, 3)
    .map((name) => ` It takes no "${truncateUnits(name, 64)}".${suggestNames(name, names)}`)
    .join("")
}
