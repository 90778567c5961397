/**
 * What each role may do. Each operation names its right; the HTTP API, the facade and the ports use this one table. A service adds
 * the roles that it declares.
 */
import { Context, Effect, Schema } from "effect"
import { InvalidInput, shapeReader, withoutUndefined } from "../schema/InvalidInput.ts"
import { truncateUnits } from "../value/CutText.ts"
import { listNames } from "../value/Nearest.ts"
import { NotEntitled } from "./NotEntitled.ts"
import { common_roles, Principal, principalHasRole, Role } from "./Principal.ts"

/**
 * How far a right reaches. `all`: everything in the principal's tenant. `own`: conversations that the principal began, and runs
 * of messages that it sent. `named`: questions about tools that list the principal's role among their `approvers`.
 */
export type Reach = "all" | "own" | "named"

/** How far a right reaches for each role that has it. `admin` has every right with the reach `all`, so no row lists it. */
export type Right = Readonly<Partial<Record<Role, Reach>>>

const forOperators = { operator: "all" } as const
const forStaff = { viewer: "all", approver: "all", operator: "all" } as const

const table = {
  send: { operator: "all", customer: "own" },
  follow: { ...forStaff, customer: "own" },
  /** The right to read everything that no other row of the table covers. */
  inspect: forStaff,
  decide: { viewer: "named", approver: "all", operator: "all", customer: "own" },
  authorize: { viewer: "named", approver: "all", operator: "all", customer: "named" },
  answer: { operator: "all", customer: "own" },
  cancel: { operator: "all", customer: "own" },
  settle: forOperators,
  /** The right to run again, without its effects, what was run. */
  fork: forOperators,
  stopTools: forOperators,
  repair: forOperators,
  curate: forOperators,
  /** The right to begin conversations with what was said elsewhere. */
  importHistories: forOperators,
  redeliver: forOperators,
  publish: { operator: "all", publisher: "all" },
  bind: forOperators,
  /** The right to read the notices to the principal itself, and to set its preferences. */
  readNotices: { viewer: "own", approver: "own", operator: "own", customer: "own" },
  /** The right to erase a subject. Of the common roles only `admin` has it, because an erasure cannot be undone. */
  erase: {},
  /** The right to delete a conversation, which is its erasure: of the common roles `admin` has it for all. */
  deleteConversations: { customer: "own" },
  /** The right to manage access tokens. Of the common roles only `admin` has it: others that have it never make an admin's. */
  issueTokens: {},
  /** The right to say where events of the tenant go. Of the common roles only `admin` has it. */
  manageWebhooks: {},
  /** The right to see how the service was started. Of the common roles only `admin` has it. */
  administer: {},
  acceptMcpTool: forOperators
} as const satisfies Record<string, Right>

/** A right of every service. */
export type RightName = keyof typeof table

/** A right of every service by its name, or one that a feature declares for operations of its own. */
export type AnyRight = RightName | Right

export const rights: Readonly<Record<RightName, Right>> = table

/** What may be done for somebody else: acts whose records name both. */
export const delegable = [
  "send",
  "follow",
  "inspect",
  "decide",
  "answer",
  "cancel",
  "settle",
  "readNotices",
  "deleteConversations"
] as const satisfies ReadonlyArray<RightName>

/** For holders of which roles somebody acts, and which of their rights it uses then. */
export type ActFor = Readonly<Partial<Record<Role, ReadonlyArray<(typeof delegable)[number]>>>>

/**
 * What a role may do that a service declares: the rights that it has, and how far each of them reaches. With
 * `actFor: { customer: ["send", "follow"] }` it also does this for customers (`via` of a principal), as far as their own rights
 * reach. Nobody acts for an admin.
 */
export type RoleRights = { readonly [R in RightName]?: Reach } & { readonly actFor?: ActFor }

const isRole = Schema.is(Role)
const reaches: ReadonlyArray<unknown> = ["all", "own", "named"] satisfies ReadonlyArray<Reach>

/** Whether a value is the name of a right, or a right that roles have with a reach. `admin` has it anyway. */
export const isRight = (value: unknown): value is AnyRight =>
  typeof value === "string"
    ? Object.hasOwn(rights, value)
    : typeof value === "object" &&
      value !== null &&
      Object.entries(value).every(
        ([role, reach]) => isRole(role) && role !== "admin" && reaches.includes(reach)
      )

/** The greatest number of roles that a service may declare. */
export const declared_roles_max = 32

/** The reaches that a declared role may have: those of staff in the row. Who is limited to its own is a `customer` too. */
const reachesOf = (right: Right): ReadonlyArray<Reach> => {
  const roles = Object.keys(right).filter((role) => role !== "customer")
  return roles.length === 0 ? ["all"] : roles.flatMap((role) => right[role] ?? [])
}

/** The roles that a service declares beside the common ones, by their names. */
export type DeclaredRoles = ReadonlyMap<Role, RoleRights>

