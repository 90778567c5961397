/**
 * Decides whether a call may run, asks a person, or is refused, by the tool's declaration and the operator's policy. A policy is
 * data, and is fixed when the runtime is composed; only the kill switch changes while the runtime runs.
 *
 * The first of these that decides wins: the kill switch, the tool's own permission, its server's, the rules, the mode, the
 * tool's category (a mutation asks). A tool that `approval_required` lists asks where it would otherwise be allowed.
 */
import { Result, Schema } from "effect"
import { truncateUnits } from "../value/CutText.ts"
import type { ApprovalGate, Permission as Answer, ToolCategory } from "../tool/SideEffects.ts"
import {
  Permission,
  permissionOf as permissionOfCategory,
  isPermission
} from "../tool/SideEffects.ts"
import type { RuleReadable } from "./PermissionRule.ts"
import { isByRole, PermissionRule, rulesFor } from "./PermissionRule.ts"
import type { Exit } from "effect"
import { ignoreRejection } from "../value/IgnoredRejection.ts"
import type { AgentName, RunId, Tenant } from "../value/Ids.ts"
import type { Roles } from "../principal/Principal.ts"
import type { RunContext } from "../run/RunContext.ts"
import { textUpTo, defaulted } from "../value/Bounds.ts"

/** The facts of a call's run that a permission may read. All of them are journaled, so a dry run reads the same ones. */
export interface JudgedRun {
  /** The id of the run. */
  readonly run: RunId
  /** Whose run it is. */
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

/**
 * What happens to calls that nothing more specific decides. `allow_reads`: tools that are declared read-only are allowed, and
 * all others ask.
 */
export const PermissionMode = Schema.Literals(["allow", "ask", "deny", "allow_reads"])
export type PermissionMode = typeof PermissionMode.Type

/** Why a policy's value could not be decoded. It is not part of the policy's content: it is neither stored nor compared. */
const mistakes = new WeakMap<Policy, string>()

/** The longest message about a policy that cannot be decoded, in UTF-16 units. */
const mistake_units_max = 500

const Name = textUpTo(200)

/** Which calls are allowed, ask a person, or are denied, beside what tools say themselves. */
export class Policy extends Schema.Opaque<Policy>()(
  Schema.Struct({
    /**
     * The policy's version, at most 200 characters. An approval that was given under one version is asked for again under another.
     * Absent = derived from the policy's content.
     */
    version: Schema.optionalKey(Name),
    /**
     * What happens to calls that nothing more specific decides: `allow`, `ask`, `deny`, or `allow_reads`, which asks for
     * everything that may write. Absent = the tool's category decides.
     */
    mode: Schema.optionalKey(PermissionMode),
    /**
     * Permissions by tool, beginning of the arguments and role of the sender, at most 1,000. Of several that match `deny` wins
     * over `ask`, and `ask` over `allow`. Absent = none.
     */
    rules: defaulted(Schema.Array(PermissionRule).check(Schema.isMaxLength(1_000)), []),
    /** The permission of all tools of a provider, by its name such as `mcp:github`; it comes before `rules`. Absent = none. */
    servers: defaulted(Schema.Record(Name, Permission), {}),
    /** Plain names or keys of tools that always ask where they would be allowed, at most 1,000. Absent = none. */
    approval_required: defaulted(Schema.Array(Name).check(Schema.isMaxLength(1_000)), []),
    /** True = a capability that is granted without a scope covers nothing. Absent = no. */
    default_deny: defaulted(Schema.Boolean, false)
  })
) {}

/** The empty policy: the categories of tools decide. */
export const no_policy: Policy = Policy.make({})

const decoded = Schema.decodeUnknownResult(Policy, { onExcessProperty: "error", errors: "all" })

const mistakeOf = (message: string): string =>
  truncateUnits(message.slice(0, mistake_units_max * 2).replaceAll(/\s+/g, " "), mistake_units_max)

/**
 * Decodes a policy from outside, such as a file or a request. A value that cannot be decoded becomes a policy that asks
 * for every call, because it may have forbidden some; `warningsOf` has the mistake. Undefined or null is the empty policy.
 */
export const policyOf = (value: unknown): Policy => {
  if (value === undefined || value === null) return no_policy
  const result = decoded(value)
  if (Result.isSuccess(result)) return result.success
  const mistake = mistakeOf(result.failure.message)
  const policy = Policy.make({ mode: "ask" })
  mistakes.set(policy, mistake)
  return policy
}

/**
 * Decodes a policy that a program passed, because code in JavaScript may pass any value. Fails with a text that says what is
 * wrong. A policy that `policyOf` returned is returned unchanged.
 */
export const decodedPolicy = (policy: Policy): Result.Result<Policy, string> => {
  if (policy === no_policy || mistakes.has(policy)) return Result.succeed(policy)
  return Result.mapError(decoded(policy), ({ message }) => mistakeOf(message))
}

/** The warnings about a policy that are logged at the start. */
export const warningsOf = (policy: Policy): ReadonlyArray<string> => {
  const mistake = mistakes.get(policy)
  if (mistake !== undefined) {
    return [`The policy cannot be read, so that every tool asks a person: ${mistake}`]
  }
  return policy.mode === "allow"
    ? ['The policy allows every tool that nothing else speaks of: its mode is "allow".']
    : []
}

/** The facts of a tool from which its permission is decided. */
export interface Subject extends RuleReadable {
  readonly name: string
  /** Absent = it has no key. */
  readonly key?: string
  /** The permission that the tool itself declares: one for all calls, or a function of each call. */
  readonly permission?: Answer | PermissionOf
  readonly approval?: ApprovalGate
  readonly category: ToolCategory
  /** Null = not declared, which counts as a write. */
  readonly read_only: boolean | null
  /** The provider of the tool, such as `mcp:github`. */
  readonly server?: string
}

const byMode = (policy: Policy, subject: Subject): Answer => {
  switch (policy.mode) {
    case undefined: {
      const { approval, category } = subject
      return permissionOfCategory(approval === undefined ? { category } : { approval, category })
    }
    case "allow_reads":
      return subject.read_only === true ? "allow" : "ask"
    case "allow":
    case "ask":
    case "deny":
      return policy.mode
    default:
      // JavaScript may pass any value: an unknown mode allows nothing.
      policy.mode satisfies never
      return "deny"
  }
}

/** Whether the policy lists the tool in `approval_required`, so that a person is asked about every call that is allowed. */
export const alwaysAsks = ({ approval_required }: Policy, { key, name }: Subject): boolean =>
  approval_required.includes(name) || (key !== undefined && approval_required.includes(key))

/**
 * The permission of one tool, decided as far as possible before a call: an answer, or a function of the call where the tool
 * or a rule reads its arguments or its sender. Does not consider the kill switch.
 */
export const permissionFor = (policy: Policy, subject: Subject): Answer | PermissionOf => {
  const names = subject.key === undefined ? [subject.name] : [subject.name, subject.key]
  const always_asks = alwaysAsks(policy, subject)
  const restricted = (answer: Answer): Answer =>
    always_asks && answer === "allow" ? "ask" : answer
  const server = subject.server
  const declared =
    subject.permission ??
    (server !== undefined && Object.hasOwn(policy.servers, server)
      ? policy.servers[server]
      : undefined)
  if (typeof declared === "function") return (given, run) => restricted(declared(given, run))
  if (declared !== undefined) return restricted(declared)
  const rules = rulesFor(policy.rules, names, subject)
  const otherwise = byMode(policy, subject)
  const permissionOf: PermissionOf = (given, run) =>
    restricted(rules.permissionOf(given, run?.roles) ?? otherwise)
  return rules.reads_call ? permissionOf : permissionOf(undefined, undefined)
}

/** The permission of one call; `deny` while the kill switch is on. */
export const effectivePermission = (
  policy: Policy,
  subject: Subject,
  args: unknown,
  isKillSwitchOn: boolean,
  run?: JudgedRun
): Answer => {
  if (isKillSwitchOn) return "deny"
  const permission = permissionFor(policy, subject)
  return typeof permission === "function" ? permission(args, run) : permission
}

/** Whether a denied call would be allowed, or would ask, without the rules that depend on roles. The refusal then says so. */
export const isDeniedByRole = (
  policy: Policy,
  subject: Subject,
  args: unknown,
  run: JudgedRun
): boolean => {
  const rules = policy.rules.filter((rule) => !isByRole(rule))
  return (
    rules.length < policy.rules.length &&
    effectivePermission({ ...policy, rules }, subject, args, false, run) !== "deny"
  )
}
