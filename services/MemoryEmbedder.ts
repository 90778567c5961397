/**
 * Makes a vector of a text, by which a recall ranks memories beside their words and age. The default is local and
 * deterministic: texts with the same trigrams have near vectors. A provider's takes its place.
 */
import { Context, Effect, Schema } from "effect"
import { localVector } from "../src/memory/TextVector.ts"

/** No vector was made: the memory is stored, or recalled, without one. */
export class EmbeddingFailed extends Schema.TaggedError<EmbeddingFailed>()("EmbeddingFailed", {
  message: Schema.String
}) {}

export interface MemoryEmbedder {
  /** Vectors of different names are not compared. At most 200 characters. */
  readonly name: string
  /** 1 to 4,096 finite numbers, as many for each text. */
  readonly embed: (text: string) => Effect.Effect<ReadonlyArray<number>, EmbeddingFailed>
}

export const MemoryEmbedder = Context.Reference<MemoryEmbedder>("troupe/services/MemoryEmbedder", {
  defaultValue: () => ({
    name: "trigrams-128",
    embed: (text) => Effect.succeed(localVector(text))
  })
})
