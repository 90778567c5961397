/**
 * Prices of models, supplied by the user, and the cost of one turn by them, in exact decimals.
 *
 * ```ts
 * const prices = { version: "2026-11", currency: "USD", prices: [
 *   { model: "gpt-4.1*", input: "2", cached_input: "0.5", output: "8" },
 *   { model: "*", input: "10", output: "30" }
 * ] }
 * ```
 */
import { BigDecimal, Result, Schema } from "effect"
import { ProviderToolName, providerToolOf } from "../agent/ProviderTools.ts"
import { truncateUnits } from "../value/CutText.ts"
import type { AgentName } from "../value/Ids.ts"
import type { ProviderRan } from "../run/ProviderWork.ts"
import { Decimal, parseDecimal, decimalText } from "../value/Decimal.ts"
import type { TurnCost, Usage } from "./TurnCost.ts"
import { textUpTo } from "../value/Bounds.ts"

/** Prices of one model per million tokens, in the table's currency. */
export const Price = Schema.Struct({
  /** A model's id, or a pattern in which `*` stands for any characters; `*` alone is the default. */
  model: textUpTo(200),
  /** Per million tokens of input, as a decimal text: `"2.50"`. */
  input: Decimal,
  /** Per million tokens of output. */
  output: Decimal,
  /** Input read from the provider's cache; absent = as `input`. */
  cached_input: Schema.optionalKey(Decimal),
  /** Input written to the provider's cache; absent = as `input`. */
  cache_write: Schema.optionalKey(Decimal),
  /** Output that is reasoning; absent = as `output`. */
  reasoning: Schema.optionalKey(Decimal)
})

/** The price of one use of a tool that a provider runs by itself, in the table's currency. */
export const UsePrice = Schema.Struct({
  /** The tool of the provider, such as `web_search`. */
  tool: ProviderToolName,
  /** For one use, as a decimal text: `"0.01"`. */
  price: Decimal,
  /** As in `Price`; absent = of any model. */
  model: Schema.optionalKey(textUpTo(200))
})

const Head = Schema.Struct({
  /** Journaled with each cost, to tell which prices it was computed by: 1 to 64 characters. */
  version: textUpTo(64),
  /** ISO 4217, for example `USD`. */
  currency: Schema.String.check(
    Schema.isPattern(/^[A-Z]{3}$/, { expected: "three capital letters, for example USD" })
  ),
  prices: Schema.Array(Schema.Unknown).check(Schema.isMinLength(1), Schema.isMaxLength(1_000)),
  /** Absent = no use of a provider's tool has a price. */
  uses: Schema.optionalKey(Schema.Array(UsePrice).check(Schema.isMaxLength(1_000)))
})

/** At most 1,000 entries. An exact id wins over patterns, and among patterns the longest without its stars. */
export const PriceTable = Schema.Struct({
  ...Head.fields,
  /** The prices, 1 to 1,000. */
  prices: Schema.Array(Price)
})
export interface PriceTable extends Schema.Schema.Type<typeof PriceTable> {}

/** An invalid price table; it ends the start. `entry` is the entry at fault, or empty for the table's head. */
export class MisdeclaredPrice extends Schema.TaggedError<MisdeclaredPrice>()("MisdeclaredPrice", {
  /** The entry at fault, such as its model; empty for the table's head. */
  entry: Schema.String,
  /** What is wrong with it, and what to write instead. */
  message: Schema.String
}) {}

interface Rate {
  readonly input: BigDecimal.BigDecimal
  readonly output: BigDecimal.BigDecimal
  readonly cached_input: BigDecimal.BigDecimal
  readonly cache_write: BigDecimal.BigDecimal
  readonly reasoning: BigDecimal.BigDecimal
}

interface Pattern {
  readonly matches: (model: string) => boolean
  /** How many characters are not `*`: the pattern with more of them is more specific. */
  readonly weight: number
  readonly rate: Rate
}

/** A checked price table with its patterns compiled. */
export interface Prices {
  /** The version of the table, which each cost has. */
  readonly version: string
  /** The currency of all its prices, such as `EUR`. */
  readonly currency: string
  /** The prices of models whose name has no `*`. */
  readonly exact: ReadonlyMap<string, Rate>
  /** The most specific first. */
  readonly patterns: ReadonlyArray<Pattern>
  /** Prices of uses, those of the most specific models first. */
  readonly uses: ReadonlyArray<UseRate>
}

