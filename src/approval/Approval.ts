/**
 * A question that is put to a person before a tool may act, and the answer. The record is the truth: it outlives the fiber
 * that asked, the process and the machine.
 */
import { DateTime, Schema } from "effect"
import { ApprovalId, CallId, RunId, Tenant } from "../Ids.ts"
import { Role } from "../Principal.ts"

/** What is shown to a person, exactly these five. `correlation_id` is the approval's id. */
export const ApprovalPayload = Schema.Struct({
  tool_name: Schema.String,
  agent_name: Schema.String,
  /** Redacted, at most 600 characters. */
  args_summary: Schema.String,
  effect_description: Schema.String,
  correlation_id: ApprovalId
})
export interface ApprovalPayload extends Schema.Schema.Type<typeof ApprovalPayload> {}

/** What the client of a call may answer. */
export const ClientResult = Schema.Struct({
  /** JSON Schema of the result. Absent = any JSON. */
  output_schema: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json))
})
export interface ClientResult extends Schema.Schema.Type<typeof ClientResult> {}

const Note = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(4_000))

/** What a person may answer. `modify` carries the full replacement arguments, which pass the whole gate again. */
export const Decision = Schema.Union([
  Schema.TaggedStruct("Approve", { note: Schema.optionalKey(Note) }),
  Schema.TaggedStruct("Deny", { reason: Note }),
  Schema.TaggedStruct("RequestRevision", { note: Note }),
  Schema.TaggedStruct("Modify", {
    arguments: Schema.Record(Schema.String, Schema.Json),
    note: Schema.optionalKey(Note)
  })
])
export type Decision = typeof Decision.Type

/** `expired`: nobody answered in time. `cancelled`: the run was cancelled. */
export const ApprovalStatus = Schema.Literals(["pending", "decided", "expired", "cancelled"])
export type ApprovalStatus = typeof ApprovalStatus.Type

/** A call that waits for a person. Times are in ms since 1970; without `expires_at` it never expires. */
export const Approval = Schema.Struct({
  id: ApprovalId,
  tenant: Tenant,
  run_id: RunId,
  call: CallId,
  payload: ApprovalPayload,
  tool_key: Schema.String,
  /** The arguments that were proposed, whole. */
  arguments: Schema.Json,
  /** SHA-256, hex, over canonical JSON of tenant, run, call, tool key, arguments and policy version. */
  digest: Schema.String,
  /** SHA-256, hex, over canonical JSON of all that a person is shown (`ShownApproval.ts`). Absent = asked before there was one. */
  shown_digest: Schema.optionalKey(Schema.String),
  policy_version: Schema.String,
  /** Who may decide; empty = any approver or operator. */
  approvers: Schema.Array(Role),
  requested_at: Schema.Int,
  expires_at: Schema.optionalKey(Schema.Int),
  /** The client of the conversation gives the call's result; nobody decides. Absent = it is a question to approvers. */
  client: Schema.optionalKey(ClientResult),
  status: ApprovalStatus,
  decision: Schema.optionalKey(Decision),
  decided_by: Schema.optionalKey(Schema.String),
  decided_at: Schema.optionalKey(Schema.Int),
  /** Set on reading a pending one: its run is in quarantine, and nobody can decide it until the run is released. */
  quarantined: Schema.optionalKey(Schema.Literal(true)),
  /**
   * Set on reading a pending one: the record is not what its run asked, because somebody changed it in the database. It can
   * be denied, or its run cancelled; it cannot be approved.
   */
  altered: Schema.optionalKey(Schema.Literal(true))
})
export interface Approval extends Schema.Schema.Type<typeof Approval> {}

/** There is no such approval at the tenant. */
export class ApprovalNotFound extends Schema.TaggedError<ApprovalNotFound>()("ApprovalNotFound", {
  id: Schema.String
}) {
  override get message(): string {
    return `there is no approval ${JSON.stringify(this.id)}`
  }
}

/** It was decided already, or its run was cancelled. */
export class ApprovalSettled extends Schema.TaggedError<ApprovalSettled>()("ApprovalSettled", {
  id: Schema.String,
  status: ApprovalStatus
}) {
  override get message(): string {
    return `approval ${this.id} is ${this.status}; nothing was changed`
  }
}

/** Its time is over, whether or not a sweep has closed it yet. */
export class ApprovalExpired extends Schema.TaggedError<ApprovalExpired>()("ApprovalExpired", {
  id: Schema.String,
  expired_at: Schema.Int
}) {
  override get message(): string {
    return `approval ${this.id} expired at ${DateTime.formatIso(DateTime.makeUnsafe(this.expired_at))}`
  }
}

/** The principal may not decide this. */
export class NotEntitled extends Schema.TaggedError<NotEntitled>()("NotEntitled", {
  principal: Schema.String,
  needs: Schema.Array(Role)
}) {
  override get message(): string {
    return `${this.principal} holds none of the roles that may do this: ${this.needs.join(", ")}`
  }
}

/** The question does not take this decision: one about a limit is approved or denied, a client's call is answered. */
export class DecisionUnfit extends Schema.TaggedError<DecisionUnfit>()("DecisionUnfit", {
  id: Schema.String,
  decision: Schema.String,
  fits: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `approval ${this.id} takes ${this.fits.join(" or ")}, not ${this.decision}`
  }
}

/** The result of a client does not fit the call. Nothing was changed: the call waits for another one. */
export class ClientResultRefused extends Schema.TaggedError<ClientResultRefused>()(
  "ClientResultRefused",
  { id: Schema.String, message: Schema.String }
) {}

/**
 * The record that people were shown is not what the run asked: `fields` names the differences. Nothing was decided. Only a
 * change of the database from outside causes this.
 */
export class ApprovalAltered extends Schema.TaggedError<ApprovalAltered>()("ApprovalAltered", {
  id: Schema.String,
  fields: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return `The record of approval ${this.id} was changed since its run asked (${this.fields.join(", ")}); nothing was decided.`
  }
}
