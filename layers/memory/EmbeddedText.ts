/**
 * The direction of a text's vector, or undefined where no vector could be made. An embedder that fails, breaks or does not answer
 * in time costs no memory, because a memory is useful without a vector; a warning is logged.
 */
import { Cause, Effect } from "effect"
import type { MemoryEmbedder } from "../../services/MemoryEmbedder.ts"
import { sanitiseError } from "../../src/error/Exception.ts"
import type { NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import type { Direction } from "../../src/memory/TextVector.ts"
import { packDirection, vectorDirection } from "../../src/memory/TextVector.ts"

/** How long an embedder may take, in ms: a run waits for the vector of its message before its first turn. */
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

/** The members of a row for its text's vector; empty where there is none. */
export const embedded = (
  embedder: MemoryEmbedder,
  text: string
): Effect.Effect<Pick<NewMemoryRow, "embedding" | "embedded_by">> =>
  Effect.map(textDirection(embedder, text), (direction) =>
    direction === undefined
      ? {}
      : { embedding: packDirection(direction), embedded_by: embedder.name }
  )
