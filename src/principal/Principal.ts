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

const id = Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200), plainText)

/** Who acts for a principal. Nobody acts for it in turn: there is one step and no chain. */
export const Acting = Schema.Struct({
  /** Who it is, as events and records name it. */
  id,
  /** That of the principal for which it acts. */
  tenant: Tenant,
  /** Its own roles, one of which says for whom it may act. */
  roles: Schema.Array(Role)
})

/** Who acts, for which tenant, and with which roles. */
export class Principal extends Schema.Class<Principal>("troupe/Principal")({
  /**
   * Who it is, as events and records name it: 1 to 200 characters, none of them a control character. Throws if it does not fit.
   */
  id,
  /** Whose data it sees and changes, and no other: 1 to 200 letters, digits or . _ : @ ~ - */
  tenant: Tenant,
  /** What it may do there: the table of rights. Empty = nothing (`NotEntitled`). */
  roles: Schema.Array(Role),
  /**
   * Who acts for it, such as the backend of its user: of the same tenant, and with a role that says so (`actFor`). What is done has
   * to be a right of the principal that the role names too; events and records name both. Absent = it acts itself.
   */
  via: Schema.optionalKey(Acting)
}) {}

/** A principal as callers may pass it: an instance of the class, or a plain object of the same shape, which is then decoded. */
export interface PrincipalInput {
  /** Who it is, as events and records name it: 1 to 200 characters, none of them a control character. */
  readonly id: string
  /** Whose data it sees and changes, and no other: 1 to 200 letters, digits or . _ : @ ~ - */
  readonly tenant: string
  /** What it may do there: the table of rights. Empty = nothing (`NotEntitled`). */
  readonly roles: ReadonlyArray<Role>
  /**
   * Who acts for it, such as the backend of its user: of the same tenant, and with a role that says so (`actFor`). Absent = it acts
   * itself.
   */
  readonly via?: Omit<PrincipalInput, "via"> | undefined
}

/** Who did something, as events and records name it. */
export const Who = Schema.Struct({
  by: Schema.String,
  /** Who acted for it. Absent = it acted itself. */
  via: Schema.optionalKey(Schema.String)
})
export interface Who extends Schema.Schema.Type<typeof Who> {}

export const whoOf = ({ id, via }: Principal): Who =>
  via === undefined ? { by: id } : { by: id, via: via.id }

/**
 * Whether the principal has one of the roles, or is an admin. True for an empty list. False where somebody acts for it, which is
 * a matter of rights (`Rights.ts`).
 */
export const principalHasRole = (principal: Principal, roles: ReadonlyArray<Role>): boolean =>
  roles.length === 0 ||
  (principal.via === undefined &&
    (principal.roles.includes("admin") || roles.some((role) => principal.roles.includes(role))))

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
