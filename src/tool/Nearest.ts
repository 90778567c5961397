/**
 * The name that was probably meant, for an error that helps.
 */

/** Small edit distance, for "did you mean"; only names of at most 64 characters come here. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const below = [i]
    for (let j = 1; j <= b.length; j++) {
      below.push(
        Math.min(row[j]! + 1, below[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1))
      )
    }
    row = below
  }
  return row[b.length]!
}

/** ` Did you mean "x"?` with a leading space, or nothing when no name is near. */
export const nearest = (name: string, names: Iterable<string>): string => {
  let best: string | undefined
  let least = Math.max(2, name.length >> 1)
  for (const each of names) {
    const d = distance(name.toLowerCase().slice(0, 64), each.toLowerCase())
    if (d < least) {
      least = d
      best = each
    }
  }
  return best === undefined ? "" : ` Did you mean "${best}"?`
}
