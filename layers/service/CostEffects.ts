/** Sums of what models cost, from the ledger, and what budgets have left. */
import { BigDecimal, Clock, Effect } from "effect"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { BudgetUse } from "../../services/BudgetLedger.ts"
import { BudgetLedger } from "../../services/BudgetLedger.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import type { Budget, BudgetScope, BudgetState } from "../../src/cost/Budget.ts"
import { maxOf, spanOf, unitOf } from "../../src/cost/Budget.ts"
import * as CostOperations from "../../src/operation/CostOperations.ts"
import { limit_default } from "../../src/operation/Page.ts"
import type { Principal } from "../../src/principal/Principal.ts"
import { isLimitedToOwn, ownRefusal } from "../../src/principal/Rights.ts"
import { decimalText, parseDecimal } from "../../src/value/Decimal.ts"
import type { ConversationId } from "../../src/value/Ids.ts"
import { conversationFor } from "./CustomerRules.ts"
import { pageOf, serve } from "./Served.ts"

export const list = serve(
  CostOperations.list,
  Effect.fnUntraced(function* (
    { by = "agent", limit = limit_default, run: run_id, ...rest },
    { tenant }
  ) {
    const query = { ...rest, tenant, by, run_id, limit }
    const items = yield* CostLedger.use((ledger) => ledger.totals(query))
    return pageOf({ items, last: items.length < limit ? undefined : items.at(-1) }, "key")
  })
)

type Holder = readonly [scope: BudgetScope, holder: string]

const unused: BudgetUse = { spent: "0", reserved: "0" }
const zero = BigDecimal.make(0n, 0)

const stateOf = (budget: Budget, holder: string, use: BudgetUse, now: number): BudgetState => {
  const { name, period, scope } = budget
  const amount = maxOf(budget)
  const used = BigDecimal.sum(parseDecimal(use.spent), parseDecimal(use.reserved))
  const left = BigDecimal.max(zero, BigDecimal.subtract(parseDecimal(amount), used))
  const span = period === "none" ? undefined : spanOf(budget, now)
  return {
    budget: name,
    scope,
    holder,
    unit: unitOf(budget),
    period,
    ...span,
    amount,
    spent: use.spent,
    reserved: use.reserved,
    left: decimalText(left)
  }
}

/** Whose budgets are asked for; undefined = those of all. A customer asks for its own. */
const holdersFor = Effect.fnUntraced(function* (
  by: Principal,
  customer: string | undefined,
  conversation: ConversationId | undefined
) {
  const isOwn = isLimitedToOwn(by, "follow")
  if (isOwn && customer !== undefined && customer !== by.id) return yield* ownRefusal(by, "follow")
  const whose = isOwn && conversation === undefined ? by.id : customer
  if (conversation !== undefined) yield* conversationFor(by, "follow", conversation)
  if (whose === undefined && conversation === undefined) return undefined
  const holders: ReadonlyArray<Holder> = [
    ...(whose === undefined ? [] : [["customer", whose] as const]),
    ...(conversation === undefined ? [] : [["conversation", conversation] as const])
  ]
  return holders
})

const keyOf = ({ budget, holder }: Pick<BudgetState, "budget" | "holder">) => `${budget}:${holder}`

/** The budget and the holder after which a page begins. A budget's name has no colon. */
const placeOf = (after: string): readonly [budget: string, holder: string] => {
  const at = after.indexOf(":")
  return at === -1 ? [after, ""] : [after.slice(0, at), after.slice(at + 1)]
}

export const budgets = serve(
  CostOperations.budgets,
  Effect.fnUntraced(function* (
    { after, budget, conversation, customer, limit = limit_default },
    by
  ) {
    const holders = yield* holdersFor(by, customer, conversation)
    const { all } = yield* AgentDirectory
    const declared = new Map(
      all.flatMap((agent) => (agent.budgets ?? []).map((each) => [each.name, each] as const))
    )
    const now = yield* Clock.currentTimeMillis
    const { tenant } = by
    const found = yield* BudgetLedger.use((ledger) =>
      ledger.list({
        tenant,
        now,
        budget,
        holders,
        limit,
        after: after === undefined ? undefined : placeOf(after)
      })
    )
    if (holders === undefined) {
      const items = found.flatMap((account) => {
        const known = declared.get(account.budget)
        return known?.scope !== account.scope ? [] : [stateOf(known, account.holder, account, now)]
      })
      const last = found.length < limit ? undefined : found.at(-1)
      return last === undefined ? { items } : { items, next_after: keyOf(last) }
    }
    const uses = new Map(found.map((account) => [keyOf(account), account]))
    const items = [...declared.values()]
      .filter(({ name }) => budget === undefined || name === budget)
      .flatMap((each) =>
        holders
          .filter(([scope]) => scope === each.scope)
          .map(([, holder]) =>
            stateOf(each, holder, uses.get(keyOf({ budget: each.name, holder })) ?? unused, now)
          )
      )
    return { items }
  })
)
