/**
 * Why each call of a run ran, waits or was refused, read from the run's events: what was asked, who decided or had authorised it,
 * and what the gate said. What the journal does not have is not guessed.
 */
import type { Decision } from "../../src/approval/Approval.ts"
import { cutText } from "../../src/value/CutText.ts"
import type { CallId } from "../../src/value/Ids.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { JournalEntry, Outcome } from "../../src/run/RunEvent.ts"
import type { Html } from "./Html.ts"
import { boundedJson, element } from "./Html.ts"
import type { View } from "./Shell.ts"
import { tableBody, tableOf } from "./Shell.ts"

/** A step on the way of a call, and the event that has it. */
export interface Reason {
  readonly words: string
  readonly seq: number
}

/** A call, and its way so far. */
export interface ReasonedCall {
  readonly id: CallId
  readonly tool: string
  readonly agent: string
  readonly arguments: unknown
  readonly reasons: ReadonlyArray<Reason>
  readonly isSettled: boolean
}

interface OpenCall extends ReasonedCall {
  readonly reasons: Array<Reason>
  isSettled: boolean
}

/** The longest text of a person or a tool in a reason, in UTF-16 units. */
const words_max = 300
/** What is shown of a call's arguments, in UTF-16 units. */
const arguments_max = 2_000

const decided: Readonly<Record<Decision["_tag"], string>> = {
  Approve: "approved",
  Deny: "denied",
  RequestRevision: "sent back",
  Modify: "approved with other arguments"
}

const through = (by: string, via: string | undefined): string =>
  via === undefined ? by : `${by} through ${via}`

const quoted = (text: string | undefined): string =>
  text === undefined || text === "" ? "" : `: “${cutText(text, words_max)}”`

const saidIn = (decision: Decision): string | undefined =>
  decision._tag === "Deny" ? decision.reason : decision.note

/** Of a call that no rule and no tool asked about. */
const unasked = "ran without a question"

const ended = (outcome: Outcome): string => {
  switch (outcome._tag) {
    case "Value":
      return "gave a result"
    case "Failed": {
      const { class: name, kind, message, reason = kind } = outcome.error
      const how = name === "ToolPolicyError" ? "refused by the gate" : "failed"
      return `${how} (${reason})${quoted(message)}`
    }
    default:
      // What a person answered stands before it.
      return {
        Denied: "did not run",
        Revised: "did not run",
        Expired: "expired",
        Cancelled: "cancelled",
        Unknown: "outcome unknown"
      }[outcome._tag]
  }
}

/** What an event says of its call; undefined = nothing. */
const wordsOf = ({ event }: JournalEntry, isAsked: boolean): string | undefined => {
  switch (event._tag) {
    case "ApprovalRequested": {
      const { approvers } = event
      return `asked of ${approvers.length === 0 ? "any approver or operator" : approvers.join(", ")}, under policy ${event.policy_version}`
    }
    case "ClientRequested":
      return "sent to the conversation's client"
    case "ApprovalDecided":
      return `${decided[event.decision._tag]} by ${through(event.by, event.via)}${quoted(saidIn(event.decision))}`
    case "ApprovalClosed":
      return event.by === undefined ? event.how : `${event.how} by ${through(event.by, event.via)}`
    case "CallDispatched": {
      const { authorized } = event
      if (authorized !== undefined) return `ran, authorised in advance by ${authorized.by}`
      return isAsked ? "ran" : unasked
    }
    case "CallUnknown":
      return "its outcome became unknown"
    case "CallReopened":
      return `to run again, said ${through(event.by, event.via)}`
    case "CallSettled": {
      const { by, outcome, repeats, via } = event
      if (repeats !== undefined) return "gave the result of an equal call, and did not run"
      // Of a decision it stands before it who took it.
      const isSettled = by !== undefined && ["Failed", "Value"].includes(outcome._tag)
      return ended(outcome) + (isSettled ? `, said ${through(by, via)}` : "")
    }
    case "FrameOpened":
      return `${event.agent} was asked`
    default:
      return undefined
  }
}

