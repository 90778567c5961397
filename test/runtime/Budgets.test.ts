import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Metric, Result } from "effect"
import { TestClock } from "effect/testing"
import { compilePriceTable } from "../../src/cost/PriceTable.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import { PriceBook } from "../../services/PriceBook.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ModelUsageTelemetry from "../../layers/telemetry/ModelUsageTelemetry.ts"
import * as H from "./Harness.ts"

const look = { look: H.reads((n) => Effect.succeed(n)) }
const limited = (limits: Partial<RunLimits>) => ({ limits: RunLimits.make(limits) })

/** A turn that costs 0.10 USD and looks. */
const usage = { input_tokens: 100_000, output_tokens: 0 }
const dear = call("look", { n: 1 }, { usage, model: "dear" })

const prices = Result.getOrThrow(
  compilePriceTable({
    version: "v1",
    currency: "USD",
    prices: [{ model: "dear", input: "1", output: "2" }]
  })
)
const priced = Layer.succeed(PriceBook, prices)

const runtime = (options: H.Options) => H.layer(options).pipe(Layer.provide(priced))

const tags = (all: ReadonlyArray<RunEvent>) => all.map((event) => event._tag)

describe("a budget", () => {
  it.live("each turn has its cost in the journal, and the ledger their sum", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const all = yield* H.ended(run)
      const costs = all.flatMap((event) => (event._tag === "ModelTurned" ? [event.cost] : []))
      assert.deepStrictEqual(costs, [
        {
          _tag: "Priced",
          agent: H.agentName,
          currency: "USD",
          amount: "0.1",
          prices: "v1"
        },
        { _tag: "Unpriced", agent: H.agentName, reason: "no_price", prices: "v1" }
      ])
      const ledger = yield* CostLedger
      const [total] = yield* ledger.totals({ tenant: H.tenant, by: "run", limit: 10 })
      assert.deepInclude(total, { key: run, turns: 2, unpriced_turns: 1 })
      assert.deepStrictEqual(total?.amounts, [{ currency: "USD", amount: "0.1" }])
    }).pipe(
      Effect.provide(
        runtime({ tools: look, script: [dear, text("done", { usage, model: "unheard of" })] })
      )
    )
  )

  it.live("metrics count tokens by kind and cost by currency, and name what has no price", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const measured = (yield* Metric.snapshot)
        .filter(({ id }) => id.startsWith("troupe_model_"))
        .map(({ attributes, id, state }) => [
          id,
          attributes ?? {},
          "count" in state ? Number(state.count) : undefined
        ])
      assert.sameDeepMembers(measured, [
        ["troupe_model_tokens_total", { model: "dear", kind: "input" }, 100_000],
        ["troupe_model_tokens_total", { model: "dear", kind: "cached" }, 40_000],
        ["troupe_model_tokens_total", { model: "rare", kind: "input" }, 100_000],
        ["troupe_model_cost_total", { model: "dear", currency: "USD" }, 0.1],
        ["troupe_model_unpriced_turns_total", { model: "rare" }, 1]
      ])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: [
            { ...dear, usage: { ...usage, cached_tokens: 40_000 } },
            text("done", { usage, model: "rare" })
          ]
        }).pipe(
          Layer.provide(Layer.merge(priced, ModelUsageTelemetry.layer)),
          Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map()))
        )
      )
    )
  )

  it.live("a run without a price table journals no cost and fills no ledger", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      for (const event of all) assert.notProperty(event, "cost")
      const ledger = yield* CostLedger
      assert.deepStrictEqual(
        yield* ledger.totals({ tenant: H.tenant, by: "tenant", limit: 10 }),
        []
      )
    }).pipe(Effect.provide(H.layer({ tools: look, script: [dear, text("done")] })))
  )

  it.live("stops the run before the turn that it cannot pay, exact to the last decimal", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 3)
      assert.deepInclude(H.end(all), { status: "failed", reason: "cost_max" })
    }).pipe(
      // In binary floats three tenths are more than 0.3.
      Effect.provide(
        runtime({ tools: look, script: () => dear, agent: limited({ cost_max: "0.3" }) })
      )
    )
  )

  it.live("an unknown cost breaches a cost limit, and does not count as zero", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 1)
      assert.deepInclude(H.end(all), { status: "failed", reason: "cost_unknown" })
    }).pipe(
      Effect.provide(
        runtime({
          tools: look,
          script: () => call("look", { n: 1 }, { usage, model: "unheard of" }),
          agent: limited({ cost_max: "1000000" })
        })
      )
    )
  )

  it.live("with answer, a reserve is kept and the user has an answer without tools", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const asked = yield* H.requests
      assert.deepStrictEqual(
        asked.map(({ tools }) => tools.length),
        [1, 1, 0]
      )
      assert.deepInclude(H.end(all), { status: "complete", text: "in short" })
    }).pipe(
      Effect.provide(
        runtime({
          tools: look,
          script: ({ tools }) =>
            tools.length > 0 ? dear : text("in short", { usage, model: "dear" }),
          // Without the reserve a third turn with tools would fit.
          agent: limited({ cost_max: "0.25", answer_cost: "0.1", on_breach: "answer" })
        })
      )
    )
  )

  it.live("with answer, the tokens of the last turn are reserved from the start", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(all, "ModelTurned"), 3)
      assert.deepInclude(H.end(all), { status: "complete", text: "in short" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: ({ tools }) => (tools.length > 0 ? dear : text("in short")),
          agent: limited({ tokens_max: 250_000, answer_tokens: 60_000, on_breach: "answer" })
        })
      )
    )
  )

  it.live(
    "where the provider counts no tokens, a bound on them holds by an estimate that says so",
    () =>
      Effect.gen(function* () {
        const run = yield* H.send("hello")
        const all = yield* H.ended(run)
        assert.deepInclude(H.end(all), { status: "failed", reason: "tokens_max" })
        const used = all.flatMap((event) => (event._tag === "ModelTurned" ? [event.usage] : []))
        // The instructions and the message, then the result that the model was sent, too.
        assert.isAbove(used[1]!.input_tokens, used[0]!.input_tokens + 1_000)
        for (const usage of used) assert.deepInclude(usage, { estimated: true })
        assert.isBelow(used.length, 6)
        const stopping = all.find((event) => event._tag === "RunStopping")
        assert.include(stopping?.message, "an estimate")
        // An estimate has no price, and no ledger counts it.
        const ledger = yield* CostLedger
        const [total] = yield* ledger.totals({ tenant: H.tenant, by: "run", limit: 10 })
        assert.deepInclude(total, { key: run, input_tokens: 0, unpriced_turns: used.length })
      }).pipe(
        Effect.provide(
          runtime({
            tools: { look: H.reads(() => Effect.succeed("word ".repeat(1_500))) },
            script: ({ step }) => call("look", { n: step }),
            agent: limited({ tokens_max: 5_000 })
          })
        )
      )
  )

  it.live("an estimate of what a summary took counts, too", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const compacted = all.find((event) => event._tag === "Compacted")
      assert.deepInclude(compacted, { how: "summarised" })
      assert.deepInclude(compacted?.usage, { estimated: true })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads(() => Effect.succeed("word ".repeat(600))) },
          script: ({ purpose, step }) =>
            purpose === "summary"
              ? text("So far.")
              : step < 5
                ? call("look", { n: step })
                : text("done"),
          agent: {
            compaction: "summarise",
            context_tokens_max: 1_800,
            ...limited({ tokens_max: 1_000_000 })
          }
        })
      )
    )
  )

  it.live("of two specialists with room for one turn the second waits for the first", () => {
    let most = 0
    let running = 0
    const specialist = AgentName.make("east")
    const answer = Effect.gen(function* () {
      most = Math.max(most, ++running)
      yield* Effect.sleep(20)
      running--
      return text("found", { usage: { input_tokens: 100, output_tokens: 0 } })
    })
    const delegate = (way: string) => call("ask_east", { task: `look ${way}` })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(most, 1)
      assert.strictEqual(H.count(all, "FrameOpened"), 2)
      assert.deepInclude(H.end(all), { status: "failed", reason: "tokens_max" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          agents: [
            AgentSpec.make({ name: specialist, instructions: "Look.", tools: ["test.look@1"] })
          ],
          agent: { specialists: [specialist], ...limited({ tokens_max: 200 }) },
          script: ({ agent }) =>
            agent === specialist
              ? answer
              : calls([delegate("left"), delegate("right")], {
                  usage: { input_tokens: 100, output_tokens: 0 }
                })
        })
      )
    )
  })
})

