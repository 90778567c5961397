/** What the bodies of tools spend on models: their limits, their sums, and what is known of them afterwards. */
import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Effect, Layer, Metric } from "effect"
import { parseDecimal, decimalText } from "../../src/value/Decimal.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { CallContext } from "../../src/tool/GovernedTool.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as ModelUsageTelemetry from "../../layers/telemetry/ModelUsageTelemetry.ts"
import { seeded } from "../run/Interleaving.ts"
import * as H from "./Harness.ts"
import type { Options, Tools } from "./Spenders.ts"
import {
  agentsOf,
  ledgerOf,
  once,
  prices,
  read,
  retried,
  runtime,
  spends,
  tenth,
  write
} from "./Spenders.ts"

describe("a limit", () => {
  const limited = (
    title: string,
    limits: Partial<RunLimits>,
    reason: string,
    family: Tools[number]
  ) =>
    it.live(`ST-12 ${title}`, () =>
      Effect.gen(function* () {
        const events = yield* H.ended(yield* H.send("hello"))
        assert.strictEqual(H.count(events, "ModelTurned"), 2)
        assert.deepInclude(H.end(events), { status: "failed", reason })
      }).pipe(
        Effect.provide(
          runtime({
            tools: [family],
            script: () =>
              call("one", { n: 1 }, { ...tenth, usage: { input_tokens: 10, output_tokens: 0 } }),
            limits
          })
        )
      )
    )
  const dear = tool(
    read,
    spends(() => 1)
  )
  limited("on cost is breached by a body", { cost_max: "0.2" }, "cost_max", dear)
  limited("on tokens is breached by a body", { tokens_max: 150_000 }, "tokens_max", dear)

  it.live("ST-12 on cost is breached by a body whose cost is unknown", () =>
    Effect.gen(function* () {
      const events = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.count(events, "ModelTurned"), 1)
      assert.deepInclude(H.end(events), { status: "failed", reason: "cost_unknown" })
    }).pipe(
      Effect.provide(
        runtime({
          tools: [tool(read, (_, handed) => (handed.spent({ model: "unheard of" }), 1))],
          script: () => call("one", { n: 1 }, tenth),
          limits: { cost_max: "1000" }
        })
      )
    )
  )
})

/** An operator who says of every unknown call that it failed. */
const settling = Effect.fnUntraced(function* (run: RunId) {
  for (let nth = 1; ; nth++) {
    yield* H.happened(run, "CallUnknown", nth)
    const unknown = (yield* H.events(run)).filter((event) => event._tag === "CallUnknown")
    const settlement = { _tag: "Failed", message: "it did not arrive" } as const
    const { call: lost } = unknown[nth - 1]!
    yield* AgentRuntime.use((actors) => actors.settle(run, lost, settlement, H.alice))
  }
})

/** Calls that succeed, fail, time out or do not know, each of which spends at random. */
describe("over random calls", () => {
  for (let seed = 1; seed <= 8; seed++) {
    it.live(`ST-12 the ledger's sum is what was reported (seed ${seed})`, () => {
      const random = seeded(seed)
      let reported = BigDecimal.make(0n, 0)
      const spend = (handed: CallContext) => {
        for (let n = Math.floor(random() * 40); n > 0; n--) {
          const input_tokens = Math.floor(random() * 1e6)
          handed.spent({ model: "small", usage: { input_tokens, output_tokens: 0 } })
          reported = BigDecimal.sum(reported, BigDecimal.make(BigInt(input_tokens), 6))
        }
      }
      const body = (_: unknown, handed: CallContext) => {
        spend(handed)
        const [fate, ends] = [random(), Effect.sync(() => spend(handed))]
        if (fate < 0.3) return Effect.as(ends, "done")
        if (fate < 0.6) {
          const message = "no"
          return Effect.andThen(
            ends,
            Effect.fail(new ToolUserError({ kind: "invalid_args", message }))
          )
        }
        if (fate < 0.75) return Effect.andThen(ends, Effect.die("?"))
        return Effect.andThen(ends, Effect.never)
      }
      const tools = [
        tool({ ...read, timeout_ms: 30 }, body),
        tool({ ...read, name: "two", timeout_ms: 30, retry: retried }, body),
        tool({ ...write, name: "three", idempotent: true, timeout_ms: 30 }, body)
      ]
      const names = ["one", "two", "three"]
      const step = () =>
        calls(
          Array.from({ length: 1 + Math.floor(random() * 4) }, (_, n) =>
            call(names[Math.floor(random() * 3)]!, { n })
          )
        )
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const operator = yield* Effect.forkChild(settling(run))
        yield* H.ended(run)
        operator.interruptUnsafe()
        const ledger = yield* CostLedger
        const [total] = yield* ledger.totals({ tenant: H.tenant, by: "run", limit: 10 })
        const amount = total?.amounts.find(({ currency }) => currency === "USD")?.amount ?? "0"
        assert.strictEqual(amount, decimalText(reported))
        const tool_totals = yield* ledger.totals({ tenant: H.tenant, by: "tool", limit: 10 })
        const sum = tool_totals.reduce(
          (before, each) => BigDecimal.sum(before, parseDecimal(each.amounts[0]?.amount ?? "0")),
          BigDecimal.make(0n, 0)
        )
        assert.strictEqual(decimalText(sum), decimalText(reported))
      }).pipe(Effect.provide(runtime({ tools, script: [step(), step(), step(), text("done")] })))
    })
  }
})

describe("afterwards", () => {
  const tools = [
    tool(
      read,
      spends(() => 1)
    )
  ]

  it.live("ST-12 a replay counts recorded costs in limits, and writes no ledger entry", () => {
    const options: Options = {
      tools,
      script: () => call("one", { n: 1 }),
      limits: { cost_max: "0.2" }
    }
    let ran = 0
    const unrun = tool(read, () => ++ran)
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.ended(run)
      const app = { agents: agentsOf(options, ["t.one@1"]), tools: [unrun], prices }
      const report = yield* Replay.replay(run, { app })
      assert.isUndefined(report.divergence)
      if (typeof report.gate === "string") return assert.fail(report.gate)
      assert.isUndefined(report.gate.divergence)
      assert.deepInclude(report.gate.state.ended, { reason: "cost_max" })
      assert.strictEqual(ran, 0)
      assert.strictEqual(yield* ledgerOf(run), "0.2")
    }).pipe(
      Effect.provide(
        runtime({
          ...options,
          script: () =>
            call("one", { n: 1 }, { model: "small", usage: { input_tokens: 0, output_tokens: 0 } })
        })
      )
    )
  })

  it.live("ST-12 metrics count what tools spent under their names, beside the turns", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const measured = (yield* Metric.snapshot)
        .filter(
          ({ attributes, id }) => id.startsWith("troupe_model_") && "tool" in (attributes ?? {})
        )
        .map(({ attributes, id, state }) => [
          id,
          attributes ?? {},
          "count" in state ? Number(state.count) : undefined
        ])
      assert.sameDeepMembers(measured, [
        ["troupe_model_tokens_total", { model: "small", kind: "input", tool: "one" }, 100_000],
        ["troupe_model_cost_total", { model: "small", currency: "USD", tool: "one" }, 0.1]
      ])
    }).pipe(
      Effect.provide(
        runtime({ tools, script: once }).pipe(
          Layer.provide(ModelUsageTelemetry.layer),
          Layer.provideMerge(Layer.succeed(Metric.MetricRegistry, new Map()))
        )
      )
    )
  )
})
