/**
 * Where people authorise an action of an agent in advance, for their workspace. Owns who may do so and for what; stores nothing
 * itself, and is independent of approvals. Every method decodes its arguments first: a value that does not match its type fails
 * with `InvalidInput`, and nothing is done.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { AgentNotFound } from "../src/agent/AgentSpec.ts"
import type { NotEntitled } from "../src/principal/NotEntitled.ts"
import type { InvalidInput } from "../src/schema/InvalidInput.ts"
import type { AgentName, AuthorizationId } from "../src/value/Ids.ts"
import type {
  AuthorizationNotFound,
  AuthorizationRefused,
  AuthorizationRequest,
  TooManyAuthorizations,
  WorkspaceAgentAuthorization
} from "../src/permission/Authorization.ts"
import type { Principal } from "../src/principal/Principal.ts"
import type { StoreError } from "./StoreError.ts"

/** Which page of authorizations: its length, and the one after which it begins. */
export interface AuthorizationsPage {
  /** 1 to 500. */
  readonly limit: number
  /** Includes authorizations that have expired, were revoked or are used up. Absent = false. */
  readonly all?: boolean
  /** Continue after this authorization. */
  readonly after?: AuthorizationId
}

/**
 * The agents that the principal may know of; absent = all. For a customer these are the agents for customers and their
 * specialists.
 */
type Known = ReadonlyArray<AgentName> | undefined

/** Where people authorise calls of an agent in advance, and revoke that. */
export class AuthorizationDesk extends Context.Service<
  AuthorizationDesk,
  {
    /**
     * Authorises calls of one tool by one agent in the principal's workspace, until the authorization expires. It replaces an
     * earlier one for the same action. Only a principal who may decide about such a call may grant it, that is, one with a role
     * that the tool names in its `approvers`. Refused for a tool that needs no approval, that the policy always has a person
     * asked about, or that is denied.
     */
    grant(
      request: typeof AuthorizationRequest.Encoded,
      by: Principal,
      known?: Known
    ): Effect.Effect<
      WorkspaceAgentAuthorization,
      | AgentNotFound
      | AuthorizationRefused
      | InvalidInput
      | NotEntitled
      | StoreError
      | TooManyAuthorizations
    >
    /**
     * Revokes an authorization: when it returns, no further call runs by it. One that is already revoked stays as it is. A
     * principal finds only those that it may list.
     */
    revoke(
      id: AuthorizationId,
      by: Principal,
      known?: Known
    ): Effect.Effect<
      WorkspaceAgentAuthorization,
      AuthorizationNotFound | InvalidInput | NotEntitled | StoreError
    >
    /**
     * Authorizations of the principal's workspace, newest first. One whose role counts only where tools name it (a viewer, a
     * customer) gets those of the tools that name it, and is refused if none does. A customer is not shown the ids of others.
     */
    list(
      page: AuthorizationsPage,
      by: Principal,
      known?: Known
    ): Effect.Effect<
      ReadonlyArray<WorkspaceAgentAuthorization>,
      InvalidInput | NotEntitled | StoreError
    >
  }
>()("troupe/services/AuthorizationDesk") {}
