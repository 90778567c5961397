/** The body of an answer as text, which is read no further than a bound. */
import { Effect, Stream } from "effect"
import type { HttpClientResponse } from "effect/http"

/** What reading fails with. */
interface Failures<E> {
  /** The answer breaks off. */
  readonly broken: E
  /** It is longer than the bound. */
  readonly tooLarge: E
}

/** The text of an answer of at most so many bytes. */
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
