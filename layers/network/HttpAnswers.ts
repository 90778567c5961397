/** The body of an answer as text, which is read no further than a bound. */
import { Duration, Effect, Result, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"
import { Headers } from "effect/http"

interface Failures<E> {
  readonly broken: E
  readonly tooLarge: E
}

export const answerText = <E>(
  { stream }: HttpClientResponse.HttpClientResponse,
  bytes_max: number,
  { broken, tooLarge }: Failures<E>
): Effect.Effect<string, E> =>
  Stream.mapError(stream, () => broken).pipe(
    Stream.runFoldEffect(
      () => ({ bytes: 0, chunks: Array<Uint8Array>() }),
      (read, chunk) => {
        read.chunks.push(chunk)
        read.bytes += chunk.length
        return read.bytes > bytes_max ? Effect.fail(tooLarge) : Effect.succeed(read)
      }
    ),
    Effect.map(({ chunks }) => new TextDecoder().decode(Buffer.concat(chunks)))
  )

/** Of a member that is absent where the header is, or cannot be read. */
export interface Wait {
  readonly retry_after_ms?: number
}

/** Longer than anybody waits; who retries has a bound of its own. */
const wait_max_ms = 86_400_000

/** Seconds or a date. `now`: ms since 1970. */
export const waitOf = (header: string | undefined, now: number): Wait => {
  const read = header === undefined ? undefined : Headers.parseRetryAfter(header)
  if (read === undefined || Result.isFailure(read)) return {}
  const wait_ms = Duration.toMillis(Headers.retryAfterDelay(read.success, now))
  return { retry_after_ms: Math.min(Math.ceil(wait_ms), wait_max_ms) }
}
