/**
 * The part of a file that a request asks for (RFC 9110, section 14).
 */

/** The bytes from `from` up to but not including `to`. */
export interface ByteRange {
  readonly from: number
  readonly to: number
}

/**
 * The range of a `Range` header. Undefined = the whole file: the header is absent, malformed, in another unit, or asks for
 * several ranges, all of which a server may ignore. `beyond`: no byte of the range is in the file.
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
