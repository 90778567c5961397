/**
 * The records of what workspaces authorised in advance. Of one action of one agent at most one is in force. They say nothing of
 * approvals, and nothing here reads those; `AuthorizationDesk` decides who may grant.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, AuthorizationId, Tenant } from "../src/Ids.ts"
import type {
  AuthorizationNotFound,
  AuthorizedAction,
  TooManyAuthorizations,
  WorkspaceAgentAuthorization
} from "../src/permission/Authorization.ts"
import type { StoreError } from "./StoreError.ts"

export interface AuthorizationQuery {
  readonly tenant: Tenant
  /** Of these agents; absent = of all. */
  readonly agents?: ReadonlyArray<AgentName> | undefined
  /** Only those that are in force at this time, in ms since 1970; absent = all. */
  readonly in_force_at?: number | undefined
  /** 1 to 500. */
  readonly limit: number
  /** Continue behind this one; an unknown one has none behind it. */
  readonly after?: AuthorizationId | undefined
}

export class AuthorizationRecords extends Context.Service<
  AuthorizationRecords,
  {
    /** Keeps it. One that stood for the same action of the same agent is revoked by whoever granted this one, at its time. */
    add(given: WorkspaceAgentAuthorization): Effect.Effect<void, TooManyAuthorizations | StoreError>
    /** One of the workspace. */
    get(
      tenant: Tenant,
      id: AuthorizationId
    ): Effect.Effect<WorkspaceAgentAuthorization, AuthorizationNotFound | StoreError>
    /** Newest first. */
    list(
      query: AuthorizationQuery
    ): Effect.Effect<ReadonlyArray<WorkspaceAgentAuthorization>, StoreError>
    /** Takes one back, and gives it; one that was revoked before stays as it is. */
    revoke(
      tenant: Tenant,
      id: AuthorizationId,
      by: string,
      at: number
    ): Effect.Effect<WorkspaceAgentAuthorization, AuthorizationNotFound | StoreError>
    /** Uses the one that is in force for the action, once; undefined = there is none. */
    use(
      action: AuthorizedAction,
      now: number
    ): Effect.Effect<WorkspaceAgentAuthorization | undefined, StoreError>
  }
>()("troupe/services/AuthorizationRecords") {}
