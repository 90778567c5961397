/**
 * Prices from a table that the user declares, checked at start.
 */
import { Effect, Layer } from "effect"
import type { MisdeclaredPrice } from "../../../src/cost/PriceTable.ts"
import { compilePriceTable } from "../../../src/cost/PriceTable.ts"
import { PriceBook } from "../../../services/PriceBook.ts"

/** Provide it beneath the runtime. `table` is a `PriceTable`, or JSON that should be one. */
export const layer = (table: unknown): Layer.Layer<never, MisdeclaredPrice> =>
  Layer.effect(
    PriceBook,
    Effect.suspend(() => Effect.fromResult(compilePriceTable(table)))
  )
