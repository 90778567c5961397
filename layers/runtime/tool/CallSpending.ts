/**
 * What a tool's body spends on models: priced when the body reports it, and kept with the call until it has an outcome. A call
 * that spends nothing keeps nothing.
 */
import type { Prices } from "../../../src/cost/PriceTable.ts"
import type { ModelSpent, Spending } from "../../../src/cost/Spending.ts"
import { modelUseOf, addModelUse } from "../../../src/cost/Spending.ts"
import type { CallHost } from "./CallHost.ts"

/** Adds a report to the spending of a call of one tool. */
export type SpendingMeter = (host: CallHost, spent: ModelSpent) => void

/** `prices` undefined = tokens are counted, and nothing is costed. */
export const spendingMeterOf =
  (tool: string, prices: Prices | undefined): SpendingMeter =>
  (host, spent) => {
    const use = modelUseOf(prices, host.agent.spec.name, spent)
    host.spent = { tool, uses: addModelUse(host.spent?.uses ?? [], use) }
  }

/** The input with what the call's body has spent; the input itself where it spent nothing. */
export const withSpending = <Input extends { readonly spent?: Spending }>(
  { spent }: CallHost,
  input: Input
): Input => (spent === undefined ? input : { ...input, spent })
