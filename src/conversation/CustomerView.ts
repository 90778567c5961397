/**
 * What a customer sees of a conversation of its own, in the feed, in the history and in answers. Everything is listed
 * here: an event, a member or an outcome that is not named is not shown, whatever is added to it later.
 */
import type { ToolFailure } from "../error/ToolError.ts"
import { userText } from "../error/ToolError.ts"
import type { CallId, FrameId } from "../Ids.ts"
import { depthOf, frameOf, rootFrame } from "../Ids.ts"
import type { Source } from "../run/ProviderWork.ts"
import type { EndStatus, FinishReason, Outcome, RunEnded, RunEvent } from "../run/RunEvent.ts"
import type { Conversation, ConversationMessage } from "./Conversation.ts"

/** What failed, in words that are for end users: no name of a tool, no argument of a call, no kind of an error. */
interface CustomerFailure {
  readonly message: string
}

/** How a text ended that is not whole. */
export type CustomerFinish = Exclude<FinishReason, "stop" | "tool_calls">

/** An event as a customer reads it; its members have the names that they have for staff. */
export type CustomerEvent =
  | { readonly _tag: "RunAccepted"; readonly message: string }
  | {
      readonly _tag: "ModelTurned"
      readonly frame: FrameId
      readonly step: number
      readonly text: string
      /** Always none: what an agent does is not told, so that a client of staff's events reads these too. */
      readonly calls: readonly []
      /** Absent where the text is whole: that a turn ended because it calls tools is what an agent does. */
      readonly finish?: CustomerFinish
    }
  /** A person is asked, has answered, or is asked no more. Not who, what or how. */
  | { readonly _tag: "ApprovalRequested" | "ApprovalDecided" | "ApprovalClosed" }
  | {
      readonly _tag: "CallSettled"
      readonly outcome: { readonly _tag: "Failed"; readonly error: CustomerFailure }
    }
  | { readonly _tag: "RunStopping"; readonly status: EndStatus }
  /** `reason` is the status again: the real one may be a person's own words. The text is empty unless it is complete. */
  | {
      readonly _tag: "RunEnded"
      readonly status: EndStatus
      readonly reason: string
      readonly text: string
      readonly finish?: CustomerFinish
      readonly sources?: ReadonlyArray<Source>
    }

const ofFinish = (finish: FinishReason | undefined): { readonly finish?: CustomerFinish } => {
  switch (finish) {
    case "length":
    case "content_filter":
    case "refusal":
    case "other":
      return { finish }
    default:
      return {}
  }
}

/** What the answer refers to and how it ended are part of it. */
const ofAnswer = ({ finish, sources }: Pick<RunEnded, "finish" | "sources">) => ({
  ...ofFinish(finish),
  ...(sources === undefined ? undefined : { sources: sources.map(sourceOf) })
})

const sourceOf = ({ document, title, url }: Source): Source => ({
  ...(url === undefined ? undefined : { url }),
  ...(title === undefined ? undefined : { title }),
  ...(document === undefined ? undefined : { document })
})

/** The texts that the runtime makes name tools and arguments; those that a tool's author wrote are for its users. */
const failureText = (error: ToolFailure): string => {
  if (error.reason === undefined) return userText(error)
  switch (error.class) {
    case "ToolUserError":
      return "This could not be done as it was asked for."
    case "ToolPolicyError":
      return "This is not allowed."
    case "ToolTransientError":
    case "ToolTerminalError":
      return userText(error)
  }
}

const settled = (call: CallId, outcome: Outcome, by: string | undefined) => {
  // What a specialist tried is between agents, and what an operator settled is in an operator's words.
  if (outcome._tag !== "Failed" || by !== undefined || depthOf(frameOf(call)) > 1) return undefined
  const { error } = outcome
  return {
    _tag: "CallSettled",
    outcome: { _tag: "Failed", error: { message: failureText(error) } }
  } as const
}

export const customerEnd = (event: RunEnded) => {
  const { finish, status, text } = event
  const ended = { _tag: "RunEnded", status, reason: status } as const
  return status === "complete"
    ? { ...ended, text, ...ofAnswer(event) }
    : { ...ended, text: "", ...ofFinish(finish) }
}

/** Undefined = a customer sees nothing of it. */
export const customerEvent = (event: RunEvent): CustomerEvent | undefined => {
  switch (event._tag) {
    case "RunAccepted":
      return { _tag: "RunAccepted", message: event.message }
    case "ModelTurned": {
      const { finish, frame, step, text } = event
      // A turn without a text did something else, or nothing.
      return frame === rootFrame && text !== ""
        ? { _tag: "ModelTurned", frame, step, text, calls: [], ...ofFinish(finish) }
        : undefined
    }
    case "ApprovalRequested":
    case "ApprovalDecided":
    case "ApprovalClosed":
      return { _tag: event._tag }
    case "CallSettled":
      return settled(event.call, event.outcome, event.by)
    case "RunStopping":
      return { _tag: "RunStopping", status: event.status }
    case "RunEnded":
      return customerEnd(event)
    default:
      return undefined
  }
}

/** Pieces of a turn in progress: the answer's own text, and nothing of reasoning, tools or specialists. */
export const isForCustomers = (frame: FrameId, kind: "text" | "reasoning" | "output"): boolean =>
  kind === "text" && frame === rootFrame

/** Undefined = a customer sees nothing of it. */
export const customerMessage = (message: ConversationMessage): ConversationMessage | undefined => {
  const { channel_origin, content, conversation, created_at, role, run_id, seq } = message
  if (role !== "user" && role !== "assistant") return undefined
  const run = run_id === undefined ? undefined : { run_id }
  const answer = ofAnswer(message)
  return { conversation, seq, role, content, channel_origin, ...run, ...answer, created_at }
}

export const customerConversation = (conversation: Conversation): Conversation => {
  const { address, created_at, id, initiated_by, tenant } = conversation
  return { id, tenant, address, initiated_by, created_at }
}
