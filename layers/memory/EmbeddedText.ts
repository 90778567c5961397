/**
 * The vector of a text, or none where none could be made: a memory is useful without one.
 */
import { Effect } from "effect"
import type { MemoryEmbedder } from "../../services/MemoryEmbedder.ts"
import type { NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import { packVector } from "../../src/memory/TextVector.ts"

type Embedded = Pick<NewMemoryRow, "embedding" | "embedded_by">

export const embedded = ({ embed, name }: MemoryEmbedder, text: string): Effect.Effect<Embedded> =>
  Effect.match(embed(text), {
    onFailure: (): Embedded => ({}),
    onSuccess: (vector): Embedded => {
      const embedding = packVector(vector)
      return embedding === undefined ? {} : { embedding, embedded_by: name }
    }
  })
