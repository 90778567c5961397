/**
 * The direction of a text's vector, or none where none could be made: a memory is useful without one.
 */
import { Effect } from "effect"
import type { MemoryEmbedder } from "../../services/MemoryEmbedder.ts"
import type { NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import type { Direction } from "../../src/memory/TextVector.ts"
import { packDirection, vectorDirection } from "../../src/memory/TextVector.ts"

export const textDirection = (
  { embed }: MemoryEmbedder,
  text: string
): Effect.Effect<Direction | undefined> =>
  Effect.match(embed(text), { onFailure: () => undefined, onSuccess: vectorDirection })

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
