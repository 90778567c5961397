/**
 * The event of a published version of a world. It is an outbox message, written in the transaction that publishes the version.
 * From these events, other contexts keep their own view of worlds and need not query them.
 */
import { Schema } from "effect"
import type { Effect } from "effect"
import type { InvalidInput } from "../../../schema/InvalidInput.ts"
import { inputReader } from "../../../schema/InvalidInput.ts"
import { WorldId } from "./WorldId.ts"

/** The topic of its messages. */
export const world_published_topic = "world.version.published"

const Count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000_000 }))

const Share = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 1 }))

/** A published version, as the card of its world shows it. */
export const WorldVersionPublished = Schema.Struct({
  world_id: WorldId,
  version: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 })),
  name: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  /** The domain that the world judges, in a sentence. */
  domain: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(1_000)),
  /** When the version was published; ms since 1970. */
  published_at: Schema.Int,
  rules: Count,
  topics: Count,
  /** Evaluation cases with known verdicts. */
  cases: Count,
  /** The share of topics with rules that have enough cases, 0 to 1; 1 if there are no rules. */
  coverage: Share,
  /** The lowest pass rate of its EvalSets, 0 to 1. Absent = none was run. */
  pass_rate_min: Schema.optionalKey(Share)
})
export interface WorldVersionPublished extends Schema.Schema.Type<typeof WorldVersionPublished> {}

const read = inputReader(WorldVersionPublished)

/** Decodes the payload of a message with this topic. Fails if it does not fit. */
export const readWorldPublished = (
  payload: unknown
): Effect.Effect<WorldVersionPublished, InvalidInput> => read(payload, "payload")