interface UseRate {
  readonly tool: ProviderToolName
  readonly matches: (model: string) => boolean
  readonly weight: number
  readonly price: BigDecimal.BigDecimal
}

const decodeHead = Schema.decodeUnknownResult(Head, { onExcessProperty: "error", errors: "all" })
const decodePrice = Schema.decodeUnknownResult(Price, { onExcessProperty: "error", errors: "all" })

const nameOf = (entry: unknown, index: number): string => {
  const model = typeof entry === "object" && entry !== null && "model" in entry ? entry.model : ""
  return typeof model === "string" && model !== ""
    ? `prices[${index}] (${truncateUnits(model, 200)})`
    : `prices[${index}]`
}

const rateOf = (price: typeof Price.Type): Rate => {
  const input = parseDecimal(price.input)
  const output = parseDecimal(price.output)
  return {
    input,
    output,
    cached_input: price.cached_input === undefined ? input : parseDecimal(price.cached_input),
    cache_write: price.cache_write === undefined ? input : parseDecimal(price.cache_write),
    reasoning: price.reasoning === undefined ? output : parseDecimal(price.reasoning)
  }
}

/** `*` matches any characters. The time is linear in the text for each part of the pattern. */
const matcher = (pattern: string): ((model: string) => boolean) => {
  const [first = "", ...rest] = pattern.split("*")
  const last = rest.at(-1) ?? first
  const middle = rest.slice(0, -1)
  return (model) => {
    if (model.length < first.length + last.length) return false
    if (!model.startsWith(first) || !model.endsWith(last)) return false
    let at = first.length
    const end = model.length - last.length
    for (const part of middle) {
      const found = model.indexOf(part, at)
      if (found === -1 || found + part.length > end) return false
      at = found + part.length
    }
    return true
  }
}

/** Checks and compiles a table. The failure names the entry at fault and what is expected there. */
export const compilePriceTable = (table: unknown): Result.Result<Prices, MisdeclaredPrice> => {
  const head = decodeHead(table)
  if (Result.isFailure(head)) {
    return Result.fail(new MisdeclaredPrice({ entry: "", message: head.failure.message }))
  }
  const exact = new Map<string, Rate>()
  const patterns: Array<Pattern> = []
  const seen = new Set<string>()
  for (const [index, given] of head.success.prices.entries()) {
    const entry = nameOf(given, index)
    const price = decodePrice(given)
    if (Result.isFailure(price)) {
      return Result.fail(new MisdeclaredPrice({ entry, message: price.failure.message }))
    }
    const { model } = price.success
    if (seen.has(model)) {
      const message = "another entry has this model: keep one of them"
      return Result.fail(new MisdeclaredPrice({ entry, message }))
    }
    seen.add(model)
    const rate = rateOf(price.success)
    if (!model.includes("*")) exact.set(model, rate)
    else {
      const weight = model.replaceAll("*", "").length
      patterns.push({ matches: matcher(model), weight, rate })
    }
  }
  const { currency, uses = [], version } = head.success
  patterns.sort((a, b) => b.weight - a.weight)
  const twice = uses.findIndex(({ model, tool }, index) =>
    uses.slice(0, index).some((other) => other.tool === tool && other.model === model)
  )
  if (twice !== -1) {
    const message = "another entry has this tool and model: keep one of them"
    return Result.fail(new MisdeclaredPrice({ entry: `uses[${twice}]`, message }))
  }
  return Result.succeed({ version, currency, exact, patterns, uses: useRates(uses) })
}

/** An exact model goes before patterns, as for prices of tokens. */
const useRates = (uses: ReadonlyArray<typeof UsePrice.Type>): ReadonlyArray<UseRate> =>
  uses
    .map(({ model = "*", price, tool }) => ({
      tool,
      matches: matcher(model),
      weight: model.includes("*") ? model.replaceAll("*", "").length : 1_000,
      price: parseDecimal(price)
    }))
    .sort((a, b) => b.weight - a.weight)

/** The cost of what a provider ran in a turn and did not fail at; undefined = a use of it has no price. */
const usesAmount = (
  { uses }: Prices,
  ran: ReadonlyArray<ProviderRan>,
  models: ReadonlyArray<string>
): BigDecimal.BigDecimal | undefined => {
  let sum = BigDecimal.make(0n, 0)
  for (const each of ran) {
    if (each.failed === true) continue
    const tool = providerToolOf(each)
    const rate = models
      .map((model) => uses.find((use) => use.tool === tool && use.matches(model)))
      .find((found) => found !== undefined)
    if (rate === undefined) return undefined
    sum = BigDecimal.sum(sum, rate.price)
  }
  return sum
}

