/** Costs of turns and tools: written with the turn or the end of the call, read in pages. */
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { CostQuery } from "../../services/CostLedger.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunPorts } from "../../services/Stores.ts"
import type { TaskStore } from "../../services/TaskStore.ts"
import type { TurnCost } from "../../src/cost/TurnCost.ts"
import { AgentName, callId, rootFrame } from "../../src/value/Ids.ts"
import type { Tenant } from "../../src/value/Ids.ts"
import type { ModelUse } from "../../src/cost/Spending.ts"
import { uses_max } from "../../src/cost/Spending.ts"
import type { ModelTurned, RunEvent } from "../../src/run/RunEvent.ts"
import * as Samples from "./Samples.ts"

type Needs = CostLedger | RunPorts | TaskStore

const analyst = AgentName.make("analyst")

const priced = (amount: string, currency = "USD", agent = Samples.operations): TurnCost => ({
  _tag: "Priced",
  agent,
  amount,
  currency,
  prices: "v1"
})

const unpriced: TurnCost = {
  _tag: "Unpriced",
  agent: Samples.operations,
  reason: "no_price",
  prices: "v1"
}

/** A turn that asks for one call, so that the run goes on. */
const turn = (step: number, cost?: TurnCost, more: Partial<ModelTurned> = {}): ModelTurned => ({
  ...Samples.modelTurned(step, 1),
  ...(cost === undefined ? undefined : { cost }),
  ...more
})

/** A run with one turn, and its result, for each of these costs. */
const spending = (tenant: Tenant, ...turns: ReadonlyArray<ModelTurned>) =>
  Samples.begin(
    { tenant },
    turns.flatMap((each) => [each, Samples.callSettled(callId(rootFrame, each.step, 0))])
  )

/** The result of the only call of a turn, whose body spent this. */
const spent = (
  step: number,
  tool: string,
  uses: ReadonlyArray<ModelUse>,
  _tag: "CallSettled" | "CallUnknown" = "CallSettled"
): RunEvent => {
  const call = callId(rootFrame, step, 0)
  const spending = { tool, uses }
  return _tag === "CallUnknown"
    ? { _tag, call, spent: spending }
    : { _tag, call, outcome: { _tag: "Value", json: "null" }, spent: spending }
}

const use = (model: string, cost: TurnCost, more: Partial<ModelUse> = {}): ModelUse => ({
  model,
  usage: { input_tokens: 100, output_tokens: 1 },
  cost,
  ...more
})

const amounts = (usd: string) => [{ currency: "USD", amount: usd }]

const sumTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "costs are summed exactly, and turns without a price are counted and in no amount",
    () =>
      Effect.gen(function* () {
        const ledger = yield* CostLedger
        const tenant = Samples.tenant()
        const usage = {
          input_tokens: 3_000_000_000,
          output_tokens: 7,
          cached_tokens: 5,
          cache_write_tokens: 3,
          reasoning_tokens: 2
        }
        yield* spending(
          tenant,
          turn(1, priced("0.1"), { usage }),
          turn(2, priced("0.2")),
          turn(3, priced("0.000000000000000003")),
          turn(4, unpriced)
        )
        assert.deepStrictEqual(yield* ledger.totals({ tenant, by: "tenant", limit: 500 }), [
          {
            key: tenant,
            amounts: amounts("0.300000000000000003"),
            turns: 4,
            unpriced_turns: 1,
            input_tokens: 3_000_000_030,
            output_tokens: 22,
            cached_tokens: 5,
            cache_write_tokens: 3,
            reasoning_tokens: 2
          }
        ])
      })
  )

  it.effect("a turn without a cost has no entry", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger
      const tenant = Samples.tenant()
      yield* spending(tenant, turn(1), turn(2))
      assert.deepStrictEqual(yield* ledger.totals({ tenant, by: "run", limit: 500 }), [])
    })
  )
}

const listTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("costs are listed by run, agent and model, in pages, and never across tenants", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger
      const tenant = Samples.tenant()
      const a = yield* spending(tenant, turn(1, priced("1", "USD", analyst), { model: "small" }))
      const b = yield* spending(tenant, turn(1, priced("2")), turn(2, priced("3", "EUR")))
      yield* spending(Samples.tenant(), turn(1, priced("99")))
      const runs = yield* ledger.totals({ tenant, by: "run", limit: 500 })
      const costs = new Map(runs.map((total) => [total.key, total.amounts]))
      assert.deepStrictEqual(costs.get(a.run), amounts("1"))
      assert.deepStrictEqual(costs.get(b.run), [
        { currency: "EUR", amount: "3" },
        { currency: "USD", amount: "2" }
      ])
      assert.strictEqual(runs.length, 2)
      const first = yield* ledger.totals({ tenant, by: "run", limit: 1 })
      const second = yield* ledger.totals({ tenant, by: "run", limit: 1, after: first[0]!.key })
      assert.deepStrictEqual([...first, ...second], runs)
      const end = { tenant, by: "run", limit: 1, after: second[0]!.key } as const
      assert.deepStrictEqual(yield* ledger.totals(end), [])
      const agents = yield* ledger.totals({ tenant, by: "agent", limit: 500 })
      assert.deepStrictEqual(
        agents.map(({ key, turns }) => [key, turns]),
        [
          ["analyst", 1],
          ["operations", 2]
        ]
      )
      const models = yield* ledger.totals({ tenant, by: "model", agent: analyst, limit: 500 })
      assert.deepStrictEqual(
        models.map((total) => [total.key, total.amounts]),
        [["small", amounts("1")]]
      )
      const small = yield* ledger.totals({ tenant, by: "run", model: "small", limit: 500 })
      assert.deepStrictEqual(
        small.map(({ key }) => key),
        [a.run]
      )
      const one = yield* ledger.totals({ tenant, by: "tenant", run_id: a.run, limit: 500 })
      assert.deepStrictEqual(one[0]?.amounts, amounts("1"))
    })
  )

  it.effect("a window includes its start and excludes its end", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger
      const reader = yield* RunReader
      const tenant = Samples.tenant()
      const { run } = yield* spending(tenant, turn(1, priced("1")))
      const entries = yield* reader.read(run, 0, 100)
      const at = entries.find(({ event }) => event._tag === "ModelTurned")!.at
      const within = (from?: number, to?: number) =>
        Effect.map(
          ledger.totals({ tenant, by: "tenant", from, to, limit: 500 }),
          (totals) => totals.length
        )
      assert.strictEqual(yield* within(at, at + 1), 1)
      assert.strictEqual(yield* within(at + 1), 0)
      assert.strictEqual(yield* within(undefined, at), 0)
      // Its day is that of UTC, wherever the store is.
      const day = new Date(at).toISOString().slice(0, 10)
      const days = (query: Partial<CostQuery> = {}) =>
        Effect.map(ledger.totals({ tenant, by: "day", limit: 500, ...query }), (totals) =>
          totals.map(({ amounts, key }) => [key, amounts])
        )
      assert.deepStrictEqual(yield* days(), [[day, amounts("1")]])
      assert.deepStrictEqual(yield* days({ after: day }), [])
      assert.deepStrictEqual(yield* days({ agent: analyst }), [])
    })
  )
}

const appendTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("a model's name from outside cannot poison the append that carries it", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger
      const tenant = Samples.tenant()
      yield* spending(tenant, turn(1, priced("1"), { model: `m\u0000\ud800${"x".repeat(500)}` }))
      const [total] = yield* ledger.totals({ tenant, by: "model", limit: 500 })
      assert.strictEqual(total?.turns, 1)
      assert.isAtMost(total!.key.length, 200)
    })
  )

  it.effect("a refused append leaves no cost, and one that ends its run leaves its own", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger
      const journal = yield* RunJournal
      const tenant = Samples.tenant()
      const begun = yield* Samples.begin({ tenant })
      const last = { ...Samples.modelTurned(1), cost: priced("4") }
      const append = begun.next(last, Samples.runEnded())
      const stale = { ...append, fence: { epoch: begun.fence.epoch, length: 1 } }
      yield* Effect.flip(journal.append(stale))
      assert.deepStrictEqual(yield* ledger.totals({ tenant, by: "run", limit: 500 }), [])
      yield* journal.append(append)
      const [total] = yield* ledger.totals({ tenant, by: "run", limit: 500 })
      assert.deepStrictEqual(total?.amounts, amounts("4"))
    })
  )
}

const toolSpendingTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect(
    "ST-12 what a tool spent is listed by its name and by its run's trace, beside the turns",
    () =>
      Effect.gen(function* () {
        const ledger = yield* CostLedger
        const tenant = Samples.tenant()
        const trace_id = Samples.unique("trace")
        const { run } = yield* Samples.begin({ tenant, trace_id }, [
          turn(1, priced("1")),
          spent(1, "summarise", [
            use("small", priced("0.1")),
            use("small", priced("0.02"), { turns: 3 }),
            use("odd", unpriced)
          ]),
          turn(2, priced("1")),
          spent(2, "translate", [use("small", priced("0.003"))], "CallUnknown")
        ])
        yield* spending(tenant, turn(1, priced("7")))
        const totals = (query: Partial<CostQuery>) =>
          Effect.map(ledger.totals({ tenant, by: "tool", limit: 500, ...query }), (all) =>
            all.map(({ amounts: [amount], key, turns, unpriced_turns }) => [
              key,
              amount?.amount,
              turns,
              unpriced_turns
            ])
          )
        assert.deepStrictEqual(yield* totals({}), [
          ["summarise", "0.12", 5, 1],
          ["translate", "0.003", 1, 0]
        ])
        assert.deepStrictEqual(yield* totals({ by: "trace", tool: "summarise" }), [
          [trace_id, "0.12", 5, 1]
        ])
        assert.deepStrictEqual(yield* totals({ by: "run", trace_id }), [[run, "2.123", 8, 1]])
        assert.deepStrictEqual(yield* totals({ by: "model", tool: "summarise" }), [
          ["odd", undefined, 1, 1],
          ["small", "0.12", 4, 0]
        ])
        assert.deepStrictEqual(yield* totals({ by: "agent" }), [["operations", "9.123", 9, 1]])
        assert.deepStrictEqual(yield* totals({ after: "summarise" }), [
          ["translate", "0.003", 1, 0]
        ])
        assert.deepStrictEqual(yield* totals({ trace_id: "none" }), [])
        // The trace is the same whether or not the sending span is known.
        const span_id = "00f067aa0ba902b7"
        const parts = [{ type: "text" as const, text: "\u0000 \ud800" }]
        yield* Samples.begin({ tenant, trace_id, span_id, parts }, [turn(1, priced("2"))])
        yield* Samples.begin({ tenant, trace_id, span_id, sampled: false }, [turn(1, priced("3"))])
        assert.deepInclude(yield* totals({ by: "trace" }), [trace_id, "7.123", 10, 1])
        assert.deepStrictEqual(yield* totals({ by: "agent", trace_id }), [
          ["operations", "7.123", 10, 1]
        ])
        assert.deepStrictEqual(yield* totals({ by: "trace", after: trace_id, trace_id }), [])
        assert.deepStrictEqual(yield* totals({ tool: "none" }), [])
      })
  )
}

const toolSpendingBoundTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  it.effect("ST-12 a call with the most uses that it may have ends its run in one append", () =>
    Effect.gen(function* () {
      const ledger = yield* CostLedger
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const tenant = Samples.tenant()
      const begun = yield* Samples.begin({ tenant }, [turn(1, priced("1"))])
      const model = `m\u0000\ud800${"x".repeat(300)}`
      const uses = Array.from({ length: uses_max }, () => use(model, priced("0.001")))
      yield* journal.append(
        begun.next(spent(1, "summarise", uses), turn(2, priced("1")), Samples.runEnded())
      )
      const [total] = yield* ledger.totals({ tenant, by: "tool", limit: 500 })
      assert.deepStrictEqual(total?.amounts, amounts("0.032"))
      assert.strictEqual(total?.input_tokens, 3_200)
      const [whole] = yield* ledger.totals({ tenant, by: "tenant", limit: 500 })
      assert.deepStrictEqual(whole?.amounts, amounts("2.032"))
      const stored = yield* reader.read(begun.run, 0, 100)
      const settled = stored.find(({ event }) => event._tag === "CallSettled")?.event
      assert.strictEqual(settled?._tag === "CallSettled" && settled.spent?.uses.length, uses_max)
    })
  )

  it.effect(
    "ST-12 what a tool spent without a price table is in the journal and not in the ledger",
    () =>
      Effect.gen(function* () {
        const ledger = yield* CostLedger
        const tenant = Samples.tenant()
        yield* Samples.begin({ tenant }, [
          turn(1),
          spent(1, "summarise", [{ model: "small", usage: { input_tokens: 1, output_tokens: 1 } }])
        ])
        assert.deepStrictEqual(yield* ledger.totals({ tenant, by: "tool", limit: 500 }), [])
        assert.deepStrictEqual(yield* ledger.totals({ tenant, by: "tenant", limit: 500 }), [])
      })
  )
}

export const costLedgerTests = (it: Vitest.MethodsNonLive<Needs>): void => {
  sumTests(it)
  listTests(it)
  appendTests(it)
  toolSpendingTests(it)
  toolSpendingBoundTests(it)
}
