/**
 * How many batches of appends are written at a time where many wait: one where the engine has one connection, as PGlite has.
 */
import { Context } from "effect"

export const BatchWriters = Context.Reference<number>("troupe/sql/BatchWriters", {
  defaultValue: () => 1
})
