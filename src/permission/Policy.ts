/**
 * Whether a call may run, needs a person, or may not: one function of what the tool says of itself and what the operator
 * says. Policy is data, given where the runtime is put together; the kill switch alone is turned while it runs.
 *
 * The first that speaks wins: kill switch, the tool's own permission, its server's, the rules, the mode; without a mode
 * the tool's category decides, and a mutation asks. A tool on `approval_required` asks where it would have been allowed.
 */
import { Effect, Result, Schema } from "effect"
import type { Roles } from "../Principal.ts"
import type { ApprovalGate, Permission as Answer, ToolCategory } from "../tool/SideEffects.ts"
import { Permission, permissionOf } from "../tool/SideEffects.ts"
import type { RuleReadable } from "./PermissionRule.ts"
import { isByRole, PermissionRule, rulesFor } from "./PermissionRule.ts"

/** `allow_reads`: what is known to only read is allowed, everything else asks. */
export const PermissionMode = Schema.Literals(["allow", "ask", "deny", "allow_reads"])
export type PermissionMode = typeof PermissionMode.Type

const unread: unique symbol = Symbol("troupe/Policy/unread")

/** Of what is said of a policy that cannot be read. */
const mistake_units_max = 500

const Name = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200))

const fields = {
  /** Changes with what it says: an approval given under one version is asked again under another. Absent = derived. */
  version: Schema.optionalKey(Name),
  /** Absent = the tool's category decides. */
  mode: Schema.optionalKey(PermissionMode),
  rules: Schema.Array(PermissionRule).check(Schema.isMaxLength(1_000)),
  /** By the provider of tools, such as `mcp:github`. */
  servers: Schema.Record(Name, Permission),
  /** Plain names or keys of tools that always ask. */
  approval_required: Schema.Array(Name).check(Schema.isMaxLength(1_000)),
  /** Capabilities that are granted without a scope count for nothing. */
  default_deny: Schema.Boolean
}

const missing = <S extends Schema.Top & Schema.WithoutConstructorDefault>(
  schema: S,
  value: S["Type"] & S["Encoded"]
) =>
  schema.pipe(
    Schema.withDecodingDefaultKey(Effect.succeed(value)),
    Schema.withConstructorDefault(Effect.succeed(value))
  )

export const Policy = Schema.Struct({
  ...fields,
  rules: missing(fields.rules, []),
  servers: missing(fields.servers, {}),
  approval_required: missing(fields.approval_required, []),
  default_deny: missing(fields.default_deny, false)
})
export interface Policy extends Schema.Schema.Type<typeof Policy> {
  /** Why what was given could not be read. No part of what the policy says: neither stored nor compared. */
  readonly [unread]?: string
}

/** Nothing is said: categories decide. */
export const no_policy: Policy = Policy.make({})

const decoded = Schema.decodeUnknownResult(Policy, { onExcessProperty: "error", errors: "all" })

const mistakeOf = (message: string): string =>
  message
    .slice(0, mistake_units_max * 2)
    .replaceAll(/\s+/g, " ")
    .slice(0, mistake_units_max)

/**
 * A policy from outside, a file or a request. One that cannot be read asks a person for everything, and never runs
 * what it might have forbidden, and the start says what is wrong with it; none at all leaves it to the categories.
 */
export const policyOf = (value: unknown): Policy => {
  if (value === undefined || value === null) return no_policy
  const result = decoded(value)
  if (Result.isSuccess(result)) return result.success
  const mistake = mistakeOf(result.failure.message)
  return Object.defineProperty(Policy.make({ mode: "ask" }), unread, { value: mistake })
}

/**
 * A policy that a program gave, whatever its types say of it: as it was decoded, or why it cannot be. One of `policyOf`
 * and `Policy.make` is itself.
 */
export const decodedPolicy = (policy: Policy): Result.Result<Policy, string> => {
  if (policy === no_policy || policy[unread] !== undefined) return Result.succeed(policy)
  return Result.mapError(decoded(policy), ({ message }) => mistakeOf(message))
}

/** What a start says aloud about a policy; empty = nothing. */
export const warningsOf = (policy: Policy): ReadonlyArray<string> => {
  const mistake = policy[unread]
  if (mistake !== undefined) {
    return [`The policy cannot be read, so that every tool asks a person: ${mistake}`]
  }
  return policy.mode === "allow"
    ? ['The policy allows every tool that nothing else speaks of: its mode is "allow".']
    : []
}

/** What is known of a tool where its permission is decided. */
export interface Subject extends RuleReadable {
  readonly name: string
  /** Absent = it has no key. */
  readonly key?: string
  /** The tool's own. */
  readonly permission?: Answer
  readonly approval?: ApprovalGate
  readonly category: ToolCategory
  /** Null = nothing was declared, which counts as a write. */
  readonly read_only: boolean | null
  /** Who brings it. */
  readonly server?: string
}

/** Of a call with these arguments, in a run whose sender had these roles. */
export type PermissionOf = (args: unknown, roles: Roles | undefined) => Answer

const byMode = (policy: Policy, subject: Subject): Answer => {
  switch (policy.mode) {
    case undefined: {
      const { approval, category } = subject
      return permissionOf(approval === undefined ? { category } : { approval, category })
    }
    case "allow_reads":
      return subject.read_only === true ? "allow" : "ask"
    case "allow":
    case "ask":
    case "deny":
      return policy.mode
    default:
      // From JavaScript it may be anything: what nobody knows allows nothing.
      policy.mode satisfies never
      return "deny"
  }
}

/**
 * The permission of one tool, decided as far as it can be before a call: an answer, or a function of the call where a
 * rule reads its arguments or the roles of whoever sent the message. The kill switch is not in it.
 */
export const permissionFor = (policy: Policy, subject: Subject): Answer | PermissionOf => {
  const names = subject.key === undefined ? [subject.name] : [subject.name, subject.key]
  const listed = names.some((name) => policy.approval_required.includes(name))
  const shown = (answer: Answer): Answer => (listed && answer === "allow" ? "ask" : answer)
  const server = subject.server
  const spoken =
    subject.permission ??
    (server !== undefined && Object.hasOwn(policy.servers, server)
      ? policy.servers[server]
      : undefined)
  if (spoken !== undefined) return shown(spoken)
  const rules = rulesFor(policy.rules, names, subject)
  const otherwise = byMode(policy, subject)
  const of: PermissionOf = (args, roles) => shown(rules.of(args, roles) ?? otherwise)
  return rules.reads_call ? of : of(undefined, undefined)
}

/** The permission of one call. */
export const effectivePermission = (
  policy: Policy,
  subject: Subject,
  args: unknown,
  killed: boolean,
  roles?: Roles
): Answer => {
  if (killed) return "deny"
  const permission = permissionFor(policy, subject)
  return typeof permission === "function" ? permission(args, roles) : permission
}

/** Is a call that is denied denied to some senders only? For what its refusal says. */
export const isDeniedByRole = (policy: Policy, subject: Subject, args: unknown): boolean => {
  const rules = policy.rules.filter((rule) => !isByRole(rule))
  return (
    rules.length < policy.rules.length &&
    effectivePermission({ ...policy, rules }, subject, args, false) !== "deny"
  )
}
