/** What a proposal changed after a person had sent the one before back, read from the events of its run. */
import type { Approval } from "../../src/approval/Approval.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"

/** The proposal that was sent back, by whom, and what should be different. */
export interface SentBack {
  readonly arguments: unknown
  readonly by: string
  readonly note: string
}

/** The last proposal of the same tool that was sent back before this one was made; undefined = none was. */
export const sentBackBefore = (
  entries: ReadonlyArray<Pick<JournalEntry, "event">>,
  { id, tool_key }: Pick<Approval, "id" | "tool_key">
): SentBack | undefined => {
  const proposed = new Map<string, unknown>()
  let last: SentBack | undefined
  for (const { event } of entries) {
    if (event._tag === "ApprovalRequested") {
      if (event.approval === id) return last
      if (event.tool_key === tool_key) proposed.set(event.approval, event.arguments)
    }
    if (
      event._tag === "ApprovalDecided" &&
      event.decision._tag === "RequestRevision" &&
      proposed.has(event.approval)
    ) {
      const { approval, by, decision } = event
      last = { arguments: proposed.get(approval), by, note: decision.note }
    }
  }
  return undefined
}
