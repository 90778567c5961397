/**
 * What a customer may use, and what it sees of its own conversation in the feed, in the history and in answers. It uses the agents
 * that are meant for customers, in conversations that it began itself; everything else does not exist for it. Only the events,
 * members and outcomes that are listed in this file are shown, so that those that are added elsewhere later stay hidden.
 */
import type { ToolFailure } from "../error/ToolError.ts"
import { failureTextForUser } from "../error/ToolError.ts"
import type { ApprovalPayload } from "../approval/Approval.ts"
import type { ApprovalId, CallId, FrameId } from "../value/Ids.ts"
import type { NoticeContent } from "../delivery/Notice.ts"
import { frameDepth, frameOpenedBy, rootFrame, AgentName } from "../value/Ids.ts"
import type { Source } from "../run/ProviderWork.ts"
import type {
  ApprovalRequested,
  EndStatus,
  FinishReason,
  Outcome,
  RunEnded,
  RunEvent
} from "../run/RunEvent.ts"
import type { WorkspaceAgentAuthorization } from "../permission/Authorization.ts"
import type { Principal } from "../principal/Principal.ts"
import type { FilePart, Part } from "./Part.ts"
import type { Conversation, ConversationMessage, InitiatedBy } from "./Conversation.ts"
import { Schema, Struct } from "effect"
import type { NotEntitled } from "../principal/NotEntitled.ts"
import type { RightName } from "../principal/Rights.ts"
import { isLimitedToOwn, ownRefusal } from "../principal/Rights.ts"
import { defined } from "../value/PlainObject.ts"

/** A customer named an agent that is not open to customers. The error does not say whether that agent exists. */
export class NotForCustomers extends Schema.TaggedError<NotForCustomers>()("NotForCustomers", {
  customer_agents: Schema.Array(AgentName)
}) {
  override get message(): string {
    return this.customer_agents.length === 0
      ? "No agent of this service speaks with customers: its setting customer_agents names none."
      : `Customers speak with ${this.customer_agents.join(", ")} only.`
  }
}

/** The error if the principal may not use this right with this agent; undefined = it may. */
export const agentRefusal = (
  by: Principal,
  right: RightName,
  agent: AgentName,
  customer_agents: ReadonlyArray<AgentName>
): NotForCustomers | undefined =>
  !isLimitedToOwn(by, right) || customer_agents.includes(agent)
    ? undefined
    : new NotForCustomers({ customer_agents })

/**
 * Whether the principal may use this right in a conversation that `begun_by` began. If not, callers report the conversation like
 * one that does not exist.
 */
export const isOpenTo = (
  by: Principal,
  right: RightName,
  begun_by: Conversation["begun_by"]
): boolean => !isLimitedToOwn(by, right) || begun_by === by.id

/**
 * The error if the message has a member that customers may not set; undefined = it has none. The answer schema is part of the
 * instructions, tools trust the context, and a conversation that a customer did not begin may be handed over to agents for staff.
 */
export const messageRefusal = (
  by: Principal,
  message: {
    readonly answer_schema?: unknown
    readonly context?: unknown
    readonly initiated_by?: InitiatedBy | undefined
  }
): NotEntitled | undefined => {
  const { answer_schema, context, initiated_by = "customer" } = message
  const isPlain =
    answer_schema === undefined && context === undefined && initiated_by === "customer"
  return isPlain || !isLimitedToOwn(by, "send") ? undefined : ownRefusal(by, "send")
}

/** A failure in words for end users. It contains no tool name, no argument of a call and no error kind. */
interface CustomerFailure {
  readonly message: string
}

/** Why a text is not complete. */
export type CustomerFinish = Exclude<FinishReason, "stop" | "tool_calls">

