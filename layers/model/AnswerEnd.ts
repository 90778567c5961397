/**
 * The end of a streamed answer: some clients wait for the end of the connection, which an endpoint may hold open, and others
 * leave as soon as they have what they need, which costs the connection where its end comes a moment later. Private to this
 * room.
 */

const last_type = "(?:response\\.(?:completed|incomplete|failed)|message_stop|message-end)"
const last_name = new RegExp(`^event: ?${last_type}$`)
const last_begin = new RegExp(`^\\s*\\{\\s*"type"\\s*:\\s*"${last_type}"`)

/** The event that ends an answer of chat completions, Responses, Anthropic or Cohere, by its lines and data. Gemini has none. */
export const isLast = (event: ReadonlyArray<string>, data: string): boolean =>
  data === "[DONE]" || last_begin.test(data) || event.some((line) => last_name.test(line))

/** How long the end of the connection may come after the last event, in ms, and what else may. */
const end_ms_max = 200
const end_bytes_max = 65_536

/** Reads to the end, so that the connection serves the next request; one that does not end soon is closed. */
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

/** The same body. Whoever leaves it once it `isOver` does not close its connection. */
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
