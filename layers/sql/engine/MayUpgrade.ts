import { Context } from "effect"

/** May a store be made or brought up to date where it is opened? Not by a command that only looks at one. */
export const MayUpgrade = Context.Reference<boolean>("troupe/sql/MayUpgrade", {
  defaultValue: () => true
})