const readDeclared = shapeReader(
  Schema.Record(Schema.String, Schema.Unknown).check(Schema.isMaxProperties(declared_roles_max))
)
const readRights = shapeReader(
  Schema.Struct({
    ...Object.fromEntries(
      Object.entries(rights).map(([name, right]) => [
        name,
        Schema.optionalKey(Schema.Literals(reachesOf(right)))
      ])
    ),
    actFor: Schema.optionalKey(
      Schema.Record(
        Role,
        Schema.Array(Schema.Literals(delegable)).check(
          Schema.isMinLength(1),
          Schema.isMaxLength(delegable.length)
        )
      ).check(Schema.isMaxProperties(declared_roles_max + common_roles.length))
    )
  })
)

/** What is wrong with whom the roles act for: the role and the other one, and what to say. Undefined = nothing. */
const idleActFor = (
  declared: DeclaredRoles
): readonly [role: Role, whom: Role, message: string] | undefined => {
  for (const [role, { actFor = {} }] of declared) {
    const whom = Object.keys(actFor)
    if (whom.includes("admin")) return [role, "admin", "nobody acts for an admin"]
    const unknown = unknownRole(whom, declared)
    if (unknown !== undefined) return [role, whom[unknown[0]] ?? "", unknown[1]]
  }
  return undefined
}

/** Reads the roles of options. Fails for a name of another form or of a common role, and for a right or a reach that there is not. */
export const declaredRoles = Effect.fnUntraced(function* (given: unknown, field: string) {
  const declared = new Map<Role, RoleRights>()
  for (const [role, members] of Object.entries(yield* readDeclared(given, field))) {
    if (!isRole(role) || (common_roles as ReadonlyArray<Role>).includes(role)) {
      const what = isRole(role)
        ? "every service has this role, and none declares it"
        : "a role has a lower-case name such as auditor: 1 to 63 letters, digits, _ or -"
      const name = truncateUnits(role, 64).toWellFormed()
      return yield* new InvalidInput({ field: `${field}.${name}`, reason: what })
    }
    declared.set(role, yield* readRights(withoutUndefined(members), `${field}.${role}`))
  }
  const idle = idleActFor(declared)
  if (idle !== undefined) {
    const [role, whom, reason] = idle
    return yield* new InvalidInput({ field: `${field}.${role}.actFor.${whom}`, reason })
  }
  return declared as DeclaredRoles
})

/** Those of the service that a fiber works for; none by default. */
export const DeclaredRoles: Context.Reference<DeclaredRoles> = Context.Reference<DeclaredRoles>(
  "troupe/principal/DeclaredRoles",
  { defaultValue: () => new Map() }
)

/** All roles that there are where these are declared. */
export const rolesWith = (declared: DeclaredRoles): ReadonlyArray<Role> => [
  ...common_roles,
  ...declared.keys()
]

/** The first role that there is not where these are declared: its place, and what to say. Undefined = there are all of them. */
export const unknownRole = (
  roles: ReadonlyArray<Role>,
  declared: DeclaredRoles
): readonly [at: number, message: string] | undefined => {
  const known = rolesWith(declared)
  const at = roles.findIndex((role) => !known.includes(role))
  return at < 0
    ? undefined
    : [at, `there is no role ${JSON.stringify(roles[at])}.${listNames(known)}`]
}

/** The first of a tool's approvers that has no right to decide, so that it could answer no question: its place, and what to say. */
export const idleApprover = (
  approvers: ReadonlyArray<Role>,
  declared: DeclaredRoles
): readonly [at: number, message: string] | undefined => {
  const may = rolesWith(declared).filter(
    (role) =>
      role === "admin" ||
      Object.hasOwn(rights.decide, role) ||
      declared.get(role)?.decide !== undefined
  )
  const at = approvers.findIndex((role) => !may.includes(role))
  return at < 0
    ? undefined
    : [
        at,
        `the role ${JSON.stringify(approvers[at])} lacks the right "decide", so it can answer no question. These have it: ${may.join(", ")}.`
      ]
}

/** What is declared in the service that each principal was read for. A principal that nobody read has no declared role. */
const declaredFor = new WeakMap<object, DeclaredRoles>()

/** A principal of a service with these roles. It holds none that the service does not have, also where its token names one. */
export const principalIn = (
  declared: DeclaredRoles,
  { id, roles, tenant, via }: Pick<Principal, "id" | "roles" | "tenant" | "via">
): Principal => {
  const known = rolesWith(declared)
  const held = (roles: ReadonlyArray<Role>) => roles.filter((role) => known.includes(role))
  const principal = new Principal(
    {
      id,
      tenant,
      roles: held(roles),
      ...(via && { via: { ...via, roles: held(via.roles) } })
    },
    { disableChecks: true }
  )
  if (declared.size > 0) declaredFor.set(principal, declared)
  // The constructor copies what it is given.
  Object.freeze(principal.roles)
  if (principal.via !== undefined) Object.freeze(Object.freeze(principal.via).roles)
  return Object.freeze(principal)
}

