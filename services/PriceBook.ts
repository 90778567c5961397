/**
 * The prices by which turns are costed, read once when a runtime is built. Undefined = turns are not costed.
 */
import { Context } from "effect"
import type { Prices } from "../src/cost/PriceTable.ts"

export const PriceBook: Context.Reference<Prices | undefined> = Context.Reference<
  Prices | undefined
>("troupe/services/PriceBook", { defaultValue: () => undefined })
