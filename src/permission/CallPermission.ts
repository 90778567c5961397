/**
 * The permission of a tool that depends on its call: a pure function of the arguments and of who asks, declared with the tool.
 *
 * ```ts
 * permission: ({ amount }, { roles }) => amount > 100 && !roles.includes("approver") ? "ask" : "allow"
 * ```
 */
import type { Exit } from "effect"
import { ignoreRejection } from "../value/IgnoredRejection.ts"
import type { AgentName, RunId, Tenant } from "../value/Ids.ts"
import type { Roles } from "../principal/Principal.ts"
import type { RunContext } from "../run/RunContext.ts"
import type { Permission } from "../tool/SideEffects.ts"
import { isPermission } from "../tool/SideEffects.ts"

/** The facts of a call's run that a permission may read. All of them are journaled, so a dry run reads the same ones. */
export interface JudgedRun {
  readonly run: RunId
  readonly tenant: Tenant
  /** The agent that makes the call. */
  readonly agent: AgentName
  /** The principal whose message began the run. */
  readonly principal: string
  /** The roles that this principal had when it sent the message. Empty where they are not known. */
  readonly roles: Roles
  /** The context that the run's message passed for its tools. Absent = none. */
  readonly context?: RunContext | undefined
}

/**
 * Decides whether a call may run, asks a person, or is refused. It has to be pure: the gate may evaluate it more than once for a
 * call, and a dry run of a policy evaluates it for past calls. If it throws or returns anything else, the call fails.
 */
export type CallPermission<Args = never> = (args: Args, run: JudgedRun) => Permission

/** A permission that takes the arguments before they are decoded, and whose type does not depend on the tool. */
export type PermissionOf = (given: unknown, run: JudgedRun | undefined) => Permission

/**
 * Decides by a call's decoded arguments. The answer is `deny` if the arguments cannot be decoded or the run is not known. Throws
 * whatever the function throws, and a TypeError if it returns no permission.
 */
export const permissionByCall =
  (
    tool: string,
    permission: CallPermission,
    decode: (given: unknown) => Exit.Exit<unknown, unknown>
  ): PermissionOf =>
  (given, run) => {
    const args = decode(given)
    if (args._tag === "Failure" || run === undefined) return "deny"
    const answer: unknown = permission(args.value as never, run)
    if (isPermission(answer)) return answer
    ignoreRejection(answer)
    throw new TypeError(`the permission of "${tool}" gave neither "allow" nor "ask" nor "deny"`)
  }
