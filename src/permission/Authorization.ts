/**
 * An answer in advance: in a workspace, calls of one action by one agent need no person's approval for some time. It stands
 * for the question about a call and for nothing else: what a policy denies stays denied.
 */
import { Effect, Schema } from "effect"
import { AgentName, AuthorizationId, Tenant } from "../Ids.ts"

/** In force at once in one workspace. */
export const authorizations_max = 100

const day_ms = 86_400_000

/** How long one holds, in ms: a second to a year. */
export const HoldsMs = Schema.Int.check(Schema.isBetween({ minimum: 1_000, maximum: 366 * day_ms }))

/** Absent = 30 days. */
export const holds_ms_default = 30 * day_ms

/** How many calls it lets through. */
export const UsesMax = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))

/** The plain name of a tool. */
export const Action = Schema.String.check(
  Schema.isPattern(/^[A-Za-z0-9_-]{1,64}$/, { description: "a tool's plain name" })
)

/** Times are in ms since 1970. */
export const WorkspaceAgentAuthorization = Schema.Struct({
  id: AuthorizationId,
  /** The workspace. */
  tenant: Tenant,
  /** The agent that makes the calls, as the question about a call names it: a specialist, not its supervisor. */
  agent: AgentName,
  action: Action,
  /** The version of the tool that it was given for. */
  tool_key: Schema.String,
  /** Of that version's whole spec: a tool that was changed asks again. */
  tool_digest: Schema.String,
  granted_by: Schema.String,
  granted_at: Schema.Int,
  /** It holds before this. */
  expires_at: Schema.Int,
  /** Absent = any number of calls. */
  uses_max: Schema.optionalKey(UsesMax),
  /** Calls that it let through the gate, a few of which may have been refused behind it; the journal has each that ran. */
  uses: Schema.Int,
  last_used_at: Schema.optionalKey(Schema.Int),
  /** Who took it back, or granted another in its place. */
  revoked_by: Schema.optionalKey(Schema.String),
  revoked_at: Schema.optionalKey(Schema.Int)
})
export interface WorkspaceAgentAuthorization extends Schema.Schema.Type<
  typeof WorkspaceAgentAuthorization
> {}

/** What somebody authorises. */
export const AuthorizationRequest = Schema.Struct({
  agent: AgentName,
  action: Action,
  holds_ms: HoldsMs.pipe(Schema.withDecodingDefaultKey(Effect.succeed(holds_ms_default))),
  uses_max: Schema.optionalKey(UsesMax)
})
export interface AuthorizationRequest extends Schema.Schema.Type<typeof AuthorizationRequest> {}

/** The calls that one can be about: of this tool, as it is declared now, by this agent, in this workspace. */
export interface AuthorizedAction {
  readonly tenant: Tenant
  readonly agent: AgentName
  readonly tool_key: string
  readonly tool_digest: string
}

/** Does it let a call through at this time? */
export const isInForce = (
  { expires_at, revoked_at, uses, uses_max }: WorkspaceAgentAuthorization,
  now: number
): boolean =>
  revoked_at === undefined && now < expires_at && (uses_max === undefined || uses < uses_max)

/** What let a call through in place of a person, as its dispatch says. */
export const Authorized = Schema.Struct({
  authorization: AuthorizationId,
  /** The agent whose call it was given for. */
  agent: AgentName,
  tool_key: Schema.String,
  /** Who granted it, and when. */
  by: Schema.String,
  granted_at: Schema.Int
})
export interface Authorized extends Schema.Schema.Type<typeof Authorized> {}

export const authorizedBy = (given: WorkspaceAgentAuthorization): Authorized => ({
  authorization: given.id,
  agent: given.agent,
  tool_key: given.tool_key,
  by: given.granted_by,
  granted_at: given.granted_at
})

/** Is it in force for calls of this action? */
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

/** There is no such authorisation in the workspace. */
export class AuthorizationNotFound extends Schema.TaggedError<AuthorizationNotFound>()(
  "AuthorizationNotFound",
  { id: Schema.String }
) {
  override get message(): string {
    return `there is no authorisation ${JSON.stringify(this.id)}`
  }
}

/** The action cannot be authorised in advance; `reason` says why. */
export class AuthorizationRefused extends Schema.TaggedError<AuthorizationRefused>()(
  "AuthorizationRefused",
  { agent: Schema.String, action: Schema.String, reason: Schema.String }
) {
  override get message(): string {
    return `${this.action} of ${this.agent} cannot be authorised in advance: ${this.reason}`
  }
}

/** So many are in force in the workspace, which is the most. */
export class TooManyAuthorizations extends Schema.TaggedError<TooManyAuthorizations>()(
  "TooManyAuthorizations",
  { authorizations_max: Schema.Int }
) {
  override get message(): string {
    return `${this.authorizations_max} authorisations are in force in this workspace; revoke one first`
  }
}
