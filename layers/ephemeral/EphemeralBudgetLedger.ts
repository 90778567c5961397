/**
 * Budgets in one process. A reservation is one step, and so is a settlement.
 */
import { BigDecimal, Clock, Effect, Exit, Layer } from "effect"
import type {
  BudgetQuery,
  BudgetRefusal,
  BudgetReservation,
  BudgetSettlement,
  BudgetUse
} from "../../services/BudgetLedger.ts"
import { BudgetLedger } from "../../services/BudgetLedger.ts"
import { StoreError } from "../../services/StoreError.ts"
import type { BudgetAccount } from "../../src/cost/Budget.ts"
import { amountOf } from "../../src/cost/Budget.ts"
import { decimalText, parseDecimal } from "../../src/value/Decimal.ts"
import type { RunId, Tenant } from "../../src/value/Ids.ts"
import type { Store, StoredBudget } from "./EphemeralStore.ts"
import { EphemeralStore } from "./EphemeralStore.ts"

const page_max = 500
/** The most accounts; one more takes the place of those whose period is over, or fails. */
const accounts_max = 100_000
const zero = BigDecimal.make(0n, 0)

const budgetKey = ({ budget, holder, starts_at, tenant }: BudgetAccount): string =>
  JSON.stringify([tenant, budget, holder, starts_at])

const holdKey = (run: RunId, place: string): string => `${run} ${place}`

const isOver = (store: Store, run: RunId): boolean => {
  const status = store.runs.get(run)?.status ?? "failed"
  return status === "complete" || status === "failed" || status === "cancelled"
}

/** What is reserved. Drops what is void, because its run is over. */
const heldIn = (store: Store, { holds }: StoredBudget): BigDecimal.BigDecimal => {
  let held = zero
  for (const [key, { amount, run }] of holds) {
    if (isOver(store, run)) {
      holds.delete(key)
      store.reserved.delete(key)
    } else held = BigDecimal.sum(held, amount)
  }
  return held
}

const useOf = (store: Store, budget: StoredBudget): BudgetUse => ({
  spent: decimalText(budget.spent),
  reserved: decimalText(heldIn(store, budget))
})

/** The account, made where it is not there; undefined = there are too many. */
const budgetOf = (store: Store, account: BudgetAccount, now: number): StoredBudget | undefined => {
  const { budgets } = store
  const key = budgetKey(account)
  const known = budgets.get(key)
  if (known !== undefined) return known
  if (budgets.size >= accounts_max) {
    for (const [each, { account: kept }] of budgets) {
      if (kept.ends_at !== undefined && kept.ends_at <= now) budgets.delete(each)
    }
    if (budgets.size >= accounts_max) return undefined
  }
  const made: StoredBudget = { account, spent: zero, holds: new Map() }
  budgets.set(key, made)
  return made
}

/** The first line that has too little left; `full` = there are too many accounts; undefined = all lines are reserved. */
const reserveLines = (
  store: Store,
  { lines, place, run }: BudgetReservation,
  now: number
): BudgetRefusal | "full" | undefined => {
  const key = holdKey(run, place)
  if (store.reserved.has(key)) return undefined
  const found: Array<StoredBudget> = []
  for (const [line, { account, amount, max }] of lines.entries()) {
    const budget = budgetOf(store, account, now)
    if (budget === undefined) return "full"
    const used = BigDecimal.sum(budget.spent, heldIn(store, budget))
    const after = BigDecimal.sum(used, parseDecimal(amount))
    if (BigDecimal.isGreaterThan(after, parseDecimal(max))) {
      return { line, ...useOf(store, budget) }
    }
    found.push(budget)
  }
  for (const [line, { amount }] of lines.entries()) {
    found[line]?.holds.set(key, { run, amount: parseDecimal(amount) })
  }
  store.reserved.set(key, found)
  return undefined
}

const spend = (budget: StoredBudget, amount: BigDecimal.BigDecimal): void => {
  budget.spent = BigDecimal.sum(budget.spent, amount)
}

/** Settles what an append took. The caller has appended. */
export const settleBudgets = (
  store: Store,
  run: RunId,
  { charged, settled }: BudgetSettlement
): void => {
  for (const taken of settled) {
    const key = holdKey(run, taken.place)
    for (const budget of store.reserved.get(key) ?? []) {
      const hold = budget.holds.get(key)
      if (hold === undefined) continue
      budget.holds.delete(key)
      const amount = amountOf(taken, budget.account.unit)
      spend(budget, amount === undefined ? hold.amount : parseDecimal(amount))
    }
    store.reserved.delete(key)
  }
  for (const { account, amount } of charged) {
    const budget = store.budgets.get(budgetKey(account))
    if (budget !== undefined) spend(budget, parseDecimal(amount))
  }
}

const isBehind = ({ budget, holder }: BudgetAccount, after: BudgetQuery["after"]): boolean =>
  after === undefined ||
  budget > after[0] ||
  (budget === after[0] && JSON.stringify(holder) > JSON.stringify(after[1]))

const matches = (
  { account }: StoredBudget,
  { after, budget, holders, now, tenant }: BudgetQuery
): boolean =>
  account.tenant === tenant &&
  (account.ends_at === undefined || account.ends_at > now) &&
  (budget === undefined || account.budget === budget) &&
  (holders === undefined ||
    holders.some(([scope, holder]) => account.scope === scope && account.holder === holder)) &&
  isBehind(account, after)

/** What an erasure sees: the accounts of people and of their conversations. */
const erasable = (store: Store) => (tenant: Tenant) =>
  [...store.budgets].flatMap(([key, { account }]) =>
    account.tenant === tenant && (account.scope === "customer" || account.scope === "conversation")
      ? [
          {
            value:
              account.scope === "customer" ? [account.holder] : { conversation: account.holder },
            remove: () => void store.budgets.delete(key)
          }
        ]
      : []
  )

const make = Effect.gen(function* () {
  const store = yield* EphemeralStore
  const clock = yield* Clock.Clock
  store.erasable.set("budget_accounts", erasable(store))
  return BudgetLedger.of({
    // Done at once: a turn that has to wait for nothing begins without a fiber (bench row `send`).
    reserve: (wanted) => {
      const refused = reserveLines(store, wanted, clock.currentTimeMillisUnsafe())
      return refused === "full"
        ? Exit.fail(new StoreError({ message: `${accounts_max} accounts of budgets are held` }))
        : Exit.succeed(refused)
    },
    list: (query) =>
      Effect.sync(() =>
        [...store.budgets.values()]
          .filter((budget) => matches(budget, query))
          .sort(({ account: a }, { account: b }) => (isBehind(a, [b.budget, b.holder]) ? 1 : -1))
          .slice(0, Math.max(0, Math.min(query.limit, page_max)))
          .map((budget) => ({ ...budget.account, ...useOf(store, budget) }))
      )
  })
})

export const layer: Layer.Layer<BudgetLedger, never, EphemeralStore> = Layer.effect(
  BudgetLedger,
  make
)
