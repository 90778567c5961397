/**
 * A question that is put to a person before a tool may act, or to the client of a conversation whose call it is, and the answer, as
 * it is kept and as people send it. The stored record decides: it outlives the fiber that asked, the process and the machine.
 */
import { DateTime, Schema } from "effect"
import { CheckedJson, CheckedJsonRecord } from "../value/JsonObject.ts"
import { AgentName, ApprovalId, CallId, ConversationId, RunId, Tenant } from "../value/Ids.ts"
import { Role } from "../principal/Principal.ts"
import { textUpTo } from "../value/Bounds.ts"
import { defined } from "../value/PlainObject.ts"

/** Exactly these five members are shown to the person. `correlation_id` is the approval's id. */
export class ApprovalPayload extends Schema.Opaque<ApprovalPayload>()(
  Schema.Struct({
    /** The plain name of the tool. */
    tool_name: Schema.String,
    /** The agent that makes the call. */
    agent_name: Schema.String,
    /** Redacted, at most 600 characters. */
    args_summary: Schema.String,
    /** What the call will do, as the tool says it for people. */
    effect_description: Schema.String,
    /** The id of the approval. */
    correlation_id: ApprovalId
  })
) {}

/** What the client may send as the result of its call. */
export class ClientResult extends Schema.Opaque<ClientResult>()(
  Schema.Struct({
    /** JSON Schema of the result. Absent = any JSON. */
    output_schema: Schema.optionalKey(CheckedJsonRecord)
  })
) {}

/** A reason or a note that a person gives and the journal keeps: 1 to 4,000 characters. */
export const Reason = textUpTo(4_000)

/** The call runs as it was proposed. */
export class Approve extends Schema.Opaque<Approve>()(
  Schema.TaggedStruct("Approve", {
    /** What the person adds, for the journal. Absent = nothing. */
    note: Schema.optionalKey(Reason)
  })
) {}

/** The call does not run. */
export class Deny extends Schema.Opaque<Deny>()(
  Schema.TaggedStruct("Deny", {
    /** Why not: the model reads it. */
    reason: Reason
  })
) {}

/** The call does not run as it is: the model may propose another one. */
export class RequestRevision extends Schema.Opaque<RequestRevision>()(
  Schema.TaggedStruct("RequestRevision", {
    /** What should be different: the model reads it. */
    note: Reason
  })
) {}

/** The call runs with other arguments. */
export class Modify extends Schema.Opaque<Modify>()(
  Schema.TaggedStruct("Modify", {
    /** All arguments of the call, in place of the proposed ones. They are checked again like those of a new call. */
    arguments: CheckedJsonRecord,
    /** What the person adds, for the journal. Absent = nothing. */
    note: Schema.optionalKey(Reason)
  })
) {}

/** What a person may answer. */
export const Decision = Schema.Union([Approve, Deny, RequestRevision, Modify])
export type Decision = typeof Decision.Type

/** `expired`: nobody answered in time. `cancelled`: the run was cancelled. */
export const ApprovalStatus = Schema.Literals(["pending", "decided", "expired", "cancelled"])
export type ApprovalStatus = typeof ApprovalStatus.Type

/** Which questions of a list are first: those that were asked first, or last. */
export const ListOrder = Schema.Literals(["oldest", "newest"])
export type ListOrder = typeof ListOrder.Type

