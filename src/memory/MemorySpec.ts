/**
 * What an agent's memory belongs to, and how much of it a run is told.
 */
import { Effect, Schema } from "effect"
import { AnchorKind } from "./MemoryAnchors.ts"

export const MemorySpec = Schema.Struct({
  /** What the persistent tier belongs to; `world` and `operator` need conversations that name it. */
  anchor: AnchorKind.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("workspace" as const)),
    Schema.withConstructorDefault(Effect.succeed("workspace" as const))
  ),
  /** What a run's first turn is told of memory, in tokens; 0 = nothing: only tools recall. */
  recall_tokens_max: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(1_000)),
    Schema.withConstructorDefault(Effect.succeed(1_000))
  )
})
export interface MemorySpec extends Schema.Schema.Type<typeof MemorySpec> {}