describe("a limit whose breach needs an approval", () => {
  const asking = (limits: Partial<RunLimits>, script: H.Options["script"] = () => dear) => ({
    tools: look,
    script,
    agent: limited({ on_breach: "ask", ...limits })
  })

  it.live("an approval extends it by the declared amount, and the next breach stops the run", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const question = yield* H.question(run)
      assert.deepStrictEqual(question.arguments, {
        limit: "steps_max",
        max: 2,
        used: 2,
        extend_by: 3
      })
      assert.strictEqual(question.payload.tool_name, "extend_run")
      assert.include(question.payload.effect_description, "3 more")
      const [record] = yield* H.pending
      assert.deepInclude(record, { id: question.approval, run_id: run, status: "pending" })
      yield* H.decide(question.approval, H.approve)
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "ModelTurned"), 5)
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      assert.deepInclude(H.end(all), { status: "failed", reason: "recursion_limit" })
    }).pipe(Effect.provide(H.layer(asking({ steps_max: 2, extend_by: { steps_max: 3 } }))))
  )

  it.live("a denial ends the run with the limit's reason and who denied it", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* H.decide(approval, H.deny)
      const all = yield* H.ended(run)
      assert.deepInclude(H.end(all), { status: "failed", reason: "cost_max" })
      const stopping = all.find((event) => event._tag === "RunStopping")
      assert.deepInclude(stopping, { by: "alice", reason: "cost_max", message: "not today" })
      assert.deepStrictEqual(tags(all).slice(-3), ["ApprovalDecided", "RunStopping", "RunEnded"])
    }).pipe(Effect.provide(runtime(asking({ cost_max: "0.2" }))))
  )

  it.live(
    "a decision that is neither an approval nor a denial is refused, and the question stays open",
    () =>
      Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        const refused = yield* Effect.flip(
          H.decide(approval, { _tag: "RequestRevision", note: "less" })
        )
        assert.deepInclude(refused, {
          _tag: "DecisionUnfit",
          decision: "RequestRevision",
          fits: ["Approve", "Deny"]
        })
        assert.strictEqual((yield* H.pending).length, 1)
        yield* H.decide(approval, H.deny)
        const settled = yield* Effect.flip(H.decide(approval, H.approve))
        assert.strictEqual((settled as { readonly _tag: string })._tag, "ApprovalSettled")
      }).pipe(Effect.provide(H.layer(asking({ tokens_max: 100 }))))
  )

  it.live("only a person with its role may extend it", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      const viewer = H.person("eve", ["viewer"])
      const refused = yield* Effect.flip(H.decide(approval, H.approve, viewer))
      assert.strictEqual((refused as { readonly _tag: string })._tag, "NotEntitled")
      yield* H.decide(approval, H.approve, H.person("olga", ["operator"]))
      yield* H.ended(run)
    }).pipe(Effect.provide(H.layer(asking({ steps_max: 1 }))))
  )

  it.live("its question is closed when the run is cancelled", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.question(run)
      yield* H.cancel(run)
      const all = yield* H.ended(run)
      assert.strictEqual(H.count(all, "ApprovalClosed"), 1)
      assert.deepInclude(H.end(all), { status: "cancelled" })
      assert.deepStrictEqual(yield* H.pending, [])
    }).pipe(Effect.provide(H.layer(asking({ steps_max: 1 }))))
  )

  it.live("its question and its extension outlive the process", () =>
    Effect.gen(function* () {
      const options = asking({ steps_max: 2, extend_by: { steps_max: 1 } })
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello"))
      const { approval } = yield* first.run(H.question(run))
      yield* first.stop
      const second = yield* H.boot(options)
      yield* second.run(H.decide(approval, H.approve))
      const all = yield* second.run(H.ended(run))
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      assert.strictEqual(H.count(all, "ModelTurned"), 3)
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  )
})

