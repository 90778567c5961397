/**
 * The prices by which turns are costed, taken once when a runtime is built. Undefined = nothing is costed, and a turn
 * costs no more than it did.
 */
import { Context } from "effect"
import type { Prices } from "../src/cost/PriceTable.ts"

export const PriceBook: Context.Reference<Prices | undefined> = Context.Reference<
  Prices | undefined
>("troupe/services/PriceBook", { defaultValue: () => undefined })
