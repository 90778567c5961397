/**
 * Globs of scopes: `*` matches any text, slashes included, `?` one character, `[a-z]` one of a set and `[!a-z]` one that
 * is not in it. Case-sensitive; the whole text has to match. Not compiled to a regular expression, whose backtracking over
 * several stars can take exponential time.
 */
type Piece = "*" | ((character: string) => boolean)

/** The set whose first character is at `at`, behind its `[`, and the index of its `]`; undefined without a `]`. */
const setAt = (
  pattern: ReadonlyArray<string>,
  at: number
): { readonly is: (character: string) => boolean; readonly end: number } | undefined => {
  const negated = pattern[at] === "!"
  const first = negated ? at + 1 : at
  // A `]` that comes first is a member of the set.
  const end = pattern.indexOf("]", first + 1)
  if (end === -1) return undefined
  const ranges: Array<readonly [string, string]> = []
  for (let i = first; i < end; i++) {
    const [low = "", dash, high] = pattern.slice(i, Math.min(i + 3, end))
    if (dash === "-" && high !== undefined) {
      ranges.push([low, high])
      i += 2
    } else ranges.push([low, low])
  }
  const within = (character: string) =>
    ranges.some(([low, high]) => low <= character && character <= high)
  return { is: negated ? (character) => !within(character) : within, end }
}

const parsed = (glob: string): ReadonlyArray<Piece> => {
  const pattern = [...glob]
  const pieces: Array<Piece> = []
  // The last character of the set that was read last.
  let behind = -1
  for (const [i, each] of pattern.entries()) {
    if (i <= behind) continue
    const set = each === "[" ? setAt(pattern, i + 1) : undefined
    if (each === "*") {
      if (pieces.at(-1) !== "*") pieces.push("*")
    } else if (each === "?") pieces.push(() => true)
    else if (set === undefined) pieces.push((character) => character === each)
    else {
      pieces.push(set.is)
      behind = set.end
    }
  }
  return pieces
}

/** Whether the text matches the glob. The time is bounded by the product of their lengths. */
export const globMatches = (glob: string, text: string): boolean => {
  const pieces = parsed(glob)
  const characters = [...text]
  let piece = 0
  let at = 0
  let star = -1
  let resume = 0
  for (let each = characters[0]; each !== undefined; each = characters[at]) {
    const next = pieces[piece]
    if (next === "*") {
      star = piece++
      resume = at
    } else if (next !== undefined && next(each)) {
      piece++
      at++
    } else if (star === -1) return false
    else {
      piece = star + 1
      at = ++resume
    }
  }
  while (pieces[piece] === "*") piece++
  return piece === pieces.length
}
