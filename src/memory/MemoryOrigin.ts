/**
 * The origin of a memory that a tool's call writes.
 */
import type { CallId, RunId } from "../value/Ids.ts"
import type { MemoryAuthor, MemoryOrigin } from "./MemoryRow.ts"

/**
 * The origin for a memory that a handler writes in its `call`. `author` is `model` if the model chose the text, and `tool` if
 * the tool made it.
 */
export const originOfCall = (
  { call, run }: { readonly run: RunId; readonly call: CallId },
  author: MemoryAuthor = "tool"
): MemoryOrigin => {
  const step = Number(/\/(\d+)\.\d+$/.exec(call)?.[1])
  return {
    source: "tool_call",
    author,
    run,
    ...(Number.isSafeInteger(step) ? { step } : undefined),
    call
  }
}