describe("a limit of time", () => {
  const hangs = { look: H.reads(() => Effect.never) }

  it.live("stops a run whose tool hangs", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "failed", reason: "wall_ms_max" })
      assert.deepStrictEqual(H.outcome(all), { _tag: "Cancelled" })
    }).pipe(
      Effect.provide(
        H.layer({ tools: hangs, script: () => dear, agent: limited({ wall_ms_max: 50 }) })
      )
    )
  )

  it.live("with answer, a turn that hangs is requested again, without tools", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepInclude(H.end(all), { status: "complete", text: "in short" })
      assert.strictEqual(H.count(all, "LimitReached"), 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: look,
          script: ({ tools }) => (tools.length > 0 ? Effect.never : text("in short")),
          agent: limited({ wall_ms_max: 50, on_breach: "answer" })
        })
      )
    )
  )

  for (const [where, isRestarted] of [
    ["in its process", false],
    ["over a restart", true]
  ] as const) {
    it.effect(`does not count the time in which a run waits only for a person, ${where}`, () =>
      Effect.gen(function* () {
        const options: H.Options = {
          tools: { pay: H.asks((n) => Effect.as(Effect.sleep(100), n)) },
          script: ({ step }) => (step === 1 ? call("pay", { n: 1 }) : text("done")),
          agent: limited({ wall_ms_max: 400 })
        }
        const first = yield* H.boot(options)
        const run = yield* first.run(H.send("hello"))
        const { approval } = yield* first.run(H.question(run))
        yield* TestClock.adjust(500)
        if (isRestarted) yield* H.asTimePasses(first.stop)
        const { run: within } = isRestarted ? yield* H.boot(options) : first
        yield* within(H.decide(approval, H.approve))
        const all = yield* H.asTimePasses(within(H.ended(run)))
        assert.deepInclude(H.end(all), { status: "complete" })
      }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
    )
  }

  it.effect("counts the time in which no process has the run", () =>
    Effect.gen(function* () {
      const options = { tools: hangs, script: () => dear, agent: limited({ wall_ms_max: 300 }) }
      const first = yield* H.boot({ ...options, config: { drain_ms: 1 } })
      const run = yield* first.run(H.send("hello"))
      yield* first.run(H.happened(run, "ModelTurned"))
      yield* H.asTimePasses(first.stop)
      yield* TestClock.adjust(400)
      const second = yield* H.boot(options)
      const all = yield* H.asTimePasses(second.run(H.ended(run)))
      assert.deepInclude(H.end(all), { status: "failed", reason: "wall_ms_max" })
      const entries = yield* RunReader.use((reader) => reader.read(run, 0, 100))
      const claimed = entries.findLast(({ event }) => event._tag === "RunClaimed")!
      // Its time was over when it was claimed.
      assert.isBelow(entries.at(-1)!.at - claimed.at, 100)
    }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  )

  it.effect("with ask, is extended by an approval", () =>
    Effect.gen(function* () {
      let n = 0
      const slow = H.reads(() => (++n === 1 ? Effect.as(Effect.sleep(120), 1) : Effect.succeed(2)))
      yield* Effect.gen(function* () {
        const run = yield* H.send("hello")
        const question = yield* H.asTimePasses(H.question(run))
        assert.strictEqual(question.limit, "wall_ms_max")
        yield* H.decide(question.approval, H.approve)
        assert.deepInclude(H.end(yield* H.ended(run)), { status: "complete" })
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { look: slow },
            script: [dear, dear, text("done")],
            agent: limited({
              wall_ms_max: 60,
              on_breach: "ask",
              extend_by: { wall_ms_max: 60_000 }
            })
          })
        )
      )
    })
  )
})
