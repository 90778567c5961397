/**
 * An authenticated person or service, and its roles.
 */
import { Schema } from "effect"
import { plainText, Tenant } from "../value/Ids.ts"

/**
 * `admin` includes every other role; a `customer` sees only its own conversations and runs; a `publisher` is a system that sends
 * events and may do nothing else.
 */
export const Role = Schema.Literals([
  "viewer",
  "approver",
  "operator",
  "admin",
  "customer",
  "publisher"
])
export type Role = typeof Role.Type

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

/** A sender's roles as a run stores them: each at most once, in the order of `Role`. */
export const Roles = Schema.Array(Role).check(Schema.isMaxLength(Role.literals.length))
export type Roles = typeof Roles.Type

/** The lists that were made so far, one for each combination of roles, so that all messages with these roles share one list. */
const combinations = new Map<number, Roles>()

export const rolesOf = ({ roles }: Pick<Principal, "roles">): Roles => {
  let combination = 0
  for (const role of roles) combination |= 1 << Role.literals.indexOf(role)
  let known = combinations.get(combination)
  if (known === undefined) {
    known = Object.freeze(Role.literals.filter((role) => roles.includes(role)))
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