/** The calls of a run in the order in which they were proposed. */
export const reasonedCalls = (
  entries: ReadonlyArray<JournalEntry>
): ReadonlyArray<ReasonedCall> => {
  const agents = new Map<string, string>()
  const calls = new Map<CallId, OpenCall>()
  for (const entry of entries) {
    const { event, seq } = entry
    if (event._tag === "RunAccepted") agents.set(rootFrame, event.agent ?? event.address.agent)
    if (event._tag === "FrameOpened") agents.set(event.frame, event.agent)
    if (event._tag === "HandedOff") agents.set(rootFrame, event.to)
    if (event._tag === "ModelTurned") {
      const { frame, step } = event
      for (const [place, { arguments: args, name: tool }] of event.calls.entries()) {
        const id = callId(frame, step, place)
        const agent = agents.get(frame) ?? frame
        const reasons = [{ words: `proposed by ${agent}`, seq }]
        calls.set(id, { id, tool, agent, arguments: args, reasons, isSettled: false })
      }
    }
    const call = "call" in event && event.call !== undefined ? calls.get(event.call) : undefined
    const isAsked = call?.reasons.some(({ words }) => words.startsWith("asked ")) === true
    const words = call === undefined ? undefined : wordsOf(entry, isAsked)
    if (call === undefined || words === undefined) continue
    // A read is not dispatched: that it began stands in its end.
    const hasBegun = event._tag === "CallSettled" && event.started_at !== undefined
    if (hasBegun && !call.reasons.some((each) => each.words.startsWith("ran"))) {
      call.reasons.push({ words: isAsked ? "ran" : unasked, seq })
    }
    call.reasons.push({ words, seq })
    // A person may still say what became of a call whose outcome is unknown.
    call.isSettled = event._tag === "CallSettled" && event.outcome._tag !== "Unknown"
  }
  return [...calls.values()]
}

/** The most calls that a page has; its events have all. */
const calls_max = 200

const callRow = ({ agent, arguments: args, id, reasons, tool }: ReasonedCall): Html => {
  const { missing, text } = boundedJson(args, arguments_max)
  return element(
    "tr",
    {},
    element(
      "td",
      {},
      element("b", {}, tool),
      element("p", { class: "small quiet" }, `${agent}, call ${id}`)
    ),
    element(
      "td",
      { class: "wide" },
      element(
        "details",
        {},
        element("summary", {}, cutText(text, 80)),
        element("pre", { tabindex: 0 }, text),
        missing > 0 && element("p", { class: "quiet small" }, `${missing} more characters`)
      )
    ),
    element(
      "td",
      { class: "wide" },
      element(
        "ol",
        { class: "chain" },
        reasons.map(({ seq, words }) =>
          element("li", {}, element("a", { href: `#event-${seq}` }, words))
        )
      )
    )
  )
}

/** So many calls have a body of their table. */
const body_calls = 10

const callBodies = (view: View, calls: ReadonlyArray<ReasonedCall>): ReadonlyArray<Html> =>
  Array.from({ length: Math.ceil(calls.length / body_calls) }, (_, at) => {
    const those = calls.slice(at * body_calls, (at + 1) * body_calls)
    const isSettled = those.length === body_calls && those.every((call) => call.isSettled)
    const last = Math.max(...those.flatMap(({ reasons }) => reasons.map(({ seq }) => seq)))
    // Another page of the run has other calls in its first body.
    const id = `calls-${those[0]?.id}`
    return tableBody(view, id, isSettled ? last : undefined, () => those.map(callRow))
  })

/** The calls of a run, each with its way. */
export const callTable = (view: View, calls: ReadonlyArray<ReasonedCall>): Html =>
  element(
    "section",
    {},
    element("h2", {}, "Calls, and why"),
    calls.length === 0
      ? element("p", { class: "quiet" }, "No call was proposed.")
      : element(
          "div",
          { class: "panel scroll" },
          tableOf(["Call", "Arguments", "Why"], callBodies(view, calls.slice(0, calls_max)))
        ),
    calls.length > calls_max &&
      element("p", { class: "quiet small" }, `The first ${calls_max} of ${calls.length} are shown.`)
  )
