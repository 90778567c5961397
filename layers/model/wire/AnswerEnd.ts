/**
 * Detects the end of a streamed answer. Some clients wait for the end of the connection, which an endpoint may keep open; others
 * stop reading as soon as they have what they need, which closes the connection if its end comes a moment later. Private to this
 * room.
 */

const last_type = "(?:response\\.(?:completed|incomplete|failed)|message_stop|message-end)"
const last_name = new RegExp(`^event: ?${last_type}$`)
const last_begin = new RegExp(`^\\s*\\{\\s*"type"\\s*:\\s*"${last_type}"`)

/**
 * Whether an event, given by its lines and data, ends an answer of chat completions, Responses, Anthropic or Cohere. Gemini has
 * no such event.
 */
export const isLast = (event: ReadonlyArray<string>, data: string): boolean =>
  data === "[DONE]" || last_begin.test(data) || event.some((line) => last_name.test(line))

/** How long, in ms, and how many bytes after the last event the end of the connection may come. */
const end_ms_max = 200
const end_bytes_max = 65_536

/** Reads a body to its end, so that the connection can serve the next request. A connection that does not end soon is closed. */
const readToEnd = async (reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> => {
  const late = setTimeout(() => void reader.cancel().catch(() => {}), end_ms_max)
  try {
    for (let bytes = 0; bytes < end_bytes_max;) {
      const { value } = await reader.read()
      if (value === undefined) return
      bytes += value.byteLength
    }
    await reader.cancel()
  } catch {
    // The answer is there: nobody asks how its connection ended.
  } finally {
    clearTimeout(late)
  }
}

/** The same body, except that a reader who cancels it after `isOver` is true does not close its connection. */
export const leavable = (
  body: ReadableStream<Uint8Array>,
  isOver: () => boolean
): ReadableStream<Uint8Array> => {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { value } = await reader.read()
      if (value === undefined) controller.close()
      else controller.enqueue(value)
    },
    cancel(reason) {
      if (!isOver()) return reader.cancel(reason)
      void readToEnd(reader)
      return undefined
    }
  })
}
