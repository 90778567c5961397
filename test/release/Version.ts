/**
 * Versions of Semantic Versioning 2.0.0 and their order. Build metadata is left out: npm ignores it.
 */
const number = "(?:0|[1-9]\\d*)"
const identifier = `(?:${number}|\\d*[a-zA-Z-][\\da-zA-Z-]*)`
const pattern = new RegExp(
  `^(${number})\\.(${number})\\.(${number})(?:-(${identifier}(?:\\.${identifier})*))?$`
)

export const isVersion = (text: string): boolean => pattern.test(text)

/** Whether npm needs a tag to publish it, because it comes before the version that it is named after. */
export const isPreRelease = (version: string): boolean => version.includes("-")

/** Of two numbers in digits, however large. */
const compareNumbers = (a: string, b: string): number =>
  a.length === b.length ? Number(a > b) - Number(a < b) : a.length - b.length

/** Numbers come before words, and a list before a longer one that begins with it. */
const compareIdentifiers = (a: string | undefined, b: string | undefined): number => {
  if (a === undefined || b === undefined) return Number(b === undefined) - Number(a === undefined)
  const [isNumber, isOther] = [a, b].map((each) => /^\d+$/.test(each))
  if (isNumber && isOther) return compareNumbers(a, b)
  if (isNumber !== isOther) return isNumber ? -1 : 1
  return Number(a > b) - Number(a < b)
}

const firstDifference = (
  a: ReadonlyArray<string>,
  b: ReadonlyArray<string>,
  compare: (a: string | undefined, b: string | undefined) => number
): number => {
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const order = compare(a[i], b[i])
    if (order !== 0) return order
  }
  return 0
}

const partsOf = (version: string) => {
  const [, major = "0", minor = "0", patch = "0", pre] = pattern.exec(version) ?? []
  return { numbers: [major, minor, patch], pre: pre?.split(".") }
}

/** Whether a version comes after another one. */
export const isNewer = (version: string, than: string): boolean => {
  const [a, b] = [partsOf(version), partsOf(than)]
  const order = firstDifference(a.numbers, b.numbers, (x = "0", y = "0") => compareNumbers(x, y))
  if (order !== 0) return order > 0
  // One without identifiers comes after all that have some.
  if (a.pre === undefined || b.pre === undefined) return a.pre === undefined && b.pre !== undefined
  return firstDifference(a.pre, b.pre, compareIdentifiers) > 0
}
