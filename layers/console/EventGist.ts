/** The words of an event that stand for it in a row. */
import type { Decision } from "../../src/approval/Approval.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"

/** What a person added to a decision. */
const said = (decision: Decision): string => {
  const words = decision._tag === "Deny" ? decision.reason : decision.note
  return words === undefined ? "" : `: “${words}”`
}

/** What of an event stands in its row; the whole of it is behind it. */
export const eventGist = ({ event }: JournalEntry): string => {
  switch (event._tag) {
    case "RunAccepted":
      return `${event.by}: “${event.message}”`
    case "ModelTurned":
      return [event.text, ...event.calls.map(({ name }) => `proposes ${name}`)]
        .filter((each) => each !== "")
        .join("; ")
    case "FrameOpened":
      return `${event.agent}: “${event.input}”`
    case "ApprovalRequested":
    case "ClientRequested":
      return event.payload.effect_description
    case "ApprovalDecided":
      return `${event.decision._tag} by ${event.by}${said(event.decision)}`
    case "CallSettled":
      return `${event.call}: ${event.outcome._tag === "Failed" ? event.outcome.error.message : event.outcome._tag}`
    case "Guarded":
      return `${event.guard}: ${event.verdict} (${event.on})`
    case "RunEnded":
      return event.text
    default:
      return "call" in event ? event.call : ""
  }
}
