/**
 * The place to which an agent's memory belongs, and how much of it is put into a run's prompt.
 */
import { Effect, Schema } from "effect"
import { AnchorKind } from "./MemoryAnchors.ts"

export const MemorySpec = Schema.Struct({
  /**
   * The place to which the persistent tier belongs: the tenant (`workspace`), a `world`, or the sender (`operator`). The last
   * two need conversations whose ids name it (`AnchorMismatch`). Absent = `workspace`.
   */
  anchor: AnchorKind.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed("workspace" as const)),
    Schema.withConstructorDefault(Effect.succeed("workspace" as const))
  ),
  /**
   * How much memory is put into the prompt of a run's first turn, in tokens, at most 100,000. 0 = none; only tools recall.
   * Absent = 1,000.
   */
  recall_tokens_max: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100_000 })).pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(1_000)),
    Schema.withConstructorDefault(Effect.succeed(1_000))
  )
})
export interface MemorySpec extends Schema.Schema.Type<typeof MemorySpec> {}
