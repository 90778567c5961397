/**
 * The description of a system for people who judge it.
 */
import { Schema } from "effect"
import { Moment, Text, FrameworkId, SystemId } from "./Fact.ts"

/** How many limits a system's card may have. */
export const limits_max = 50

export const SystemCard = Schema.Struct({
  system_id: SystemId,
  name: Text(200),
  purpose: Text(1_000),
  owner: Text(200),
  /** The framework by which the system is evaluated. Absent = none was chosen. */
  framework_id: Schema.optionalKey(FrameworkId),
  /** What it is built of: models, tools, sources. */
  parts: Schema.Array(Text(200)).check(Schema.isMaxLength(50)),
  /** What the system must not be used for, and what it is known to do badly. */
  limits: Schema.Array(Text(500)).check(Schema.isMaxLength(limits_max)),
  updated_at: Moment
})
export interface SystemCard extends Schema.Schema.Type<typeof SystemCard> {}
