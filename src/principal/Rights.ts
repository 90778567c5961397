/**
 * What each role may do. The HTTP API, the facade and the ports use this one table.
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

interface Right {
  /** The methods of the facade that need this right. */
  readonly embed: ReadonlyArray<string>
  /** The endpoints that need this right, as documented; each includes the paths below it. */
  readonly http: ReadonlyArray<string>
  readonly reach: Readonly<Partial<Record<Rank, Reach>>>
}

const forOperators = { operator: "all" } as const
const forStaff = { viewer: "all", approver: "all", operator: "all" } as const

const table = {
  send: {
    embed: ["send", "ask", "stream"],
    http: ["POST /v1/messages", "/v1/conversations/{id}/messages"],
    reach: { operator: "all", customer: "own" }
  },
  follow: {
    embed: ["watch", "result", "conversations", "messages", "file"],
    http: ["GET /v1/conversations"],
    reach: { ...forStaff, customer: "own" }
  },
  /** The right to read everything that no other row of the table covers. */
  inspect: {
    embed: [
      "runs",
      "run",
      "runEvents",
      "pending",
      "unknown",
      "unhosted",
      "records",
      "memories",
      "costs",
      "deadLetters",
      "deadLetter",
      "toolsStopped",
      "agents",
      "approvals",
      "approval"
    ],
    http: [
      "GET /v1/runs",
      "/v1/approvals",
      "/v1/costs",
      "/v1/agents",
      "/v1/unhosted",
      "/v1/dead-letters",
      "/v1/scans",
      "/v1/failure-clusters",
      "/v1/changesets",
      "/v1/kill-switch",
      "/metrics"
    ],
    reach: forStaff
  },
  decide: {
    embed: ["decide"],
    http: ["POST /v1/approvals/{id}/decision"],
    reach: { viewer: "named", approver: "all", operator: "all", customer: "own" }
  },
  authorize: {
    embed: ["authorize", "authorizations", "revokeAuthorization"],
    http: ["/v1/authorizations"],
    reach: { viewer: "named", approver: "all", operator: "all", customer: "named" }
  },
  answer: {
    embed: ["clientCalls", "answerClientCall"],
    http: ["/v1/conversations/{id}/client-calls", "POST /v1/client-calls/{id}/result"],
    reach: { operator: "all", customer: "own" }
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
  /** The right to review change sets, which is not a decision about a call. */
  review: {
    embed: [],
    http: ["POST /v1/changesets/{changeset_id}/review"],
    reach: { approver: "all", operator: "all" }
  },
  /** The right to read drafts of rubrics and system cards, and to publish or withdraw them. */
  author: {
    embed: [],
    http: ["/v1/drafts"],
    reach: forOperators
  },
  repair: {
    embed: ["quarantined", "rawEvents", "releaseRun"],
    http: ["/v1/quarantine"],
    reach: forOperators
  },
  curate: {
    embed: ["undoMemory", "eraseMemories", "registerText"],
    http: [],
    reach: forOperators
  },
  redeliver: {
    embed: ["replayDeadLetter", "discardDeadLetter"],
    http: ["POST /v1/dead-letters/{event_id}/replay", "/discard"],
    reach: forOperators
  },
  publish: {
    embed: ["publish"],
    http: ["POST /v1/events"],
    reach: { operator: "all", publisher: "all" }
  },
  bind: {
    embed: ["bind", "unbind", "bindings"],
    http: ["/v1/conversations/{id}/bindings"],
    reach: forOperators
  },
  /** The right to read the notices to the principal itself, and to set its preferences. */
  readNotices: {
    embed: ["notices", "readNotices", "preferences", "prefer"],
    http: ["/v1/notices"],
    reach: { viewer: "own", approver: "own", operator: "own", customer: "own" }
  },
  /** The right to erase a subject. Only admins have it, because an erasure cannot be undone. */
  erase: {
    embed: ["erase", "erasures"],
    http: ["/v1/erasures"],
    reach: {}
  },
  /** The right to manage access tokens. Only admins have it, because a token may have any role. */
  issueTokens: {
    embed: ["createToken", "tokens", "revokeToken"],
    http: ["/v1/tokens"],
    reach: {}
  },
  acceptMcpTool: {
    embed: ["acceptMcpTool"],
    http: [],
    reach: forOperators
  }
} as const satisfies Record<string, Right>

export type RightName = keyof typeof table

export const rights: Readonly<Record<RightName, Right>> = table

const ranks: ReadonlyArray<Rank> = ["viewer", "approver", "operator", "customer", "publisher"]

/** For each right, the roles that have it with a reach for which `isMeant` is true. */
const ranksWith = (
  isMeant: (reach: Reach) => boolean
): Readonly<Record<RightName, ReadonlyArray<Rank>>> => {
  const isOf = (right: Right) => (rank: Rank) => {
    const reach = right.reach[rank]
    return reach !== undefined && isMeant(reach)
  }
  const named = Object.entries(rights).map(([name, right]) => [name, ranks.filter(isOf(right))])
  return Object.fromEntries(named) as Record<RightName, ReadonlyArray<Rank>>
}

const withAny = ranksWith(() => true)
const withMoreThanOwn = ranksWith((reach) => reach !== "own")
const withAll = ranksWith((reach) => reach === "all")

/** The roles that have the right, in the order of the table; `admin` is not listed. */
export const rolesFor = (right: RightName): ReadonlyArray<Role> => withAny[right]

const holdsOne = ({ roles }: Pick<Principal, "roles">, ranks: ReadonlyArray<Rank>): boolean =>
  roles.includes("admin") || ranks.some((rank) => roles.includes(rank))

/** The error if the principal may not use the right; undefined = it has the right, at least with the reach `own`. */
export const rightRefusal = (by: Principal, right: RightName): NotEntitled | undefined =>
  holdsOne(by, withAny[right])
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
