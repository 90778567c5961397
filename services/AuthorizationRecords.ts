/**
 * The records of what workspaces authorised in advance. At most one authorization is in force for each action of an agent. They
 * are independent of approvals; `AuthorizationDesk` decides who may grant.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentName, AuthorizationId, Tenant } from "../src/value/Ids.ts"
import type {
  AuthorizationNotFound,
  AuthorizedAction,
  TooManyAuthorizations,
  WorkspaceAgentAuthorization
} from "../src/permission/Authorization.ts"
import type { StoreError } from "./StoreError.ts"

/** Selects a page of authorizations. */
export interface AuthorizationQuery {
  /** Whose authorizations. */
  readonly tenant: Tenant
  /** Only authorizations for these agents; absent = for all agents. */
  readonly agents?: ReadonlyArray<AgentName> | undefined
  /** Only authorizations of tools with these keys; absent = of all tools. */
  readonly tool_keys?: ReadonlyArray<string> | undefined
  /** Only authorizations that are in force at this time, in ms since 1970; absent = all. */
  readonly in_force_at?: number | undefined
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this authorization; if its id is unknown, the page is empty. */
  readonly after?: AuthorizationId | undefined
}

/** The stored authorizations, with how often each was used. */
export class AuthorizationRecords extends Context.Service<
  AuthorizationRecords,
  {
    /**
     * Stores an authorization. An earlier one for the same action of the same agent is revoked, with the grantor and the time of
     * the new one.
     */
    add(given: WorkspaceAgentAuthorization): Effect.Effect<void, TooManyAuthorizations | StoreError>
    /** One authorization of the workspace. */
    get(
      tenant: Tenant,
      id: AuthorizationId
    ): Effect.Effect<WorkspaceAgentAuthorization, AuthorizationNotFound | StoreError>
    /** Newest first. */
    list(
      query: AuthorizationQuery
    ): Effect.Effect<ReadonlyArray<WorkspaceAgentAuthorization>, StoreError>
    /** Revokes an authorization at the time `at` (ms since 1970), and returns it. One that is already revoked stays as it is. */
    revoke(
      tenant: Tenant,
      id: AuthorizationId,
      by: string,
      at: number
    ): Effect.Effect<WorkspaceAgentAuthorization, AuthorizationNotFound | StoreError>
    /**
     * Counts one use of the authorization that is in force for the action, and returns the authorization; undefined = none is in
     * force.
     */
    use(
      action: AuthorizedAction,
      now: number
    ): Effect.Effect<WorkspaceAgentAuthorization | undefined, StoreError>
  }
>()("troupe/services/AuthorizationRecords") {}