/** Whether the principal was read for a service that declares these roles, or none. Absent = none. */
export const isReadFor = (principal: Principal, declared?: DeclaredRoles): boolean => {
  const known = declaredFor.get(principal)
  return known === undefined || known === declared
}

type Holder = Pick<Principal, "roles" | "via">

/** How far a right reaches for a role, as the service of this principal declares it. Undefined = the role does not have it. */
const reachOf = (by: Holder, role: Role, right: AnyRight): Reach | undefined => {
  if (role === "admin") return "all"
  const row = typeof right === "string" ? rights[right] : right
  // A role may be called `constructor`, say.
  if (Object.hasOwn(row, role)) return row[role]
  return typeof right === "string" ? declaredFor.get(by)?.get(role)?.[right] : undefined
}

type IsMeant = (reach: Reach | undefined) => boolean
const any: IsMeant = (reach) => reach !== undefined
const moreThanOwn: IsMeant = (reach) => reach === "all" || reach === "named"
const all: IsMeant = (reach) => reach === "all"

/** Does the role say that whoever holds it may use this right for holders of the other role? */
const actsFor = ({ actFor = {} }: RoleRights, role: Role, right: AnyRight): boolean =>
  Object.hasOwn(actFor, role) && (actFor[role] as ReadonlyArray<AnyRight>).includes(right)

/** Whether the right of this role may be used: it may where the principal acts itself, or a role of who acts for it says so. */
const isGivenOn = (by: Holder, role: Role, right: AnyRight): boolean =>
  by.via === undefined ||
  by.via.roles.some((each) => actsFor(declaredFor.get(by)?.get(each) ?? {}, role, right))

/** Whether the principal has the right with a reach that is meant. */
const has = (by: Holder, right: AnyRight, isMeant: IsMeant): boolean =>
  by.roles.some((role) => isMeant(reachOf(by, role, right)) && isGivenOn(by, role, right))

/** Whether any role of who acts for somebody lets it do so. */
export const mayActFor = (by: Principal): boolean =>
  by.roles.some((role) => declaredFor.get(by)?.get(role)?.actFor !== undefined)

/** The error that names the roles which have the right so, but for `admin`, which has every right. */
const lacking = (by: Principal, right: AnyRight, isMeant: IsMeant): NotEntitled => {
  const declared: DeclaredRoles = declaredFor.get(by) ?? new Map()
  const held = by.roles.filter((role) => isMeant(reachOf(by, role, right)))
  if (by.via !== undefined && held.length > 0) {
    const may = [...declared].filter(([, of]) => held.some((role) => actsFor(of, role, right)))
    const isDelegable =
      (delegable as ReadonlyArray<AnyRight>).includes(right) && held[0] !== "admin"
    return new NotEntitled({
      principal: by.id,
      needs: may.map(([role]) => role),
      via: by.via.id,
      ...(isDelegable && { lacks: `actFor: { ${held[0]}: ["${String(right)}"] }` })
    })
  }
  const roles = rolesWith(declared)
  const needs = roles.filter((role) => role !== "admin" && isMeant(reachOf(by, role, right)))
  return new NotEntitled({ principal: by.id, needs })
}

/** Whether the principal has the right, at least with the reach `own`. */
export const hasRight = (by: Principal, right: AnyRight): boolean => has(by, right, any)

/** The error if the principal may not use the right; undefined = it has the right, at least with the reach `own`. */
export const rightRefusal = (by: Principal, right: AnyRight): NotEntitled | undefined =>
  has(by, right, any) ? undefined : lacking(by, right, any)

/** The error of somebody with no more than the reach `own`. */
export const ownRefusal = (by: Principal, right: RightName): NotEntitled =>
  lacking(by, right, moreThanOwn)

/**
 * Whether the principal has no more than the reach `own` for this right. False for a customer that also has a staff role with
 * the right.
 */
export const isLimitedToOwn = (by: Holder, right: RightName): boolean =>
  !has(by, right, moreThanOwn)

/** Whether the principal has this right only where something names its role, such as the `approvers` of a tool. */
export const isLimitedToNamed = (by: Principal, right: RightName): boolean => !has(by, right, all)

/**
 * The error if the principal has none of the roles that decide here; undefined = it may. Where no role is named, those decide
 * that have the right for everything.
 */
export const approverRefusal = (
  by: Principal,
  right: "authorize" | "decide",
  approvers: ReadonlyArray<Role>
): NotEntitled | undefined => {
  if (approvers.length === 0) return has(by, right, all) ? undefined : lacking(by, right, all)
  const isNamed =
    by.via === undefined
      ? principalHasRole(by, approvers)
      : by.roles.some((role) => approvers.includes(role) && isGivenOn(by, role, right))
  return isNamed ? undefined : new NotEntitled({ principal: by.id, needs: approvers })
}
