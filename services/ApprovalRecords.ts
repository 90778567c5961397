/**
 * Reads the records of approvals. The journal writes them, in the transaction of the event that they project;
 * `ApprovalDesk` takes the decisions.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Approval, ApprovalStatus } from "../src/approval/Approval.ts"
import type { ApprovalId, RunId, Tenant } from "../src/Ids.ts"
import type { StoreError } from "./StoreError.ts"

export interface ApprovalQuery {
  readonly tenant: Tenant
  readonly status?: ApprovalStatus | undefined
  readonly run_id?: RunId | undefined
  /** `approval`: questions to approvers. `client`: calls that a client answers. Absent = both. */
  readonly kind?: "approval" | "client" | undefined
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this one. */
  readonly after?: ApprovalId | undefined
}

/** Is a record among those that a query asks for by their kind? */
export const isOfKind =
  ({ kind }: ApprovalQuery) =>
  ({ client }: Approval): boolean =>
    kind === undefined || (kind === "client") === (client !== undefined)

export class ApprovalRecords extends Context.Service<
  ApprovalRecords,
  {
    /** One record. Pending ones that cannot be approved are marked (`quarantined`, `altered`), also in lists. */
    get(id: ApprovalId): Effect.Effect<Approval | undefined, StoreError>
    /** As `get`, on behalf of a principal of this tenant: a record of another one is not there, by the rights of the database too. */
    read(tenant: Tenant, id: ApprovalId): Effect.Effect<Approval | undefined, StoreError>
    /** Oldest first. */
    list(query: ApprovalQuery): Effect.Effect<ReadonlyArray<Approval>, StoreError>
    /** Pending ones whose time is over at `now`: tenants in turn, each with its oldest; at most `limit`. */
    overdue(now: number, limit: number): Effect.Effect<ReadonlyArray<Approval>, StoreError>
  }
>()("troupe/services/ApprovalRecords") {}
