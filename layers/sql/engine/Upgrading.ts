/**
 * How a store is opened: whether it may be upgraded, and what does not limit its migrations.
 */
import { Context } from "effect"

/** Whether a store may be created or migrated when it is opened. False for a command that only examines a store. */
export const MayUpgrade = Context.Reference<boolean>("troupe/sql/MayUpgrade", {
  defaultValue: () => true
})

export const AnswerUnlimited = Context.Reference<boolean>("troupe/sql/AnswerUnlimited", {
  defaultValue: () => false
})