/** A call that waits for a person. Times are in ms since 1970; without `expires_at` it never expires. */
export class Approval extends Schema.Opaque<Approval>()(
  Schema.Struct({
    /** Names the question in `decide`. */
    id: ApprovalId,
    /** Whose run asks. */
    tenant: Tenant,
    /** The run that waits. */
    run_id: RunId,
    /** The call of that run; of a question about a limit an id that no call has. */
    call: CallId,
    /** What the person is shown. */
    payload: ApprovalPayload,
    /** The registry key of the tool, `namespace.name@version`. */
    tool_key: Schema.String,
    /** The complete arguments that the model proposed. */
    arguments: CheckedJson,
    /** SHA-256, hex, over canonical JSON of tenant, run, call, tool key, arguments and policy version. */
    digest: Schema.String,
    /**
     * SHA-256, hex, over canonical JSON of everything that a person is shown (`ShownApproval.ts`). Absent = the question was asked
     * by a version that did not store this digest.
     */
    shown_digest: Schema.optionalKey(Schema.String),
    /** The version of the policy under which it is asked. */
    policy_version: Schema.String,
    /** Who may decide; empty = any approver or operator. */
    approvers: Schema.Array(Role),
    /** When it was asked. */
    requested_at: Schema.Int,
    /** When nobody can answer it any more. Absent = it never expires. */
    expires_at: Schema.optionalKey(Schema.Int),
    /**
     * Present = the client of the conversation answers with the call's result, and nobody approves it. Absent = the question goes
     * to approvers.
     */
    client: Schema.optionalKey(ClientResult),
    /** Whether it waits, was decided, expired or was cancelled. */
    status: ApprovalStatus,
    /** The answer. Absent = there is none yet. */
    decision: Schema.optionalKey(Decision),
    /** The principal who answered. Absent = nobody has. */
    decided_by: Schema.optionalKey(Schema.String),
    /** Who acted for `decided_by`. Absent = it decided itself. */
    decided_via: Schema.optionalKey(Schema.String),
    /** When it was answered. Absent = it was not. */
    decided_at: Schema.optionalKey(Schema.Int),
    /** Set when a pending approval is read whose run is in quarantine. Nobody can decide it until the run is released. */
    quarantined: Schema.optionalKey(Schema.Literal(true)),
    /**
     * Set when a pending approval is read whose record differs from what its run asked, because somebody changed it in the
     * database. It can be denied, or its run cancelled, but it cannot be approved.
     */
    altered: Schema.optionalKey(Schema.Literal(true)),
    /** Set when an approval is read: the conversation of its run. Absent = the run's message is not there any more. */
    conversation: Schema.optionalKey(ConversationId),
    /** The principal whose message began the run, set as `conversation` is. */
    asked_by: Schema.optionalKey(Schema.String),
    /** Who acted for `asked_by`. Absent = it acted itself. */
    asked_via: Schema.optionalKey(Schema.String),
    /** The agent that the message went to, set as `conversation` is; `payload.agent_name` is the one that asks, maybe a specialist. */
    agent: Schema.optionalKey(AgentName),
    /** Its path in the API, such as `/v1/approvals/ID`. Set by the operations on approvals. */
    link: Schema.optionalKey(Schema.String),
    /** Where people see it, as the option `approval_url` says. Absent = there is no such option. */
    url: Schema.optionalKey(Schema.String)
  })
) {}

/** The tenant has no approval with this id. */
export class ApprovalNotFound extends Schema.TaggedError<ApprovalNotFound>()("ApprovalNotFound", {
  /** The id that was asked for. */
  id: Schema.String
}) {
  override get message(): string {
    return `there is no approval ${JSON.stringify(this.id)}`
  }
}

/** The approval was already decided, or its run was cancelled. */
export class ApprovalSettled extends Schema.TaggedError<ApprovalSettled>()("ApprovalSettled", {
  /** The approval. */
  id: Schema.String,
  /** What became of it. */
  status: ApprovalStatus
}) {
  override get message(): string {
    return `approval ${this.id} is ${this.status}; nothing was changed`
  }
}

/** The approval's `expires_at` has passed, whether or not a sweep has marked it as expired yet. */
export class ApprovalExpired extends Schema.TaggedError<ApprovalExpired>()("ApprovalExpired", {
  /** The approval. */
  id: Schema.String,
  /** When it expired, in ms since 1970. */
  expired_at: Schema.Int
}) {
  override get message(): string {
    return `approval ${this.id} expired at ${DateTime.formatIso(DateTime.makeUnsafe(this.expired_at))}`
  }
}

/**
 * The decision does not fit the question: a question about a limit can only be approved or denied, and a client's call takes a
 * result instead of a decision.
 */
export class DecisionUnfit extends Schema.TaggedError<DecisionUnfit>()("DecisionUnfit", {
  /** The approval. */
  id: Schema.String,
  /** The kind of decision that was given. */
  decision: Schema.String,
  /** The kinds that it takes. */
  fits: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `approval ${this.id} takes ${this.fits.join(" or ")}, not ${this.decision}`
  }
}

/** The client's result does not fit the call's output schema. Nothing was changed: the call still waits for a result. */
export class ClientResultRefused extends Schema.TaggedError<ClientResultRefused>()(
  "ClientResultRefused",
  {
    /** The approval of the call. */
    id: Schema.String,
    /** Where the result does not fit, and what is expected there. */
    message: Schema.String
  }
) {}

