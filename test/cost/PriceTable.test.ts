import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Result } from "effect"
import { parseDecimal, decimalText } from "../../src/value/Decimal.ts"
import type { PriceTable } from "../../src/cost/PriceTable.ts"
import { compilePriceTable, costOf } from "../../src/cost/PriceTable.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { Usage } from "../../src/run/RunEvent.ts"

const agent = AgentName.make("operations")

const pricesOf = (...prices: PriceTable["prices"]) =>
  Result.getOrThrow(compilePriceTable({ version: "v1", currency: "USD", prices }))

const cost = (
  prices: ReturnType<typeof pricesOf>,
  model: string | undefined,
  usage: Usage | undefined,
  requested?: string
) =>
  costOf(
    prices,
    agent,
    {
      ...(model === undefined ? undefined : { model }),
      ...(usage === undefined ? undefined : { usage })
    },
    requested
  )

const amountOf = (...given: Parameters<typeof cost>) => {
  const found = cost(...given)
  return found._tag === "Priced" ? found.amount : found.reason
}

const refused = (table: unknown) => {
  const compiled = compilePriceTable(table)
  if (Result.isSuccess(compiled)) return assert.fail("the table was taken")
  return compiled.failure
}

const million: Usage = { input_tokens: 1_000_000, output_tokens: 0 }

describe("PriceTable", () => {
  it("a turn costs its tokens times their prices, to the last digit", () => {
    const prices = pricesOf({
      model: "m",
      input: "0.1",
      cached_input: "0.025",
      cache_write: "0.125",
      output: "0.2",
      reasoning: "0.3"
    })
    const usage: Usage = {
      input_tokens: 10,
      cached_tokens: 3,
      cache_write_tokens: 2,
      output_tokens: 7,
      reasoning_tokens: 4
    }
    // 5 x 0.1 + 3 x 0.025 + 2 x 0.125 + 3 x 0.2 + 4 x 0.3, in millionths.
    assert.strictEqual(amountOf(prices, "m", usage), "0.000002625")
    const table = cost(prices, "m", usage)
    assert.deepInclude(table, { _tag: "Priced", agent, currency: "USD", prices: "v1" })
  })

  it("tenths add up, and the smallest price is not lost in exponents", () => {
    const prices = pricesOf({ model: "m", input: "0.000000000000000001", output: "0.1" })
    assert.strictEqual(
      amountOf(prices, "m", { input_tokens: 1, output_tokens: 0 }),
      "0.000000000000000000000001"
    )
    const three = amountOf(prices, "m", { input_tokens: 0, output_tokens: 3 })
    assert.strictEqual(three, "0.0000003")
    assert.strictEqual(decimalText(BigDecimal.sum(parseDecimal("0.1"), parseDecimal("0.2"))), "0.3")
    assert.strictEqual(decimalText(parseDecimal("1000000")), "1000000")
  })

  it("parts without a price of their own cost what they are part of", () => {
    const prices = pricesOf({ model: "m", input: "1", output: "2" })
    const usage = {
      input_tokens: 1_000_000,
      cached_tokens: 400_000,
      output_tokens: 1_000_000,
      reasoning_tokens: 500_000
    }
    assert.strictEqual(amountOf(prices, "m", usage), "3")
  })

  it("parts that are larger than their whole never make a cost negative", () => {
    const prices = pricesOf({ model: "m", input: "1", cached_input: "0", output: "2" })
    const usage = {
      input_tokens: 10,
      cached_tokens: 50,
      cache_write_tokens: 50,
      output_tokens: 0,
      reasoning_tokens: 9
    }
    assert.strictEqual(amountOf(prices, "m", usage), "0")
  })

  it("an exact id wins over patterns, and among them the most specific", () => {
    const prices = pricesOf(
      { model: "*", input: "9", output: "0" },
      { model: "gpt-*", input: "5", output: "0" },
      { model: "gpt-4*-mini", input: "2", output: "0" },
      { model: "gpt-4-mini", input: "1", output: "0" }
    )
    assert.strictEqual(amountOf(prices, "gpt-4-mini", million), "1")
    assert.strictEqual(amountOf(prices, "gpt-4.1-mini", million), "2")
    assert.strictEqual(amountOf(prices, "gpt-4.1", million), "5")
    assert.strictEqual(amountOf(prices, "other", million), "9")
  })

  it("a star matches no character twice, and other characters match themselves", () => {
    const prices = pricesOf(
      { model: "a*a", input: "1", output: "0" },
      { model: "x.y*z*w", input: "2", output: "0" }
    )
    assert.strictEqual(amountOf(prices, "a", million), "no_price")
    assert.strictEqual(amountOf(prices, "aa", million), "1")
    assert.strictEqual(amountOf(prices, "x.y-z-w", million), "2")
    assert.strictEqual(amountOf(prices, "xqy-z-w", million), "no_price")
    assert.strictEqual(amountOf(prices, "x.yw", million), "no_price")
  })

  it("a reported model without a price has that of the model that was asked for", () => {
    const prices = pricesOf({ model: "fast", input: "1", output: "0" })
    assert.strictEqual(amountOf(prices, "vendor-2026-01-01", million, "fast"), "1")
    assert.strictEqual(amountOf(prices, undefined, million, "fast"), "1")
  })

  it("a model without a price is unpriced, and is not free", () => {
    const prices = pricesOf({ model: "m", input: "1", output: "0" })
    assert.deepStrictEqual(cost(prices, "n", million), {
      _tag: "Unpriced",
      agent,
      reason: "no_price",
      prices: "v1"
    })
    assert.deepInclude(cost(prices, "m", undefined), { _tag: "Unpriced", reason: "no_usage" })
  })

  const entry = { model: "m", input: "1", output: "2" }
  const table = (...prices: ReadonlyArray<unknown>) => ({ version: "1", currency: "USD", prices })

  const wrong: ReadonlyArray<readonly [what: string, table: unknown, entry: string, says: string]> =
    [
      ["a float", table(entry, { ...entry, model: "n", input: 0.1 }), "prices[1] (n)", "input"],
      ["an exponent", table({ ...entry, output: "1e3" }), "prices[0] (m)", "decimal"],
      ["a sign", table({ ...entry, cached_input: "-1" }), "prices[0] (m)", "cached_input"],
      ["a missing price", table({ model: "m", input: "1" }), "prices[0] (m)", "output"],
      ["a field of another name", table({ ...entry, out: "1" }), "prices[0] (m)", "out"],
      ["an entry without a model", table({ input: "1", output: "1" }), "prices[0]", "model"],
      ["two entries of one model", table(entry, entry), "prices[1] (m)", "another entry"],
      ["no entry", table(), "", "prices"],
      ["a currency that is none", { ...table(entry), currency: "dollars" }, "", "currency"],
      ["what is no table", "prices.json", "", "object"]
    ]
  for (const [what, given, at, says] of wrong) {
    it(`refuses ${what}, and names it`, () => {
      const error = refused(given)
      assert.strictEqual(error.entry, at)
      assert.include(error.message, says)
    })
  }
})
