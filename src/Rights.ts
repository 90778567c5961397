/**
 * What each role may do. One table for the HTTP API, for the facade and for the ports of a Layer.
 */
import { NotEntitled } from "./approval/Approval.ts"
import type { Principal, Role } from "./Principal.ts"

/**
 * `all`: whatever the principal's tenant has. `own`: conversations that it began, and runs of messages that it sent.
 * `named`: questions whose tool names this role among its `approvers`.
 */
export type Reach = "all" | "own" | "named"

/** `admin` may do whatever one of the others may, and to all of it. */
type Rank = Exclude<Role, "admin">

interface Right {
  /** Its methods of the facade. */
  readonly embed: ReadonlyArray<string>
  /** Its endpoints, as people are told; what is below a path is meant with it. */
  readonly http: ReadonlyArray<string>
  readonly reach: Readonly<Partial<Record<Rank, Reach>>>
}

const forOperators = { operator: "all" } as const
const forStaff = { viewer: "all", approver: "all", operator: "all" } as const

const table = {
  send: {
    embed: ["send", "ask"],
    http: ["POST /v1/messages", "/v1/conversations/{id}/messages"],
    reach: { operator: "all", customer: "own" }
  },
  follow: {
    embed: ["watch", "result"],
    http: ["GET /v1/conversations"],
    reach: { ...forStaff, customer: "own" }
  },
  /** What no other row speaks of. */
  inspect: {
    embed: ["runs", "pending", "unknown", "unhosted", "records"],
    http: [
      "GET /v1/runs",
      "/v1/approvals",
      "/v1/costs",
      "/v1/agents",
      "/v1/unhosted",
      "/v1/dead-letters",
      "/v1/kill-switch",
      "/metrics"
    ],
    reach: forStaff
  },
  decide: {
    embed: ["decide"],
    http: ["POST /v1/approvals/{id}/decision"],
    reach: { viewer: "named", approver: "all", operator: "all" }
  },
  cancel: {
    embed: ["cancel"],
    http: ["POST /v1/runs/{id}/cancel"],
    reach: { operator: "all", customer: "own" }
  },
  settle: {
    embed: ["settle"],
    http: ["POST /v1/runs/{id}/settle"],
    reach: forOperators
  },
  stopTools: {
    embed: ["stopTools"],
    http: ["PUT /v1/kill-switch"],
    reach: forOperators
  },
  repair: {
    embed: ["quarantined", "rawEvents", "releaseRun"],
    http: ["/v1/quarantine"],
    reach: forOperators
  },
  redeliver: {
    embed: [],
    http: ["POST /v1/dead-letters/{event_id}/replay", "/discard"],
    reach: forOperators
  },
  acceptMcpTool: {
    embed: ["acceptMcpTool"],
    http: [],
    reach: forOperators
  }
} as const satisfies Record<string, Right>

export type RightName = keyof typeof table

export const rights: Readonly<Record<RightName, Right>> = table

const ranks: ReadonlyArray<Rank> = ["viewer", "approver", "operator", "customer"]

const ranksWith = (right: RightName, isMeant: (reach: Reach) => boolean): ReadonlyArray<Rank> =>
  ranks.filter((rank) => {
    const reach = rights[right].reach[rank]
    return reach !== undefined && isMeant(reach)
  })

/** The roles of which one is needed, in the order of the table. */
export const rolesFor = (right: RightName): ReadonlyArray<Role> => ranksWith(right, () => true)

const holdsOne = ({ roles }: Principal, ranks: ReadonlyArray<Rank>): boolean =>
  roles.includes("admin") || ranks.some((rank) => roles.includes(rank))

/** Undefined = the principal has the right, at least to what is its own. */
export const rightRefusal = (by: Principal, right: RightName): NotEntitled | undefined =>
  holdsOne(
    by,
    ranksWith(right, () => true)
  )
    ? undefined
    : new NotEntitled({ principal: by.id, needs: rolesFor(right) })

/** Does it have the right as a customer only, and so to nothing but its own? Whatever else it may do does not count. */
export const isLimitedToOwn = (by: Principal, right: RightName): boolean =>
  !holdsOne(
    by,
    ranksWith(right, (reach) => reach !== "own")
  )
