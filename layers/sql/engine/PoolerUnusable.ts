/**
 * The refusal of a pooler. It has a file of its own: a service's types name it, and are read where no driver is installed.
 */
import { Schema } from "effect"

/** The pooler does not give this process sessions of its own. */
export class PoolerUnusable extends Schema.TaggedError<PoolerUnusable>()("PoolerUnusable", {
  /** What the pooler does, and what to do instead. */
  reason: Schema.String
}) {
  override get message(): string {
    return `the pooler in front of PostgreSQL cannot be used: ${this.reason}`
  }
}
