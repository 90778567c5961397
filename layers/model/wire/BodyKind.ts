/**
 * Tells a body of one JSON value from a stream of events by its first character, because its content type may be wrong. Amazon's
 * streams are frames of bytes, which begin with a zero.
 */

/** White space and a byte order mark, which are skipped; at most 65,536 bytes of them. */
const blank = new Set([0x20, 0x09, 0x0a, 0x0d, 0xef, 0xbb, 0xbf])
const blank_bytes_max = 65_536

export interface Known {
  readonly isJson: boolean
  readonly isFrames: boolean
  /** The complete body, including the part that was read to recognise it. */
  readonly body: ReadableStream<Uint8Array>
}

/** Reads a body up to the first character that is not skipped. An empty body is not JSON. */
export const kindOf = async (body: ReadableStream<Uint8Array>): Promise<Known> => {
  const reader = body.getReader()
  const read: Array<Uint8Array> = []
  let bytes = 0
  let first: number | undefined
  let done = false
  while (first === undefined && !done && bytes < blank_bytes_max) {
    const piece = await reader.read()
    done = piece.done
    if (piece.value === undefined) continue
    read.push(piece.value)
    bytes += piece.value.byteLength
    first = piece.value.find((byte) => !blank.has(byte))
  }
  const again = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const early = read.shift()
      if (early !== undefined) return controller.enqueue(early)
      const piece = done ? undefined : await reader.read()
      if (piece?.value !== undefined) controller.enqueue(piece.value)
      else controller.close()
    },
    cancel: (reason) => reader.cancel(reason)
  })
  return { isJson: first === 0x7b || first === 0x5b, isFrames: first === 0, body: again }
}