/** An event as a customer reads it. Its members have the same names as for staff. */
export type CustomerEvent =
  | {
      readonly _tag: "RunAccepted"
      readonly message: string
      readonly parts?: ReadonlyArray<Part>
    }
  | {
      readonly _tag: "ModelTurned"
      readonly frame: FrameId
      readonly step: number
      readonly text: string
      /** Always empty, because customers do not see calls. It exists for clients that also read the events for staff. */
      readonly calls: readonly []
      /** Absent where the text is complete, and where the turn ended with calls. */
      readonly finish?: CustomerFinish
    }
  /** A person is asked, has answered, or is no longer asked. The event does not say who, what or how. */
  | { readonly _tag: "ApprovalRequested" | "ApprovalDecided" | "ApprovalClosed" }
  /** Customers may decide this question, because the tool lists them in its `approvers`. */
  | {
      readonly _tag: "ApprovalRequested"
      readonly approval: ApprovalId
      readonly payload: ApprovalPayload
      readonly expires_at?: number
    }
  /** The conversation's client is asked for the result of a call. The call is in the list of waiting calls. */
  | { readonly _tag: "ClientRequested" }
  | {
      readonly _tag: "CallSettled"
      readonly outcome: { readonly _tag: "Failed"; readonly error: CustomerFailure }
    }
  /** Another agent, which is also open to customers, continues the conversation. */
  | { readonly _tag: "HandedOff"; readonly to: AgentName }
  | { readonly _tag: "RunStopping"; readonly status: EndStatus }
  /**
   * The run ended. `reason` repeats the status, because the real reason may be a person's own words. The text is empty unless
   * the run completed.
   */
  | {
      readonly _tag: "RunEnded"
      readonly status: EndStatus
      readonly reason: string
      readonly text: string
      /** The agent that answered, if it is not the one that the conversation began with. */
      readonly agent?: AgentName
      readonly finish?: CustomerFinish
      readonly sources?: ReadonlyArray<Source>
      readonly files?: ReadonlyArray<FilePart>
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

/** The members of an answer that customers see besides its text: the agent, the files, the sources and how it ended. */
const ofAnswer = ({
  agent,
  files,
  finish,
  sources
}: Pick<RunEnded, "agent" | "files" | "finish" | "sources">) => ({
  ...ofFinish(finish),
  ...defined({ agent, sources: sources?.map(sourceOf), files: files?.map(fileOf) })
})

const fileOf = ({ digest, media_type, name, size, type }: FilePart): FilePart => ({
  type,
  digest,
  media_type,
  size,
  ...defined({ name })
})

const partOf = (part: Part): Part =>
  part.type === "text" ? { type: part.type, text: part.text } : fileOf(part)

const sourceOf = ({ document, title, url }: Source): Source => defined({ url, title, document })

/**
 * A failure's text for customers. Failures of the runtime name tools and arguments, so they get a text of their own; a tool's
 * own failures are written for its users.
 */
const failureText = (error: ToolFailure): string => {
  if (error.reason === undefined) return failureTextForUser(error)
  switch (error.class) {
    case "ToolUserError":
      return "This could not be done as it was asked for."
    case "ToolPolicyError":
      return "This is not allowed."
    case "ToolTransientError":
    case "ToolTerminalError":
      return failureTextForUser(error)
  }
}

const settled = (call: CallId, outcome: Outcome, by: string | undefined) => {
  // Not what failed below a specialist, and not what an operator settled, in words of his own.
  if (outcome._tag !== "Failed" || by !== undefined || frameDepth(frameOpenedBy(call)) > 1)
    return undefined
  const { error } = outcome
  return {
    _tag: "CallSettled",
    outcome: { _tag: "Failed", error: { message: failureText(error) } }
  } as const
}

const asked = ({ approval, approvers, expires_at, payload }: ApprovalRequested): CustomerEvent =>
  approvers.includes("customer")
    ? {
        _tag: "ApprovalRequested",
        approval,
        payload: {
          tool_name: payload.tool_name,
          agent_name: payload.agent_name,
          args_summary: payload.args_summary,
          effect_description: payload.effect_description,
          correlation_id: payload.correlation_id
        },
        ...defined({ expires_at })
      }
    : { _tag: "ApprovalRequested" }

export const customerEnd = (event: RunEnded) => {
  const { finish, status, text } = event
  const ended = { _tag: "RunEnded", status, reason: status } as const
  return status === "complete"
    ? { ...ended, text, ...ofAnswer(event) }
    : { ...ended, text: "", ...ofFinish(finish) }
}

/**
 * A notice, or what a channel delivers of it, for a customer: without the ids of the run and the approval, and of a question only
 * that a person is asked.
 */
export const customerNotice = <N extends NoticeContent>({
  approval: _approval,
  run_id: _run_id,
  ...notice
}: N) => (notice.kind === "question" ? { ...notice, text: "A person is asked to decide." } : notice)

const partsIn = ({ parts }: { readonly parts?: ReadonlyArray<Part> }) =>
  defined({ parts: parts?.map(partOf) })

/** The form that a customer sees; undefined = a customer does not see it. */
export const customerEvent = (event: RunEvent): CustomerEvent | undefined => {
  switch (event._tag) {
    case "RunAccepted":
      return { _tag: "RunAccepted", message: event.message, ...partsIn(event) }
    case "ModelTurned": {
      const { finish, frame, step, text } = event
      // A turn without a text only has calls, or is empty.
      return frame === rootFrame && text !== ""
        ? { _tag: "ModelTurned", frame, step, text, calls: [], ...ofFinish(finish) }
        : undefined
    }
    case "ApprovalRequested":
      return asked(event)
    case "ApprovalDecided":
    case "ApprovalClosed":
    case "ClientRequested":
      return { _tag: event._tag }
    case "CallSettled":
      return settled(event.call, event.outcome, event.by)
    case "HandedOff":
      return { _tag: "HandedOff", to: event.to }
    case "RunStopping":
      return { _tag: "RunStopping", status: event.status }
    case "RunEnded":
      return customerEnd(event)
    default:
      return undefined
  }
}

/**
 * Whether a customer sees these pieces of a turn in progress: only the text of the run's own agent, and nothing of reasoning,
 * tools or specialists.
 */
export const isForCustomers = (frame: FrameId, kind: "text" | "reasoning" | "output"): boolean =>
  kind === "text" && frame === rootFrame

/**
 * Whether a customer sees a file: those of messages and answers, but not those of tool results, which customers do not see
 * either.
 */
export const isFileForCustomers = (as: "upload" | "message" | "result" | "answer"): boolean =>
  as === "message" || as === "answer"

/** The form that a customer sees; undefined = a customer does not see it. */
export const customerMessage = (message: ConversationMessage): ConversationMessage | undefined => {
  const { channel_origin, content, conversation, created_at, role, run_id, seq } = message
  if (role !== "user" && role !== "assistant") return undefined
  const answer = { ...defined({ run_id }), ...ofAnswer(message), ...partsIn(message) }
  return { conversation, seq, role, content, channel_origin, ...answer, created_at }
}

export const customerConversation = (conversation: Conversation): Conversation =>
  Struct.pick(conversation, ["id", "tenant", "address", "initiated_by", "created_at"])

/** Stands for a person whose id customers are not shown. */
export const other_person = "another person"

/** An authorisation as this customer sees it: its own id, and nobody else's. */
export const customerAuthorization = (
  given: WorkspaceAgentAuthorization,
  { id }: Principal
): WorkspaceAgentAuthorization => {
  const shown = (person: string) => (person === id ? id : other_person)
  const { granted_by, revoked_by } = given
  return {
    ...given,
    granted_by: shown(granted_by),
    ...defined({ revoked_by: revoked_by && shown(revoked_by) })
  }
}
