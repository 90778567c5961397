/**
 * What each role may do. Each operation names its right; the HTTP API, the facade and the ports use this one table.
 */
import { NotEntitled } from "./NotEntitled.ts"
import type { Principal, Role } from "./Principal.ts"

/**
 * How far a right reaches. `all`: everything in the principal's tenant. `own`: conversations that the principal began, and runs
 * of messages that it sent. `named`: questions about tools that list the principal's role among their `approvers`.
 */
export type Reach = "all" | "own" | "named"

/** `admin` has every right with the reach `all`, so the table leaves it out. */
type Rank = Exclude<Role, "admin">

/** How far a right reaches for each role that has it. */
export type Right = Readonly<Partial<Record<Rank, Reach>>>

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
  stopTools: forOperators,
  repair: forOperators,
  curate: forOperators,
  redeliver: forOperators,
  publish: { operator: "all", publisher: "all" },
  bind: forOperators,
  /** The right to read the notices to the principal itself, and to set its preferences. */
  readNotices: { viewer: "own", approver: "own", operator: "own", customer: "own" },
  /** The right to erase a subject. Only admins have it, because an erasure cannot be undone. */
  erase: {},
  /** The right to manage access tokens. Only admins have it, because a token may have any role. */
  issueTokens: {},
  acceptMcpTool: forOperators
} as const satisfies Record<string, Right>

/** A right of every service. */
export type RightName = keyof typeof table

/** A right of every service by its name, or one that a feature declares for operations of its own. */
export type AnyRight = RightName | Right

export const rights: Readonly<Record<RightName, Right>> = table

const ranks: ReadonlyArray<Rank> = ["viewer", "approver", "operator", "customer", "publisher"]

const reaches: ReadonlyArray<unknown> = ["all", "own", "named"] satisfies ReadonlyArray<Reach>

/** Whether a value is the name of a right, or a right that roles have with a reach. */
export const isRight = (value: unknown): value is AnyRight =>
  typeof value === "string"
    ? Object.hasOwn(rights, value)
    : typeof value === "object" &&
      value !== null &&
      Object.entries(value).every(
        ([role, reach]) => ranks.some((rank) => rank === role) && reaches.includes(reach)
      )

/** The roles that have the right with a reach for which `isMeant` is true. */
const ranksOf = (right: Right, isMeant: (reach: Reach) => boolean): ReadonlyArray<Rank> =>
  ranks.filter((rank) => {
    const reach = right[rank]
    return reach !== undefined && isMeant(reach)
  })

/** The same of each right. */
const ranksWith = (
  isMeant: (reach: Reach) => boolean
): Readonly<Record<RightName, ReadonlyArray<Rank>>> => {
  const named = Object.entries(rights).map(([name, right]) => [name, ranksOf(right, isMeant)])
  return Object.fromEntries(named) as Record<RightName, ReadonlyArray<Rank>>
}

const withAny = ranksWith(() => true)
const withMoreThanOwn = ranksWith((reach) => reach !== "own")
const withAll = ranksWith((reach) => reach === "all")

/** The roles that have the right, in the order of the table; `admin` is not listed. */
export const rolesFor = (right: AnyRight): ReadonlyArray<Rank> =>
  typeof right === "string" ? withAny[right] : ranksOf(right, () => true)

const holdsOne = ({ roles }: Pick<Principal, "roles">, ranks: ReadonlyArray<Rank>): boolean =>
  roles.includes("admin") || ranks.some((rank) => roles.includes(rank))

/** The error if the principal may not use the right; undefined = it has the right, at least with the reach `own`. */
export const rightRefusal = (by: Principal, right: AnyRight): NotEntitled | undefined =>
  holdsOne(by, rolesFor(right))
    ? undefined
    : new NotEntitled({ principal: by.id, needs: rolesFor(right) })

/**
 * Whether the principal has no more than the reach `own` for this right. False for a customer that also has a staff role with
 * the right.
 */
export const isLimitedToOwn = (by: Pick<Principal, "roles">, right: RightName): boolean =>
  !holdsOne(by, withMoreThanOwn[right])

/** Whether the principal has this right only where something names its role, such as the `approvers` of a tool. */
export const isLimitedToNamed = (by: Principal, right: RightName): boolean =>
  !holdsOne(by, withAll[right])
