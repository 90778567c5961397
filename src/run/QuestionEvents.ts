/** What a run waits for people with, and what they answer. */
import { Schema } from "effect"
import { ApprovalPayload, ClientResult, Decision } from "../approval/Approval.ts"
import { Role, Who } from "../principal/Principal.ts"
import { ApprovalId, CallId, FrameId } from "../value/Ids.ts"
import { CheckedJson } from "../value/JsonObject.ts"
import { HostValues } from "./CallEvents.ts"
import { GuardedText } from "./GuardVerdict.ts"
import { LimitName } from "./RunLimits.ts"
import { ModelTurned } from "./TurnEvents.ts"

/** What a person is shown of a call that waits, and what the answer is bound to. */
const question = {
  /** The call that waits; for a question about a limit an id that no call has. */
  call: CallId,
  /** The id of the question. */
  approval: ApprovalId,
  /** SHA-256, hex, of what an approval is bound to: run, call, tool, arguments and policy. */
  digest: Schema.String,
  /** Of all that people are shown. Absent in events of releases that had none. */
  shown_digest: Schema.optionalKey(Schema.String),
  /** A digest without run and call: an equal proposal has the same one. */
  proposal: Schema.String,
  /** What the person is shown. */
  payload: ApprovalPayload,
  /** The registry key of the tool. */
  tool_key: Schema.String,
  /** A digest of the tool's whole spec: a decision holds for this version of the tool only. */
  tool_digest: Schema.optionalKey(Schema.String),
  /** The arguments that the model proposed. */
  arguments: CheckedJson,
  /** The version of the policy under which it is asked. */
  policy_version: Schema.String,
  /** Who may decide; empty = any approver or operator. */
  approvers: Schema.Array(Role),
  /** When nobody can answer it any more, in ms since 1970. Absent = it never expires. */
  expires_at: Schema.optionalKey(Schema.Int),
  /** These and no others are sent, however long the answer takes. Absent = the host fills in nothing. */
  filled: Schema.optionalKey(HostValues)
} as const

/** What guards ask a person about. */
export class GuardQuestion extends Schema.Opaque<GuardQuestion>()(
  Schema.Struct({
    /** The names of the guards that ask, with commas. */
    by: Schema.String,
    /** What kind of text it is. */
    on: GuardedText,
    /** The frame that is told the text, or whose turn it is. */
    frame: FrameId,
    /** The turn that is the text, or the first one that is shown it. */
    step: Schema.Int,
    /** The call whose result it is. */
    call: Schema.optionalKey(CallId),
    /** The turn whose text it is: it is in the journal as a turn once a person has decided. */
    turned: Schema.optionalKey(ModelTurned)
  })
) {}

/** A call waits for a person to decide. */
export class ApprovalRequested extends Schema.Opaque<ApprovalRequested>()(
  Schema.TaggedStruct("ApprovalRequested", {
    ...question,
    /** The limit that the run as a whole has reached: an approval extends it, a denial stops the run. */
    limit: Schema.optionalKey(LimitName),
    /** The text that guards ask about, which is `text` of the arguments: an approval passes it, a denial refuses it. */
    guarded: Schema.optionalKey(GuardQuestion)
  })
) {}

/** The gate has let a call through whose result the client of the conversation gives: the run waits for it, as for a decision. */
export class ClientRequested extends Schema.Opaque<ClientRequested>()(
  Schema.TaggedStruct("ClientRequested", {
    ...question,
    /** What the client may answer. */
    client: ClientResult
  })
) {}

/** What a run waits for a person with. */
export type Question = ApprovalRequested | ClientRequested

/** A person has decided a question. */
export class ApprovalDecided extends Schema.Opaque<ApprovalDecided>()(
  Schema.TaggedStruct("ApprovalDecided", {
    /** The call that waited. */
    call: CallId,
    /** The id of the question. */
    approval: ApprovalId,
    /** The answer. */
    decision: Decision,
    /** The principal who answered. */
    by: Schema.String,
    /** Who acted for it. Absent = it acted itself. */
    via: Who.fields.via,
    /** The digest of exactly what was approved: for `Modify` of the replacement. */
    digest: Schema.String
  })
) {}

export class ApprovalClosed extends Schema.Opaque<ApprovalClosed>()(
  Schema.TaggedStruct("ApprovalClosed", {
    /** The call that waited. */
    call: CallId,
    /** The id of the question. */
    approval: ApprovalId,
    /** `answered`: by the client of a call, whose result is the event behind this one. */
    how: Schema.Literals(["expired", "cancelled", "answered"]),
    /** Who answered or cancelled. Absent = its time was over. */
    by: Schema.optionalKey(Schema.String),
    /** Who acted for it. Absent = it acted itself. */
    via: Who.fields.via
  })
) {}