/**
 * The record that people were shown differs from what the run asked; `fields` names the differences. Nothing was decided. Only a
 * change to the database from outside the runtime causes this.
 */
export class ApprovalAltered extends Schema.TaggedError<ApprovalAltered>()("ApprovalAltered", {
  /** The approval. */
  id: Schema.String,
  /** The members of the record that differ. */
  fields: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `The record of approval ${this.id} was changed since its run asked (${this.fields.join(", ")}); nothing was decided.`
  }
}

/** The error message for a payload of any other shape. */
export const decision_expected =
  'Expected an object whose decision is "approve", "deny" with a reason, "request_revision" with a note, or "modify" with arguments'

/** A decision as it is sent. It has no member for who decided, because the runtime records that itself. */
export const DecisionPayload = Schema.Union([
  Schema.Struct({ decision: Schema.Literal("approve"), note: Schema.optionalKey(Reason) }),
  Schema.Struct({ decision: Schema.Literal("deny"), reason: Reason }),
  Schema.Struct({ decision: Schema.Literal("request_revision"), note: Reason }),
  Schema.Struct({
    decision: Schema.Literal("modify"),
    /** The complete replacement arguments, which are checked again like those of a new call. */
    arguments: CheckedJsonRecord,
    note: Schema.optionalKey(Reason)
  })
]).annotate({ identifier: "Decision", message: decision_expected })
export type DecisionPayload = typeof DecisionPayload.Type

/** The error message for a decision that has neither form. */
export const any_decision_expected = `${decision_expected}; or one of the type Decision, with _tag`

/** A decision in either form: the stored one, or the one that the HTTP API takes. */
export const AnyDecision = Schema.Union([Decision, DecisionPayload]).annotate({
  message: any_decision_expected
})
export type AnyDecision = typeof AnyDecision.Type

/** What a decision is called where it is sent, by its tag. */
export const decisionNames = {
  Approve: "approve",
  Deny: "deny",
  RequestRevision: "request_revision",
  Modify: "modify"
} as const satisfies Readonly<Record<Decision["_tag"], DecisionPayload["decision"]>>

/** Converts either form into the stored form of the decision. */
export const decisionOf = (given: AnyDecision): Decision => {
  if ("_tag" in given) return given
  switch (given.decision) {
    case "approve":
      return { _tag: "Approve", ...defined({ note: given.note }) }
    case "deny":
      return { _tag: "Deny", reason: given.reason }
    case "request_revision":
      return { _tag: "RequestRevision", note: given.note }
    case "modify":
      return { _tag: "Modify", arguments: given.arguments, ...defined({ note: given.note }) }
  }
}

export const ClientCall = Schema.Struct({
  id: ApprovalId,
  run_id: RunId,
  call: CallId,
  tool: Schema.String,
  /** The arguments of the model, or those with which an approver replaced them. */
  arguments: Schema.Json,
  /** JSON Schema of the result; `{}` = any JSON. */
  output_schema: Schema.Record(Schema.String, Schema.Json),
  /** ms since 1970. */
  requested_at: Schema.Int,
  /** When the call fails if no result has arrived, in ms since 1970. Absent = it waits without a limit. */
  expires_at: Schema.optionalKey(Schema.Int)
}).annotate({ identifier: "ClientCall" })
export interface ClientCall extends Schema.Schema.Type<typeof ClientCall> {}

/** The call that an approval's record stands for; undefined if the record is a question to approvers. */
export const clientCallOf = ({
  arguments: args,
  call,
  client,
  expires_at,
  id,
  payload,
  requested_at,
  run_id
}: Approval): ClientCall | undefined =>
  client === undefined
    ? undefined
    : {
        id,
        run_id,
        call,
        tool: payload.tool_name,
        arguments: args,
        output_schema: client.output_schema ?? {},
        requested_at,
        ...defined({ expires_at })
      }

/** The error message for a payload of any other shape. */
export const client_answer_expected =
  "Expected an object with result, which is any JSON, or with error, a text of 1 to 4,000 characters"

/** What the client sends: the result, or a text that says why there is none, which the model reads. */
export const ClientAnswer = Schema.Union([
  Schema.Struct({ result: Schema.Json }),
  Schema.Struct({ error: Reason })
]).annotate({ identifier: "ClientAnswer", message: client_answer_expected })
export type ClientAnswer = typeof ClientAnswer.Type
