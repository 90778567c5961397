/**
 * An authenticated person or service, and its roles.
 */
import { Schema } from "effect"
import { plainText, Tenant } from "../value/Ids.ts"

/**
 * The roles of every service. `admin` includes every other role; a `customer` sees only its own conversations and runs; a
 * `publisher` is a system that sends events and may do nothing else.
 */
export const common_roles = [
  "viewer",
  "approver",
  "operator",
  "admin",
  "customer",
  "publisher"
] as const

/** The name of a role: one of every service, or one that the service declares (`DeclaredRoles`). */
export const Role = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,62}$/, {
    description: `a role: ${common_roles.join(", ")}, or one that the service declares`
  })
)
/** The common roles are listed for editors, which suggest them. */
export type Role = (typeof common_roles)[number] | (string & {})

export class Principal extends Schema.Class<Principal>("troupe/Principal")({
  /**
   * Who it is, as events and records name it: 1 to 200 characters, none of them a control character. Throws if it does not fit.
   */
  id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200), plainText),
  /** Whose data it sees and changes, and no other: 1 to 200 letters, digits or . _ : @ ~ - */
  tenant: Tenant,
  /** What it may do there: the table of rights. Empty = nothing (`NotEntitled`). */
  roles: Schema.Array(Role)
}) {}

/** A principal as callers may pass it: an instance of the class, or a plain object of the same shape, which is then decoded. */
export interface PrincipalInput {
  /** Who it is, as events and records name it: 1 to 200 characters, none of them a control character. */
  readonly id: string
  /** Whose data it sees and changes, and no other: 1 to 200 letters, digits or . _ : @ ~ - */
  readonly tenant: string
  /** What it may do there: the table of rights. Empty = nothing (`NotEntitled`). */
  readonly roles: ReadonlyArray<Role>
}

/** Whether the principal has one of the roles, or is an admin. True for an empty list. */
export const principalHasRole = (principal: Principal, roles: ReadonlyArray<Role>): boolean =>
  roles.length === 0 ||
  principal.roles.includes("admin") ||
  roles.some((role) => principal.roles.includes(role))

/** How many roles a principal may have. */
export const roles_max = 16

/** A sender's roles as a run stores them: each at most once, the common ones first and in their order. */
export const Roles = Schema.Array(Role).check(Schema.isMaxLength(roles_max))
export type Roles = ReadonlyArray<Role>

/**
 * The lists that were made so far, one for each combination of common roles, so that all messages with these roles share one list
 * (bench row `send`).
 */
const combinations = new Map<number, Roles>()

export const rolesOf = ({ roles }: Pick<Principal, "roles">): Roles => {
  let combination = 0
  for (const role of roles) {
    const at = (common_roles as Roles).indexOf(role)
    if (at < 0)
      return [...new Set([...common_roles.filter((each) => roles.includes(each)), ...roles])]
    combination |= 1 << at
  }
  let known = combinations.get(combination)
  if (known === undefined) {
    known = Object.freeze(common_roles.filter((role) => roles.includes(role)))
    combinations.set(combination, known)
  }
  return known
}

/**
 * Whether these roles include one of `wanted`. `admin` counts as every role but `customer`. Undefined = the roles were not
 * recorded, which counts as none.
 */
export const hasRole = (roles: Roles | undefined, wanted: ReadonlyArray<Role>): boolean =>
  roles !== undefined &&
  wanted.some((role) => roles.includes(role) || (role !== "customer" && roles.includes("admin")))

/** The roles as a refusal's message lists them. */
export const rolesText = (roles: Roles | undefined): string =>
  roles === undefined || roles.length === 0 ? "no role" : roles.join(", ")