const rateFor = ({ exact, patterns }: Prices, model: string): Rate | undefined =>
  exact.get(model) ?? patterns.find(({ matches }) => matches(model))?.rate

/** Whether turns of the model have a price. */
export const hasPrice = (prices: Prices, model: string): boolean =>
  rateFor(prices, model) !== undefined

/** Whether a use of a provider's own tool by the model has a price. */
export const hasUsePrice = ({ uses }: Prices, tool: ProviderToolName, model: string): boolean =>
  uses.some((use) => use.tool === tool && use.matches(model))

const amount = (rate: Rate, usage: Usage): BigDecimal.BigDecimal => {
  // Tokens read from and written to a cache are part of the input, and reasoning is part of the output.
  const cached = Math.min(usage.cached_tokens ?? 0, usage.input_tokens)
  const written = Math.min(usage.cache_write_tokens ?? 0, usage.input_tokens - cached)
  const reasoning = Math.min(usage.reasoning_tokens ?? 0, usage.output_tokens)
  const lines: ReadonlyArray<readonly [tokens: number, rate: BigDecimal.BigDecimal]> = [
    [usage.input_tokens - cached - written, rate.input],
    [cached, rate.cached_input],
    [written, rate.cache_write],
    [usage.output_tokens - reasoning, rate.output],
    [reasoning, rate.reasoning]
  ]
  let sum = BigDecimal.make(0n, 0)
  for (const [tokens, each] of lines) {
    if (tokens === 0) continue
    sum = BigDecimal.sum(sum, BigDecimal.multiply(BigDecimal.fromBigInt(BigInt(tokens)), each))
  }
  // Prices are per million tokens: the scale moves by six digits, and nothing is rounded.
  return BigDecimal.make(sum.value, sum.scale + 6)
}

/** The most that a turn of one of these models may cost, as a decimal text; undefined = none of them has a price. */
export const worstCost = (
  prices: Prices,
  models: ReadonlyArray<string>,
  input_tokens: number,
  output_tokens: number
): string | undefined => {
  const rates = (models.length === 0 ? [""] : models).flatMap(
    (model) => rateFor(prices, model) ?? []
  )
  const [first, ...more] = rates.flatMap((rate) =>
    // All of the input, and all of the output, as its dearest part.
    [0, input_tokens].flatMap((cache_write_tokens) =>
      [0, output_tokens].map((reasoning_tokens) =>
        amount(rate, { input_tokens, output_tokens, cache_write_tokens, reasoning_tokens })
      )
    )
  )
  return first && decimalText(more.reduce((most, each) => BigDecimal.max(most, each), first))
}

/**
 * The cost of one turn, at the price of the model that answered, or else of the one that was requested, with the uses of the
 * provider's tools. A turn whose model or use has no price, or that has no usage, is unpriced: it never counts as free.
 */
export const costOf = (
  prices: Prices,
  agent: AgentName,
  turn: {
    /** The model that answered. Absent = not known. */
    readonly model?: string
    /** What it counted. Absent = nothing, so the turn is unpriced. */
    readonly usage?: Usage
    /** The provider's own tools that ran in the turn. Absent = none. */
    readonly ran?: ReadonlyArray<ProviderRan>
  },
  requested: string | undefined
): TurnCost => {
  const { currency, version } = prices
  const unpriced = (reason: "no_price" | "no_usage"): TurnCost => ({
    _tag: "Unpriced",
    agent,
    reason,
    prices: version
  })
  if (turn.usage === undefined || turn.usage.estimated === true) return unpriced("no_usage")
  const rate = rateFor(prices, turn.model ?? requested ?? "") ?? rateFor(prices, requested ?? "")
  if (rate === undefined) return unpriced("no_price")
  const tokens = amount(rate, turn.usage)
  const models = [turn.model ?? requested ?? "", requested ?? ""]
  const uses = turn.ran === undefined ? undefined : usesAmount(prices, turn.ran, models)
  if (turn.ran !== undefined && uses === undefined) return unpriced("no_price")
  const text = decimalText(uses === undefined ? tokens : BigDecimal.sum(tokens, uses))
  return { _tag: "Priced", agent, currency, amount: text, prices: version }
}
