/**
 * What a customer may use, and what it sees of its own conversation in the feed, in the history and in answers. It uses the agents
 * that are meant for customers, in conversations that it began itself; everything else does not exist for it. Only the events,
 * members and outcomes that are listed in this file are shown, so that those that are added elsewhere later stay hidden.
 */
import type { ToolFailure } from "../error/ToolError.ts"
import { failureTextForUser } from "../error/ToolError.ts"
import type { ApprovalPayload } from "../approval/Approval.ts"
import type { ApprovalId, CallId, ConversationId, FrameId } from "../value/Ids.ts"
import type { NoticeContent } from "../delivery/Notice.ts"
import { frameDepth, frameOpenedBy, rootFrame, AgentName } from "../value/Ids.ts"
import { guard_refused } from "../run/GuardVerdict.ts"
import { budget_reason } from "../cost/Budget.ts"
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
import type {
  Conversation,
  ConversationItem,
  ConversationMessage,
  InitiatedBy
} from "./Conversation.ts"
import { ConversationNotFound } from "./Conversation.ts"
import { Schema, Struct } from "effect"
import type { Branch } from "../run/Branch.ts"
import { NotEntitled } from "../principal/NotEntitled.ts"
import type { RightName } from "../principal/Rights.ts"
import { isLimitedToOwn, ownRefusal } from "../principal/Rights.ts"
import { defined } from "../value/PlainObject.ts"

/** A customer named an agent that is not open to customers. The error does not say whether that agent exists. */
export class NotForCustomers extends Schema.TaggedError<NotForCustomers>()("NotForCustomers", {
  /** The agents that are open to customers. */
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
 * How the ids begin under which a customer may begin conversations: with its own id and a colon, so that nobody's id is taken, found
 * out or used again by somebody else. A character of its id that ids of conversations cannot have, or a colon, stands there as `~`
 * and the four hexadecimal digits of each of its UTF-16 units: `auth0|7` begins `auth0~007c7:`.
 */
export const ownPrefix = ({ id }: Pick<Principal, "id">): string =>
  `${id.replaceAll(/[^A-Za-z0-9._@-]/g, (unit) => `~${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)}:`

/** Whether the id is one under which this customer may begin a conversation. */
export const isOwnName = (by: Principal, id: ConversationId): boolean =>
  id.startsWith(ownPrefix(by)) && id.length > ownPrefix(by).length

/** The error of a customer's message that names a conversation which is not its own, whether there is one or not. */
export const notItsOwn = (by: Principal, id: ConversationId): ConversationNotFound =>
  new ConversationNotFound({ id, begins: `${ownPrefix(by)}NAME` })

/**
 * The error if the message has a member that customers may not set; undefined = it has none. The answer schema is part of the
 * instructions, tools trust the context, the metadata is the application's, and a conversation that a customer did not begin may be handed over to agents for staff.
 */
export const messageRefusal = (
  by: Principal,
  message: {
    readonly answer_schema?: unknown
    readonly context?: unknown
    readonly initiated_by?: InitiatedBy | undefined
    readonly metadata?: unknown
  }
): NotEntitled | undefined => {
  const { answer_schema: answer, context, initiated_by = "customer", metadata } = message
  const given = Object.entries({ answer, context, metadata }).find(
    ([, value]) => value !== undefined
  )
  const member = given?.[0] ?? (initiated_by === "customer" ? undefined : "initiated_by")
  if (member === undefined || !isLimitedToOwn(by, "send")) return undefined
  return new NotEntitled({ principal: by.id, needs: ownRefusal(by, "send").needs, member })
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
      /** Absent = the message follows the one before it. */
      readonly branch?: Branch
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
   * The run ended. `reason` repeats the status, because the real reason may be a person's own words, except `budget`. The text is
   * empty unless the run completed, or a guard refused it: then it says why.
   */
  | {
      readonly _tag: "RunEnded"
      readonly status: EndStatus
      readonly reason: string
      readonly text: string
      /** What to tell the customer where a budget ended the run; its `reason` is `budget` then. */
      readonly message?: string
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

const used_up = "What may be used here is used up for now. Please try again later."

export const customerEnd = (event: RunEnded) => {
  const { finish, reason, status, text } = event
  // What a guard says of its refusal is for the sender.
  const told = reason === guard_refused ? text : ""
  const ended = { _tag: "RunEnded", status, reason: status } as const
  return status === "complete"
    ? { ...ended, text, ...ofAnswer(event) }
    : { ...ended, text: told, ...ofFinish(finish), ...ofBudget(event) }
}

/** What a customer reads of a question: neither what is asked, nor who decides it and why. */
const customer_texts: Partial<Record<NoticeContent["kind"], string>> = {
  question: "A person is asked to decide.",
  settled: "The question is closed."
}

/** Not which budget it was, whose, or how much it has: a tenant's is none of a customer's business. */
const ofBudget = ({ reason, status }: RunEnded) =>
  status === "failed" && reason === budget_reason ? { reason, message: used_up } : undefined

/**
 * A notice, or what a channel delivers of it, for a customer: without the ids of the run and the approval, and of a question only
 * that a person is asked.
 */
export const customerNotice = <N extends NoticeContent>({
  approval: _approval,
  run_id: _run_id,
  ...notice
}: N) => {
  const text = customer_texts[notice.kind]
  return text === undefined ? notice : { ...notice, text }
}

const branchOf = ({ after, replaces }: Branch): Branch => ({ replaces, after })

const partsIn = ({ parts }: { readonly parts?: ReadonlyArray<Part> }) =>
  defined({ parts: parts?.map(partOf) })

/** The form that a customer sees; undefined = a customer does not see it. */
export const customerEvent = (event: RunEvent): CustomerEvent | undefined => {
  switch (event._tag) {
    case "RunAccepted":
      return {
        _tag: "RunAccepted",
        message: event.message,
        ...partsIn(event),
        ...defined({ branch: event.branch && branchOf(event.branch) })
      }
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
 * Whether a customer sees a file: those of messages and answers, among them those that a tool attached for the customer, but not
 * other files of tool results, which customers do not see either.
 */
export const isFileForCustomers = (as: "upload" | "message" | "result" | "answer"): boolean =>
  as === "message" || as === "answer"

/** The form that a customer sees; undefined = a customer does not see it. */
export const customerMessage = (message: ConversationMessage): ConversationMessage | undefined => {
  const {
    channel_origin,
    content,
    conversation,
    created_at,
    imported,
    role,
    run_id,
    seq,
    superseded
  } = message
  if (role !== "user" && role !== "assistant") return undefined
  const answer = {
    ...defined({ run_id, imported, superseded }),
    ...ofAnswer(message),
    ...partsIn(message)
  }
  return { conversation, seq, role, content, channel_origin, ...answer, created_at }
}

export const customerConversation = (conversation: Conversation): Conversation =>
  Struct.pick(conversation, ["id", "tenant", "address", "initiated_by", "created_at"])

/** As `customerConversation`, in a list. */
export const customerConversationItem = (item: ConversationItem): ConversationItem => {
  const { active_at, cursor, last_message, messages, status, title } = item
  return {
    ...customerConversation(item),
    ...defined({ title, last_message }),
    status: status === "quarantined" ? "processing" : status,
    messages,
    active_at,
    cursor
  }
}

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
