/**
 * The direction of a text's vector, or none where none could be made: a memory is useful without one. So an embedder that
 * fails, breaks or does not answer costs no memory, and operators are told.
 */
import { Cause, Effect } from "effect"
import type { MemoryEmbedder } from "../../services/MemoryEmbedder.ts"
import { sanitiseError } from "../../src/delivery/SanitisedError.ts"
import type { NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import type { Direction } from "../../src/memory/TextVector.ts"
import { packDirection, vectorDirection } from "../../src/memory/TextVector.ts"

/** A run waits for the vector of its message before its first turn, so an embedder has this long. */
const embed_ms = 10_000

const messageOf = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.squash(cause)
  return sanitiseError(error instanceof Error ? error.message : "it broke")
}

export const textDirection = (
  { embed, name }: MemoryEmbedder,
  text: string
): Effect.Effect<Direction | undefined> =>
  Effect.suspend(() => embed(text)).pipe(
    Effect.map(vectorDirection),
    Effect.timeout(embed_ms),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.as(
            Effect.annotateLogs(
              Effect.logWarning(`an embedder made no vector: ${messageOf(cause)}`),
              { embedder: name }
            ),
            undefined
          )
    )
  )

/** What a row keeps of it. */
export const embedded = (
  embedder: MemoryEmbedder,
  text: string
): Effect.Effect<Pick<NewMemoryRow, "embedding" | "embedded_by">> =>
  Effect.map(textDirection(embedder, text), (direction) =>
    direction === undefined
      ? {}
      : { embedding: packDirection(direction), embedded_by: embedder.name }
  )
