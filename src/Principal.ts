/**
 * Who asks: an authenticated person or service, and what it is entitled to.
 */
import { Schema } from "effect"
import { Tenant } from "./Ids.ts"

/** `admin` holds every other role; `customer` sees only its own workspace. */
export const Role = Schema.Literals(["viewer", "approver", "operator", "admin", "customer"])
export type Role = typeof Role.Type

export class Principal extends Schema.Class<Principal>("troupe/Principal")({
  id: Schema.String.check(Schema.isMinLength(1), Schema.isMaxLength(200)),
  tenant: Tenant,
  roles: Schema.Array(Role)
}) {}

/** Does the principal hold one of the roles? An empty list asks for nothing. */
export const principalHasRole = (principal: Principal, roles: ReadonlyArray<Role>): boolean =>
  roles.length === 0 ||
  principal.roles.includes("admin") ||
  roles.some((role) => principal.roles.includes(role))

/** As many roles as there are, each once and in this order: what a run keeps of who asked for it. */
export const Roles = Schema.Array(Role).check(Schema.isMaxLength(Role.literals.length))
export type Roles = typeof Roles.Type

export const rolesOf = ({ roles }: Pick<Principal, "roles">): Roles =>
  Role.literals.filter((role) => roles.includes(role))

/**
 * Has whoever had these roles one of those that are asked for? An admin has every role but that of a customer. Undefined =
 * nobody wrote down which they were, which counts as none.
 */
export const hasRole = (roles: Roles | undefined, wanted: ReadonlyArray<Role>): boolean =>
  roles !== undefined &&
  wanted.some((role) => roles.includes(role) || (role !== "customer" && roles.includes("admin")))

/** For a message to whoever reads a refusal. */
export const rolesText = (roles: Roles | undefined): string =>
  roles === undefined || roles.length === 0 ? "no role" : roles.join(", ")
