/**
 * The permission of a tool that depends on its call: a pure function of the arguments and of who asks, declared with the tool.
 *
 * ```ts
 * permission: ({ amount }, { roles }) => amount > 100 && !roles.includes("approver") ? "ask" : "allow"
 * ```
 */
import type { Exit } from "effect"
import { ignoreRejection } from "../IgnoredRejection.ts"
import type { AgentName, RunId, Tenant } from "../Ids.ts"
import type { Roles } from "../Principal.ts"
import type { RunContext } from "../run/RunContext.ts"
import type { Permission } from "../tool/SideEffects.ts"
import { isPermission } from "../tool/SideEffects.ts"

/** The run of a call, as a permission may read it. All of it is journaled, so that a dry run reads the same. */
export interface JudgedRun {
  readonly run: RunId
  readonly tenant: Tenant
  /** The agent that calls. */
  readonly agent: AgentName
  /** The principal whose message began the run. */
  readonly principal: string
  /** The roles that it had then. None where they are not known. */
  readonly roles: Roles
  /** What its message told the tools. Absent = nothing. */
  readonly context?: RunContext | undefined
}

/**
 * Says whether a call may run, asks a person, or is refused. It has to be pure: the gate may call it more than once for a call,
 * and a dry run of a policy calls it for those of the past. Where it throws, or gives anything else, the call fails.
 */
export type CallPermission<Args = never> = (args: Args, run: JudgedRun) => Permission

/** The same from arguments as they were given, and without the type. */
export type PermissionOf = (given: unknown, run: JudgedRun | undefined) => Permission

/**
 * Judges calls by their decoded arguments. Arguments that cannot be decoded, and a run that is not known, are denied. Throws
 * what the function throws, and where it gives no permission.
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
