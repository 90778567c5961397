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
export const holds = (principal: Principal, roles: ReadonlyArray<Role>): boolean =>
  roles.length === 0 ||
  principal.roles.includes("admin") ||
  roles.some((role) => principal.roles.includes(role))
