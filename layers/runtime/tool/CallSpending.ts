/**
 * Keeps what a tool's body says that it spent on models, priced when it says so, until its call has a result. A call that
 * spends nothing has nothing of it.
 */
import type { Prices } from "../../../src/cost/PriceTable.ts"
import type { ModelSpent, Spending } from "../../../src/cost/Spending.ts"
import { useOf, withUse } from "../../../src/cost/Spending.ts"
import type { CallHost } from "./CallHost.ts"

/** Keeps what a body of one tool spent. */
export type SpendingMeter = (host: CallHost, spent: ModelSpent) => void

/** `prices` undefined = tokens are counted, and nothing is costed. */
export const spendingMeterOf =
  (tool: string, prices: Prices | undefined): SpendingMeter =>
  (host, spent) => {
    const use = useOf(prices, host.agent.spec.name, spent)
    host.spent = { tool, uses: withUse(host.spent?.uses ?? [], use) }
  }

/** An input with what the call's body spent until now; most spent nothing, and their input is what it was. */
export const withSpending = <Input extends { readonly spent?: Spending }>(
  { spent }: CallHost,
  input: Input
): Input => (spent === undefined ? input : { ...input, spent })
