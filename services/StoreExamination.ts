/**
 * What an examination of a store's database finds while it is used: what it promises, its clock, its limits. It names no tenant.
 */
import { Context, Effect } from "effect"
import type { Finding } from "../src/value/Finding.ts"
import type { StoreError } from "./StoreError.ts"

export interface StoreExamination {
  /** What is found now, or was at most 10 s ago. Changes nothing. */
  readonly findings: Effect.Effect<ReadonlyArray<Finding>, StoreError>
}

/** The default finds nothing: stores in memory have no database. */
export const StoreExamination = Context.Reference<StoreExamination>(
  "troupe/services/StoreExamination",
  { defaultValue: () => ({ findings: Effect.succeed([]) }) }
)
