import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Result } from "effect"
import { parseDecimal, decimalText } from "../../src/value/Decimal.ts"
import { compilePriceTable } from "../../src/cost/PriceTable.ts"
import type { ModelSpent, ModelUse } from "../../src/cost/Spending.ts"
import { modelUseOf, uses_max, addModelUse } from "../../src/cost/Spending.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { seeded } from "../run/Interleaving.ts"

const prices = Result.getOrThrow(
  compilePriceTable({
    version: "v1",
    currency: "USD",
    prices: [{ model: "m*", input: "0.1", output: "0.3" }]
  })
)
const agent = AgentName.make("tester")
const one = (spent: ModelSpent) => modelUseOf(prices, agent, spent)
const usage = (input_tokens: number, output_tokens = 0) => ({ input_tokens, output_tokens })

const total = (uses: ReadonlyArray<ModelUse>) => {
  let amount = BigDecimal.make(0n, 0)
  let [tokens, turns, unpriced] = [0, 0, 0]
  for (const use of uses) {
    tokens += (use.usage?.input_tokens ?? 0) + (use.usage?.output_tokens ?? 0)
    turns += use.turns ?? 1
    if (use.cost?._tag === "Priced") amount = BigDecimal.sum(amount, parseDecimal(use.cost.amount))
    else unpriced += use.turns ?? 1
  }
  return { amount: decimalText(amount), tokens, turns, unpriced }
}

describe("the reported spending of a tool's body", () => {
  it("ST-12 is priced when it is reported, and unpriced where the table has no price", () => {
    assert.deepStrictEqual(one({ model: "m1", usage: usage(3, 1) }), {
      model: "m1",
      usage: usage(3, 1),
      cost: { _tag: "Priced", agent, currency: "USD", amount: "0.0000006", prices: "v1" }
    })
    const unpriced = (reason: "no_price" | "no_usage") =>
      ({ _tag: "Unpriced", agent, reason, prices: "v1" }) as const
    assert.deepInclude(one({ model: "m1" }), { cost: unpriced("no_usage") })
    assert.deepInclude(one({ model: "x", usage: usage(1) }), { cost: unpriced("no_price") })
    assert.deepStrictEqual(modelUseOf(undefined, agent, { usage: usage(1) }), {
      model: "",
      usage: usage(1)
    })
  })

  it("ST-12 never counts as free, and values that are not counts are dropped", () => {
    for (const input of [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2e12]) {
      const use = one({ model: "m1", usage: usage(input) })
      assert.notProperty(use, "usage")
      assert.deepNestedInclude(use, { "cost.reason": "no_usage" })
    }
    const use = one({
      model: "m".repeat(300),
      turns: -3,
      usage: { ...usage(4), cached_tokens: 1, reasoning_tokens: Number.NaN }
    })
    assert.deepStrictEqual(use.usage, { ...usage(4), cached_tokens: 1 })
    assert.strictEqual(use.model.length, 200)
    assert.notProperty(use, "turns")
  })

  it("ST-12 has at most 32 entries, and merging them changes no sum", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const random = seeded(seed)
      const models = 1 + Math.floor(random() * 60)
      let uses: ReadonlyArray<ModelUse> = []
      const all: Array<ModelUse> = []
      for (let n = Math.floor(random() * 200); n > 0; n--) {
        const name = Math.floor(random() * models)
        const model = `${random() < 0.8 ? "m" : "x"}${name}`
        const counted = random() < 0.9 ? usage(Math.floor(random() * 1e6), name) : undefined
        const use = one({ model, usage: counted })
        all.push(use)
        uses = addModelUse(uses, use)
      }
      assert.isAtMost(uses.length, uses_max)
      assert.deepStrictEqual(total(uses), total(all))
      if (all.length <= 29) assert.deepStrictEqual(uses, all)
    }
  })

  it("ST-12 of one model becomes one entry beyond the bound", () => {
    let uses: ReadonlyArray<ModelUse> = []
    for (let n = 0; n < 1_000; n++) uses = addModelUse(uses, one({ model: "m", usage: usage(1) }))
    assert.strictEqual(uses.length, 29)
    assert.deepInclude(uses.at(-1), { model: "m", turns: 972, usage: usage(972) })
  })
})
