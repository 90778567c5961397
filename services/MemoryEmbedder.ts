/**
 * Computes a vector of a text. A recall ranks memories by these vectors, besides their words and age. The default is local and
 * deterministic: texts with the same trigrams have near vectors. A provider's embedder can replace it.
 */
import { Context, Effect, Schema } from "effect"
import { localVector } from "../src/memory/TextVector.ts"

/** No vector was computed: the memory is stored, or recalled, without one. */
export class EmbeddingFailed extends Schema.TaggedError<EmbeddingFailed>()("EmbeddingFailed", {
  /** Why there is no vector. */
  message: Schema.String
}) {}

/** Turns texts into vectors, by which memories are recalled. */
export interface MemoryEmbedder {
  /** Vectors of different names are not compared. At most 200 characters. */
  readonly name: string
  /** Returns 1 to 4,096 finite numbers, the same count for each text. */
  readonly embed: (text: string) => Effect.Effect<ReadonlyArray<number>, EmbeddingFailed>
}

export const MemoryEmbedder = Context.Reference<MemoryEmbedder>("troupe/services/MemoryEmbedder", {
  defaultValue: () => ({
    name: "trigrams-128",
    embed: (text) => Effect.succeed(localVector(text))
  })
})
