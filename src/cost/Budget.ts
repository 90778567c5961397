/**
 * Budgets of customers, conversations, agents and tenants: declared as data, reserved before a model is called, and settled by what
 * the call took. A budget counts per holder and period: each customer has an amount of its own each day.
 */
import { DateTime, Schema } from "effect"
import { InvalidInput } from "../schema/InvalidInput.ts"
import { between } from "../value/Bounds.ts"
import { Decimal } from "../value/Decimal.ts"
import type { Tenant } from "../value/Ids.ts"

/** Whose amount it is. `customer`: who wrote the message, unless that is staff. `agent`: whose turn it is. */
export const BudgetScope = Schema.Literals(["customer", "conversation", "agent", "tenant"])
export type BudgetScope = typeof BudgetScope.Type

/** After which time the amount is whole again; `none` = never. A week begins on Monday, an hour with one of UTC. */
export const BudgetPeriod = Schema.Literals(["hour", "day", "week", "month", "none"])

export const BudgetUnit = Schema.Literals(["cost", "tokens", "calls"])
export type BudgetUnit = typeof BudgetUnit.Type

const units = BudgetUnit.literals

const isZone = Schema.makeFilter(
  (zone: string) =>
    DateTime.zoneMakeNamed(zone)._tag === "Some" || "a time zone such as Europe/Berlin"
)

/** The name of a budget, once in a service: a lower-case letter and up to 63 of them, digits, `_` or `-`. */
export const BudgetName = Schema.String.check(
  Schema.isPattern(/^[a-z][a-z0-9_-]{0,63}$/, { expected: "a lower-case name such as daily" })
)

/** What a holder may use in a period: money, tokens or calls of models. */
export const Budget = Schema.Struct({
  /** Its name, once in a service. */
  name: BudgetName,
  /** Who holds an amount of its own: each tenant, customer, conversation or agent. */
  scope: BudgetScope,
  /** After which time the amount is there again. */
  period: BudgetPeriod,
  /** An IANA name, such as `Europe/Berlin`, whose days, weeks and months count. Absent = UTC. */
  time_zone: Schema.optionalKey(Schema.String.check(isZone)),
  /** A decimal text such as `"5.00"`, in the currency of `start({ prices })`, which it needs. */
  cost: Schema.optionalKey(Decimal),
  /** Input and output tokens together, at most 1,000,000,000,000. */
  tokens: Schema.optionalKey(between(0, 1_000_000_000_000)),
  /** Calls of models: the turns of agents, their summaries, and what tools call, at most 1,000,000,000. */
  calls: Schema.optionalKey(between(0, 1_000_000_000))
}).check(
  Schema.makeFilter(
    (budget) =>
      units.filter((unit) => budget[unit] !== undefined).length === 1 ||
      "exactly one of cost, tokens and calls"
  )
)
export interface Budget extends Schema.Schema.Type<typeof Budget> {}

/** The most budgets of a service, and of an agent. */
export const budgets_max = 32
export const Budgets = Schema.Array(Budget).check(Schema.isMaxLength(budgets_max))

/** The reason of a run that a budget ended. */
export const budget_reason = "budget"

export const unitOf = (budget: Budget): BudgetUnit =>
  units.find((unit) => budget[unit] !== undefined) ?? "calls"

/** What the budget allows a holder in a period, as a decimal text. */
export const maxOf = (budget: Budget): string => String(budget[unitOf(budget)])

/** A time span in ms since 1970, from `starts_at` up to and without `ends_at`. Without an end it has none. */
export interface Span {
  /** The first millisecond of it. */
  readonly starts_at: number
  /** The first millisecond behind it. Absent = it has no end. */
  readonly ends_at?: number
}

const hour_ms = 3_600_000

/** The period of the budget in which `at` is. */
export const spanOf = ({ period, time_zone = "UTC" }: Budget, at: number): Span => {
  if (period === "none") return { starts_at: 0 }
  if (period === "hour") {
    const starts_at = at - (at % hour_ms)
    return { starts_at, ends_at: starts_at + hour_ms }
  }
  const now = DateTime.makeZonedUnsafe(at, { timeZone: time_zone })
  const start = DateTime.startOf(now, period, { weekStartsOn: 1 })
  // Its own start, because a day may have no midnight where clocks are put forward.
  const next = DateTime.startOf(DateTime.add(start, { [`${period}s`]: 1 }), period, {
    weekStartsOn: 1
  })
  return { starts_at: DateTime.toEpochMillis(start), ends_at: DateTime.toEpochMillis(next) }
}

/** What one holder has of a budget in one period. */
export interface BudgetAccount extends Span {
  /** Whose budget it is. */
  readonly tenant: Tenant
  /** The name of the budget. */
  readonly budget: string
  /** What kind of holder it is. */
  readonly scope: BudgetScope
  /** What is counted: cost, tokens or calls. */
  readonly unit: BudgetUnit
  /** The id of the customer or conversation, or the agent's name; empty for a tenant. */
  readonly holder: string
}

/** What a call of a model took, or takes at most. An absent member is not known. */
export interface Taken {
  /** Calls of models. */
  readonly calls: number
  /** Input and output tokens together. */
  readonly tokens?: number | undefined
  /** A decimal text. */
  readonly cost?: string | undefined
}

export const amountOf = (taken: Taken, unit: BudgetUnit): string | undefined => {
  const amount = taken[unit]
  return amount === undefined ? undefined : String(amount)
}

/** Fails with the first budget whose name another one has. */
export const duplicateBudget = (
  all: ReadonlyArray<readonly [field: string, budget: Budget]>
): InvalidInput | undefined => {
  const names = new Map<string, string>()
  for (const [field, { name }] of all) {
    const other = names.get(name)
    if (other !== undefined) {
      const reason = `${other} is called ${JSON.stringify(name)} too: each budget of a service has a name of its own`
      return new InvalidInput({ field: `${field}.name`, reason })
    }
    names.set(name, field)
  }
  return undefined
}

/**
 * How a holder stands with a budget in the current period. Amounts are decimal texts, of `cost` in the currency of the prices;
 * `left` is at least "0".
 */
export const BudgetState = Schema.Struct({
  /** The name of the budget. */
  budget: Schema.String,
  /** What kind of holder it is. */
  scope: BudgetScope,
  /** The id of the customer or conversation, or the agent's name; empty for a tenant. */
  holder: Schema.String,
  /** What is counted: cost, tokens or calls. */
  unit: BudgetUnit,
  /** After which time the amount is there again. */
  period: BudgetPeriod,
  /** Of the period, in ms since 1970. Absent where it has neither start nor end. */
  starts_at: Schema.optionalKey(Schema.Int),
  /** The end of the period, in ms since 1970. Absent = it has none. */
  ends_at: Schema.optionalKey(Schema.Int),
  /** What the holder may use in the period. */
  amount: Schema.String,
  /** What it has used in the period. */
  spent: Schema.String,
  /** For calls of models that have not ended. */
  reserved: Schema.String,
  /** What it may still use, without what is reserved. */
  left: Schema.String
}).annotate({ identifier: "BudgetState" })
export interface BudgetState extends Schema.Schema.Type<typeof BudgetState> {}
