/**
 * The prices from which the costs of turns are computed, read once when a runtime is built. Undefined = no costs are computed.
 */
import { Context } from "effect"
import type { Prices } from "../src/cost/PriceTable.ts"

/** The prices of models. Undefined by default: then no turn has a cost. */
export const PriceBook: Context.Reference<Prices | undefined> = Context.Reference<
  Prices | undefined
>("troupe/services/PriceBook", { defaultValue: () => undefined })
