/**
 * The origin of what a call writes.
 */
import type { CallId, RunId } from "../Ids.ts"
import type { MemoryAuthor, MemoryOrigin } from "./MemoryRow.ts"

/** Of a call's handler: its `call`. `author`: `model` where the model chose the text, `tool` where the tool made it. */
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
