import { Context } from "effect"

/** Whether a store may be created or migrated when it is opened. False for a command that only examines a store. */
export const MayUpgrade = Context.Reference<boolean>("troupe/sql/MayUpgrade", {
  defaultValue: () => true
})
