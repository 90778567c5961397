/**
 * The most batches of appends that are written at the same time while many appends wait. It is 1 where the engine has one
 * connection, as PGlite has.
 */
import { Context } from "effect"

export const BatchWriters = Context.Reference<number>("troupe/sql/BatchWriters", {
  defaultValue: () => 1
})
