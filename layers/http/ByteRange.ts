/**
 * The piece of a file that a request wants (RFC 9110, section 14).
 */

/** Bytes from `from` up to and without `to`. */
export interface ByteRange {
  readonly from: number
  readonly to: number
}

/**
 * Undefined = the whole file: no range is wanted, or one that cannot be read, in another unit, or several at once, which a server
 * may ignore. `beyond`: the file has no byte of it.
 */
export const rangeOf = (
  header: string | undefined,
  size: number
): ByteRange | "beyond" | undefined => {
  const found = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.replaceAll(" ", "") ?? "")
  if (found === null) return undefined
  const [, first = "", last = ""] = found
  if (first === "") {
    if (last === "") return undefined
    const length = Math.min(Number(last), size)
    return length === 0 ? "beyond" : { from: size - length, to: size }
  }
  const from = Number(first)
  if (last !== "" && Number(last) < from) return undefined
  if (from >= size) return "beyond"
  return { from, to: last === "" ? size : Math.min(Number(last) + 1, size) }
}
