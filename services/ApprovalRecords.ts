/**
 * Reads the records of approvals. The journal writes them, in the transaction of the event that they project;
 * `ApprovalDesk` takes the decisions.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { Approval, ApprovalStatus, ListOrder } from "../src/approval/Approval.ts"
import type { ApprovalId, RunId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** Selects a page of questions. */
export interface ApprovalQuery {
  /** Whose questions. */
  readonly tenant: Tenant
  /** Absent = any status. */
  readonly status?: ApprovalStatus | undefined
  /** The run that asked. Absent = any. */
  readonly run_id?: RunId | undefined
  /** `approval`: questions for approvers. `client`: calls that a client answers. Absent = both. */
  readonly kind?: "approval" | "client" | undefined
  /** 1 to 500. */
  readonly limit: number
  /** Absent = `oldest` first. */
  readonly order?: ListOrder | undefined
  /** Continue after this one. */
  readonly after?: ApprovalId | undefined
}

/** Whether a record is of the kind that the query asks for. */
export const isOfKind =
  ({ kind }: ApprovalQuery) =>
  ({ client }: Approval): boolean =>
    kind === undefined || (kind === "client") === (client !== undefined)

/** The stored questions: one record for each, which is settled once. */
export class ApprovalRecords extends Context.Service<
  ApprovalRecords,
  {
    /** One record as it is stored, for a caller that reads its run too and compares them; undefined = unknown. */
    get(id: ApprovalId): Effect.Effect<Approval | undefined, StoreError>
    /**
     * One record for a principal of this tenant: a record of another tenant is not found. SQL stores that have a tenant role also
     * enforce this with row-level security. Pending records that cannot be approved are marked `quarantined` or `altered`, in
     * lists too.
     */
    read(tenant: Tenant, id: ApprovalId): Effect.Effect<Approval | undefined, StoreError>
    /** In the order in which they were asked, or in the reverse one. */
    list(query: ApprovalQuery): Effect.Effect<ReadonlyArray<Approval>, StoreError>
    /**
     * Pending records, as they are stored, that have expired at `now` (ms since 1970); at most `limit`. Tenants take turns, each
     * with its oldest record.
     */
    overdue(now: number, limit: number): Effect.Effect<ReadonlyArray<Approval>, StoreError>
    /** When the next pending record expires after `now`, both in ms since 1970; undefined = none does. */
    nextExpiry(now: number): Effect.Effect<number | undefined, StoreError>
  }
>()("troupe/services/ApprovalRecords") {}
