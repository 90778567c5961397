/**
 * Who is told of completed calls: logs, metrics, recordings. Called once per logical call, after its event is durable,
 * by the process that appended it. Observers are synchronous and must not throw.
 */
import { Context } from "effect"
import type { ToolCompleted } from "../src/tool/ToolCallMetadata.ts"

export type ToolCallObserver = (fact: ToolCompleted) => void

export const ToolCallObservers = Context.Reference<ReadonlyArray<ToolCallObserver>>(
  "troupe/services/ToolCallObservers",
  { defaultValue: () => [] }
)
