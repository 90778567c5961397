import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { RunJournal } from "../../services/RunJournal.ts"
import { AgentName, Tenant } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import type { TurnCost } from "../../src/cost/TurnCost.ts"
import * as Samples from "../contracts/Samples.ts"
import { ask, layer as service } from "./Service.ts"

const cost = (amount: string, agent: string): TurnCost => ({
  _tag: "Priced",
  agent: AgentName.make(agent),
  amount,
  currency: "USD",
  prices: "v1"
})

/** A run of two turns: one that costs 0.25 and one without a price. */
const spend = Effect.fnUntraced(function* (tenant: Tenant, agent: string) {
  const journal = yield* RunJournal
  const begun = yield* Samples.begin({ tenant }, [
    { ...Samples.modelTurned(1, 1), cost: cost("0.25", agent) },
    Samples.callSettled(),
    {
      ...Samples.modelTurned(2),
      cost: { _tag: "Unpriced", agent: Samples.operations, prices: "v1", reason: "no_price" }
    }
  ])
  yield* journal.append(begun.next(Samples.runEnded()))
  return begun.run
})

const limitQuestion = Samples.approvalRequested("limit/cost_max.1" as never, {
  limit: "cost_max",
  arguments: { limit: "cost_max", max: "1", used: "1.2", extend_by: "1" }
})

layer(service, { excludeTestServices: true })("GET /v1/costs", (it) => {
  it.effect("totals are exact for each grouping, come in pages and are those of the tenant", () =>
    Effect.gen(function* () {
      const run = yield* spend(Samples.acme, "operations")
      yield* spend(Samples.acme, "analyst")
      yield* spend(Tenant.make("other"), "operations")
      const agents = yield* ask("/v1/costs", { as: "vera" })
      assert.strictEqual(agents.status, 200)
      assert.deepStrictEqual(agents.json.items, [
        {
          key: "analyst",
          amounts: [{ currency: "USD", amount: "0.25" }],
          turns: 1,
          unpriced_turns: 0,
          input_tokens: 10,
          output_tokens: 5,
          cached_tokens: 0,
          cache_write_tokens: 0,
          reasoning_tokens: 0
        },
        {
          key: "operations",
          amounts: [{ currency: "USD", amount: "0.25" }],
          turns: 3,
          unpriced_turns: 2,
          input_tokens: 30,
          output_tokens: 15,
          cached_tokens: 0,
          cache_write_tokens: 0,
          reasoning_tokens: 0
        }
      ])
      const first = yield* ask("/v1/costs?limit=1", { as: "olga" })
      assert.strictEqual(first.json.next_after, "analyst")
      const second = yield* ask("/v1/costs?limit=1&after=analyst", { as: "olga" })
      assert.strictEqual(second.json.items[0].key, "operations")
      const one = yield* ask(`/v1/costs?by=run&run=${run}`, { as: "vera" })
      assert.deepStrictEqual(one.json.items[0].key, run)
      assert.notProperty(one.json, "next_after")
      const tenant = yield* ask("/v1/costs?by=tenant", { as: "vera" })
      assert.deepStrictEqual(tenant.json.items[0].amounts, [{ currency: "USD", amount: "0.5" }])
      const later = yield* ask(`/v1/costs?from=${Date.now() + 60_000}`, { as: "vera" })
      assert.deepStrictEqual(later.json.items, [])
    })
  )

  it.effect("ST-12 a tool's spending is listed by tool and by trace", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const trace_id = Samples.unique("trace")
      const begun = yield* Samples.begin({ tenant: Samples.acme, trace_id }, [
        { ...Samples.modelTurned(1, 1), cost: cost("0.25", "operations") }
      ])
      const uses = [{ model: "small", cost: cost("0.5", "operations") }]
      yield* journal.append(
        begun.next(
          { ...Samples.callSettled(), spent: { tool: "summarise", uses } } as RunEvent,
          Samples.modelTurned(2),
          Samples.runEnded()
        )
      )
      const tools = yield* ask("/v1/costs?by=tool", { as: "vera" })
      assert.strictEqual(tools.status, 200)
      assert.deepInclude(tools.json.items[0], {
        key: "summarise",
        amounts: [{ currency: "USD", amount: "0.5" }],
        turns: 1
      })
      const trace = yield* ask(`/v1/costs?by=trace&trace_id=${trace_id}`, { as: "vera" })
      assert.deepInclude(trace.json.items, { ...trace.json.items[0], key: trace_id })
      assert.deepStrictEqual(trace.json.items[0].amounts, [{ currency: "USD", amount: "0.75" }])
      const models = yield* ask("/v1/costs?by=model&tool=summarise", { as: "vera" })
      assert.strictEqual(models.json.items[0].key, "small")
      const shown = yield* ask(`/v1/runs/${begun.run}`, { as: "vera" })
      assert.deepInclude(shown.json.cost, { amount: "0.75" })
    })
  )

  it.effect(
    "customers and requests without a valid token are refused, and a wrong query is refused with its parameter",
    () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* ask("/v1/costs", { as: "carl" })).status, 403)
        assert.strictEqual((yield* ask("/v1/costs")).status, 401)
        const wrong = yield* ask("/v1/costs?by=colour", { as: "vera" })
        assert.strictEqual(wrong.status, 400)
        assert.include(wrong.text, "by")
      })
  )

  it.effect("a run shows its cost and the question about its limit", () =>
    Effect.gen(function* () {
      const run = yield* spend(Samples.acme, "operations")
      const shown = yield* ask(`/v1/runs/${run}`, { as: "vera" })
      assert.deepInclude(shown.json, { tokens: 30 })
      assert.deepStrictEqual(shown.json.cost, {
        currency: "USD",
        amount: "0.25",
        unpriced_turns: 1
      })
      const asking = yield* Samples.begin({ tenant: Samples.acme }, [
        Samples.modelTurned(1, 1),
        Samples.callSettled(),
        limitQuestion
      ])
      const waiting = yield* ask(`/v1/runs/${asking.run}`, { as: "vera" })
      assert.strictEqual(waiting.json.status, "awaiting_approval")
      assert.deepInclude(waiting.json.pending_approvals[0], { limit: "cost_max" })
      assert.notProperty(waiting.json, "cost")
      const path = `/v1/approvals/${limitQuestion.approval}/decision`
      const revision = { decision: "request_revision", note: "less" }
      const unfit = yield* ask(path, { as: "ada", json: revision })
      assert.strictEqual(unfit.status, 409)
      assert.include(unfit.text, "Approve or Deny")
      const denial = { decision: "deny", reason: "that will do" }
      assert.strictEqual((yield* ask(path, { as: "ada", json: denial })).status, 200)
      const over = yield* ask(`/v1/runs/${asking.run}`, { as: "vera" })
      assert.deepInclude(over.json, { status: "failed" })
    })
  )
})
