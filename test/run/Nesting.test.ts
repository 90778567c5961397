/** What a message says of the run around it, in the header that carries it, and what follows for limits. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { baggageOf, limitsWithin, nestingOf } from "../../src/run/Nesting.ts"
import { nestedRunsOf, nestingRefusal } from "../../src/run/NestedRuns.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as Samples from "../contracts/Samples.ts"

const read = (baggage: string | undefined) => Result.getOrThrow(nestingOf(baggage))

describe("the header of a nested run", () => {
  it("AG-46 is read as it was written, among members of others", () => {
    for (const nesting of [
      { depth: 1 },
      { depth: 3, tokens_max: 1_200 },
      { depth: 2, tokens_max: 7, cost_max: "0.000000075", currency: "USD" }
    ]) {
      assert.deepStrictEqual(read(baggageOf(nesting)), nesting)
      const among = `user=a%2Cb;p=1 , ${baggageOf(nesting).replaceAll(",", " ,\t")},troupe.later=1`
      assert.deepStrictEqual(read(among), nesting)
    }
    for (const none of [undefined, "", ",,,", "user=1", "Troupe.depth=1", "troupe=1", "=;"]) {
      assert.isUndefined(read(none), none)
    }
  })

  it("AG-46 is refused where a member of ours is malformed, stands twice or has no depth", () => {
    for (const malformed of [
      "troupe.depth=0",
      "troupe.depth=-1",
      "troupe.depth=1.5",
      "troupe.depth=1e3",
      "troupe.depth=",
      "troupe.depth",
      "troupe.depth=99999999999",
      "troupe.depth=1,troupe.depth=2",
      "troupe.depth=%31",
      "troupe.tokens=5",
      "troupe.depth=1,troupe.tokens=0",
      "troupe.depth=1,troupe.cost=1",
      "troupe.depth=1,troupe.currency=USD",
      "troupe.depth=1,troupe.cost=-1,troupe.currency=USD",
      "troupe.depth=1,troupe.cost=1,troupe.currency=usd"
    ]) {
      const found = nestingOf(malformed)
      assert.isTrue(Result.isFailure(found), malformed)
    }
  })
})

describe("the limits of a nested run", () => {
  it("AG-46 are the agent's own, within what is left of the outer run's", () => {
    const own = RunLimits.make({ tokens_max: 500, cost_max: "2" })
    const within = (tokens_max: number, cost_max: string) => {
      const nested = { depth: 1, tokens_max, cost_max, currency: "USD" }
      const limits = limitsWithin(own, nested, "USD")
      return [limits.tokens_max, limits.cost_max]
    }
    assert.deepStrictEqual(within(100, "0.5"), [100, "0.5"])
    assert.deepStrictEqual(within(1_000, "10"), [500, "2"])
    assert.strictEqual(limitsWithin(own, undefined, "USD"), own)
    assert.strictEqual(limitsWithin(own, { depth: 1 }, "USD").tokens_max, 500)
    const unbound = RunLimits.make({})
    const nested = { depth: 1, tokens_max: 9, cost_max: "1", currency: "USD" }
    assert.strictEqual(limitsWithin(unbound, nested, "USD").cost_max, "1")
    assert.strictEqual(limitsWithin(unbound, nested, "USD").tokens_max, 9)
    // Money of another currency, or without prices, cannot be counted.
    for (const currency of ["EUR", undefined]) {
      assert.isUndefined(limitsWithin(unbound, nested, currency).cost_max)
    }
  })

  const stateOf = (limits: Partial<RunLimits>, calls: number, tokens: number, depth?: number) => {
    const accepted = Samples.runAccepted(Samples.newTask(), limits)
    const turned: RunEvent = {
      ...Samples.modelTurned(1, calls),
      usage: { input_tokens: tokens, output_tokens: 0 },
      cost: {
        _tag: "Priced",
        agent: Samples.operations,
        currency: "USD",
        amount: "0.1",
        prices: "1"
      }
    }
    return fold([{ ...accepted, ...(depth === undefined ? {} : { nested: { depth } }) }, turned])
  }

  it("AG-46 are equal shares of what is left, for the calls that are open", () => {
    const { depth_max, nesting, spent } = nestedRunsOf(
      stateOf({ tokens_max: 1_000, cost_max: "1" }, 3, 100, 2)
    )
    assert.deepStrictEqual(nesting, {
      depth: 3,
      tokens_max: 300,
      cost_max: "0.3",
      currency: "USD"
    })
    assert.deepStrictEqual([depth_max, spent], [4, false])
    assert.deepStrictEqual(nestedRunsOf(stateOf({}, 1, 100)).nesting, { depth: 1 })
    // What is kept for the last turn is not given away.
    const answers = stateOf({ tokens_max: 1_000, on_breach: "answer", answer_tokens: 300 }, 1, 100)
    assert.strictEqual(nestedRunsOf(answers).nesting.tokens_max, 600)
  })

  it("AG-46 have nothing left to give when the run has spent it, or is as deep as it may be", () => {
    const reasonOf = (...of: Parameters<typeof stateOf>) =>
      nestingRefusal(nestedRunsOf(stateOf(...of)))?.reason
    assert.strictEqual(reasonOf({ tokens_max: 100 }, 1, 100), "NESTED_BUDGET")
    assert.strictEqual(reasonOf({ tokens_max: 101 }, 2, 100), "NESTED_BUDGET")
    assert.strictEqual(reasonOf({ cost_max: "0.1" }, 1, 100), "NESTED_BUDGET")
    assert.strictEqual(reasonOf({ tokens_max: 101 }, 1, 100), undefined)
    assert.strictEqual(reasonOf({}, 1, 100, 4), "NESTED_DEPTH_MAX")
    assert.strictEqual(reasonOf({}, 1, 100, 3), undefined)
    assert.strictEqual(reasonOf({ nested_depth_max: 0 }, 1, 100), "NESTED_DEPTH_MAX")
    assert.strictEqual(nestingRefusal(undefined), undefined)
  })
})
