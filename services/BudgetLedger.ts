/**
 * What budgets have left, over all processes of a store. An amount is reserved before a model is called; the journal settles it in
 * the transaction of the call's event (`Append.budgets`). What no event settles is void once its run is over: a crash loses nothing,
 * and the next owner of the run makes the call under the same reservation.
 */
import { Context } from "effect"
import type { Effect } from "effect"
import type { BudgetAccount, BudgetScope, Taken } from "../src/cost/Budget.ts"
import type { RunId, Tenant } from "../src/value/Ids.ts"
import type { StoreError } from "./StoreError.ts"

/** An amount to reserve in one account. */
export interface BudgetLine {
  /** The account: a budget, a holder and a period. */
  readonly account: BudgetAccount
  /** The most that the call may take, as a decimal text. */
  readonly amount: string
  /** What the budget allows, as a decimal text. */
  readonly max: string
}

/** What is reserved before a model is called, in one or more accounts. */
export interface BudgetReservation {
  /** The run that calls. */
  readonly run: RunId
  /** Names the call within its run: it has one reservation, however often it is tried. */
  readonly place: string
  /** One for each budget that the call is under, at least one. */
  readonly lines: ReadonlyArray<BudgetLine>
}

/** What an account has spent and what is reserved in it, as decimal texts. */
export interface BudgetUse {
  /** By calls that have ended. */
  readonly spent: string
  /** For calls that have not ended. */
  readonly reserved: string
}

/** The first line that has too little left. */
export interface BudgetRefusal extends BudgetUse {
  /** Its place among the lines of the reservation, from 0. */
  readonly line: number
}

/** What the events of an append took, for the journal to settle in the same transaction. */
export interface BudgetSettlement {
  /** Settles what is reserved at a place. What is not known of what it took counts as all that was reserved. */
  readonly settled: ReadonlyArray<Taken & { readonly place: string }>
  /** Spent without a reservation, as by the body of a tool: once for each place, account and run. */
  readonly charged: ReadonlyArray<{
    readonly place: string
    readonly account: BudgetAccount
    readonly amount: string
  }>
}

/** Selects a page of accounts. */
export interface BudgetQuery {
  /** Whose accounts. */
  readonly tenant: Tenant
  /** Accounts whose period has ended by this time, in ms since 1970, are left out. */
  readonly now: number
  /** The name of the budget. Absent = all. */
  readonly budget?: string | undefined
  /** Only accounts of one of these holders; absent = of all. */
  readonly holders?: ReadonlyArray<readonly [scope: BudgetScope, holder: string]> | undefined
  /** 1 to 500. */
  readonly limit: number
  /** Continue after this budget and holder. */
  readonly after?: readonly [budget: string, holder: string] | undefined
}

/** What budgets have left: reserves before a call of a model, and settles after it. */
export class BudgetLedger extends Context.Service<
  BudgetLedger,
  {
    /**
     * Reserves all lines or none, atomically over all processes. Undefined = they are reserved, or were before; otherwise the line
     * that is refused.
     */
    reserve(wanted: BudgetReservation): Effect.Effect<BudgetRefusal | undefined, StoreError>
    /** Accounts with their use, in the order of budget and holder; at most `limit`. */
    list(query: BudgetQuery): Effect.Effect<ReadonlyArray<BudgetAccount & BudgetUse>, StoreError>
  }
>()("troupe/services/BudgetLedger") {}
