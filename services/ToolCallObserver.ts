/**
 * Observers of completed calls, for logs, metrics and recordings. The process that appended a call's event calls them once per
 * logical call, after the event is durable. They are synchronous and must not throw.
 */
import { Context } from "effect"
import type { ToolCompleted } from "../src/tool/CallRecord.ts"

export type ToolCallObserver = (fact: ToolCompleted) => void

export const ToolCallObservers = Context.Reference<ReadonlyArray<ToolCallObserver>>(
  "troupe/services/ToolCallObservers",
  { defaultValue: () => [] }
)
