/**
 * An approval in advance: in a workspace, calls of one action by one agent need no person's approval for some time. It replaces
 * only the question about a call: what a policy denies stays denied.
 */
import { Effect, Schema } from "effect"
import { AgentName, AuthorizationId, Tenant } from "../value/Ids.ts"
import { between } from "../value/Bounds.ts"

/** The greatest number of authorisations in force at the same time in one workspace. */
export const authorizations_max = 100

const day_ms = 86_400_000

/** How long an authorisation is valid, in ms: from a second to 366 days. */
export const HoldsMs = between(1_000, 366 * day_ms)

/** The default of `holds_ms`: 30 days. */
export const holds_ms_default = 30 * day_ms

/** How many calls an authorisation lets through. */
export const UsesMax = between(1, 1_000_000)

/** The plain name of a tool. */
export const Action = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { description: "a tool's plain name" })
)

/** Times are in ms since 1970. */
export const WorkspaceAgentAuthorization = Schema.Struct({
  id: AuthorizationId,
  /** The workspace. */
  tenant: Tenant,
  /**
   * The agent that makes the calls, as the question about a call names it: the specialist itself, not the agent that delegated
   * to it.
   */
  agent: AgentName,
  action: Action,
  /** The key of the tool, with the version for which the authorisation was granted. */
  tool_key: Schema.String,
  /** The digest of that tool's whole spec. If the tool was changed, its calls ask again. */
  tool_digest: Schema.String,
  granted_by: Schema.String,
  granted_at: Schema.Int,
  /** The authorisation is valid before this time. */
  expires_at: Schema.Int,
  /** Absent = any number of calls. */
  uses_max: Schema.optionalKey(UsesMax),
  /**
   * How many calls it let through the gate. A few of them may have been refused afterwards; the journal has each call that ran.
   */
  uses: Schema.Int,
  last_used_at: Schema.optionalKey(Schema.Int),
  /** The principal that revoked it, or that granted another one in its place. */
  revoked_by: Schema.optionalKey(Schema.String),
  revoked_at: Schema.optionalKey(Schema.Int)
})
export interface WorkspaceAgentAuthorization extends Schema.Schema.Type<
  typeof WorkspaceAgentAuthorization
> {}

/** A request to authorise calls of an action in advance. */
export const AuthorizationRequest = Schema.Struct({
  agent: AgentName,
  action: Action,
  holds_ms: HoldsMs.pipe(Schema.withDecodingDefaultKey(Effect.succeed(holds_ms_default))),
  uses_max: Schema.optionalKey(UsesMax)
})
export interface AuthorizationRequest extends Schema.Schema.Type<typeof AuthorizationRequest> {}

/** The calls that an authorisation covers: of this tool as it is declared now, by this agent, in this workspace. */
export interface AuthorizedAction {
  readonly tenant: Tenant
  readonly agent: AgentName
  readonly tool_key: string
  readonly tool_digest: string
}

/** Whether the authorisation lets a call through at this time. */
export const isInForce = (
  { expires_at, revoked_at, uses, uses_max }: WorkspaceAgentAuthorization,
  now: number
): boolean =>
  revoked_at === undefined && now < expires_at && (uses_max === undefined || uses < uses_max)

/** The authorisation that let a call through in place of a person's approval, as the call's dispatch records it. */
export class Authorized extends Schema.Opaque<Authorized>()(
  Schema.Struct({
    /** The authorization by which the call ran. */
    authorization: AuthorizationId,
    /** The agent for whose calls it was granted. */
    agent: AgentName,
    /** The registry key of the tool. */
    tool_key: Schema.String,
    /** Who granted it, and when. */
    by: Schema.String,
    /** When it was granted, in ms since 1970. */
    granted_at: Schema.Int
  })
) {}

export const authorizedBy = (given: WorkspaceAgentAuthorization): Authorized => ({
  authorization: given.id,
  agent: given.agent,
  tool_key: given.tool_key,
  by: given.granted_by,
  granted_at: given.granted_at
})

/** Whether the authorisation covers calls of this action at this time. */
export const covers = (
  given: WorkspaceAgentAuthorization,
  action: AuthorizedAction,
  now: number
): boolean =>
  given.tenant === action.tenant &&
  given.agent === action.agent &&
  given.tool_key === action.tool_key &&
  given.tool_digest === action.tool_digest &&
  isInForce(given, now)

/** The workspace has no authorisation with this id. */
export class AuthorizationNotFound extends Schema.TaggedError<AuthorizationNotFound>()(
  "AuthorizationNotFound",
  {
    /** The id that was asked for. */
    id: Schema.String
  }
) {
  override get message(): string {
    return `there is no authorisation ${JSON.stringify(this.id)}`
  }
}

/** The action cannot be authorised in advance; `reason` says why. */
export class AuthorizationRefused extends Schema.TaggedError<AuthorizationRefused>()(
  "AuthorizationRefused",
  {
    /** The agent that was to be authorised. */
    agent: Schema.String,
    /** The tool that it was to call. */
    action: Schema.String,
    /** Why that cannot be. */
    reason: Schema.String
  }
) {
  override get message(): string {
    return `${this.action} of ${this.agent} cannot be authorised in advance: ${this.reason}`
  }
}

/** The workspace already has `authorizations_max` authorisations in force. */
export class TooManyAuthorizations extends Schema.TaggedError<TooManyAuthorizations>()(
  "TooManyAuthorizations",
  {
    /** The most authorisations of a workspace in force at the same time. */
    authorizations_max: Schema.Int
  }
) {
  override get message(): string {
    return `${this.authorizations_max} authorisations are in force in this workspace; revoke one first`
  }
}
