/** What the bodies of tools spend on models: from what they say to the ledger. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema, Stream } from "effect"
import { LanguageModel, Model } from "effect/ai"
import { ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import { rootFrame, RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { CostLedger } from "../../services/CostLedger.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { gateway, languageModel, metered } from "../../layers/model/providers/MeteredModels.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"
import type { Options, Tools } from "./Spenders.ts"
import { fake, ledgerOf, once, read, retried, runtime, spends, tenth, write } from "./Spenders.ts"

/** A database in the process takes its time on a busy machine. */
const patient_ms = 120_000

const spentBy = (events: ReadonlyArray<RunEvent>) =>
  events.flatMap((event) =>
    event._tag === "CallSettled" || event._tag === "CallUnknown" ? [event.spent] : []
  )

describe("a model that a tool's body calls", () => {
  for (const on of ["ephemeral", "database"] as const) {
    it.live(
      `ST-12 reports its usage, and the ledger (${on}) holds one entry tagged with tool_name under the run's trace`,
      () => {
        const body = tool(read, (_, handed) =>
          metered(handed)(
            Effect.map(LanguageModel.generateText({ prompt: "sum" }), (r) => r.text)
          ).pipe(Effect.orDie)
        )
        return Effect.gen(function* () {
          const run = yield* H.send("hello")
          const events = yield* H.ended(run)
          const accepted = events.find((event) => event._tag === "RunAccepted")!
          const settled = H.settled(events)[0]!
          assert.deepStrictEqual(settled.outcome, { _tag: "Value", json: `"short"` })
          assert.deepStrictEqual(settled.spent, {
            tool: "one",
            uses: [
              {
                model: "small",
                usage: { input_tokens: 100_000, output_tokens: 0, cached_tokens: 1 },
                cost: {
                  _tag: "Priced",
                  agent: H.agentName,
                  currency: "USD",
                  amount: "0.1",
                  prices: "v1"
                }
              }
            ]
          })
          const ledger = yield* CostLedger
          const query = { tenant: H.tenant, tool: "one", limit: 10 }
          const [entry, ...others] = yield* ledger.totals({ ...query, by: "trace" })
          assert.deepStrictEqual(others, [])
          assert.deepInclude(entry, {
            key: accepted.trace_id,
            turns: 1,
            input_tokens: 100_000,
            amounts: [{ currency: "USD", amount: "0.1" }]
          })
          const [byTool] = yield* ledger.totals({
            tenant: H.tenant,
            by: "tool",
            trace_id: accepted.trace_id,
            limit: 10
          })
          assert.deepInclude(byTool, { key: "one", turns: 1 })
          const [model] = yield* ledger.totals({ ...query, by: "model" })
          assert.strictEqual(model?.key, "small")
          const [agent] = yield* ledger.totals({ ...query, by: "agent" })
          assert.strictEqual(agent?.key, H.agentName)
        }).pipe(Effect.provide(runtime({ tools: [Effect.provide(body, fake)], script: once, on })))
      },
      patient_ms
    )
  }

  it.live("ST-12 is metered as text, as an object, as a stream, as a gateway, and by hand", () => {
    const request = {
      run: RunId.make("00000000-0000-4000-8000-000000000001"),
      agent: H.agentName,
      frame: rootFrame,
      step: 1,
      model: "asked for",
      system: "",
      history: [],
      transcript: [],
      tools: []
    }
    const scripted = ScriptedModelGateway.layer([
      text("by a gateway", { ...tenth }),
      text("by one that counts nothing")
    ])
    const body = tool(
      read,
      Effect.fnUntraced(function* (_, handed) {
        const Answer = Schema.Struct({ n: Schema.Int })
        yield* Effect.gen(function* () {
          yield* LanguageModel.generateText({ prompt: "a" })
          yield* LanguageModel.generateObject({ prompt: "b", schema: Answer })
          yield* Stream.runDrain(LanguageModel.streamText({ prompt: "c" }))
          const model = yield* ModelGateway
          yield* model.turn(request, () => {})
          yield* model.turn(request, () => {})
        }).pipe(metered(handed), Effect.orDie)
        handed.spent({ model: "other", usage: { input_tokens: 1, output_tokens: 2 } })
        return null
      })
    )
    const named = Layer.merge(fake, Layer.succeed(Model.ModelName, "named"))
    return Effect.gen(function* () {
      const events = yield* H.ended(yield* H.send("hello"))
      const uses = spentBy(events)[0]!.uses
      assert.deepStrictEqual(
        uses.map(({ cost, model, usage: used }) => [model, used?.input_tokens, cost?._tag]),
        [
          ["small", 100_000, "Priced"],
          ["small", 100_000, "Priced"],
          ["named", 100_000, "Unpriced"],
          ["small", 100_000, "Priced"],
          ["asked for", undefined, "Unpriced"],
          ["other", 1, "Unpriced"]
        ]
      )
    }).pipe(
      Effect.provide(
        runtime({
          tools: [Effect.provide(body, Layer.merge(named, Layer.fresh(scripted)))],
          script: once
        })
      )
    )
  })

  it.effect("ST-12 is not wrapped where no body reports costs", () =>
    Effect.gen(function* () {
      const model = yield* LanguageModel.LanguageModel
      assert.strictEqual(languageModel({}, model), model)
      const own = { turn: () => Effect.die("not asked") }
      assert.strictEqual(gateway({}, own), own)
    }).pipe(Effect.provide(fake))
  )

  it.live("ST-12 a call that spends nothing has an event without spending", () =>
    Effect.gen(function* () {
      const events = yield* H.ended(yield* H.send("hello"))
      for (const event of events) assert.notProperty(event, "spent")
    }).pipe(Effect.provide(runtime({ tools: [tool(read, () => 1)], script: once })))
  )

  it.live("ST-12 without a price table its tokens count, and the ledger has no entry", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const events = yield* H.ended(run)
      assert.deepStrictEqual(spentBy(events), [{ tool: "one", uses: [tenth] }])
      assert.isUndefined(yield* ledgerOf(run))
    }).pipe(
      Effect.provide(
        runtime({
          tools: [
            tool(
              read,
              spends(() => 1)
            )
          ],
          script: once,
          prices: false
        })
      )
    )
  )
})

describe("what a body spent counts, whatever its call came to:", () => {
  const counts = (
    title: string,
    family: Tools[number],
    expected: string,
    check: (events: ReadonlyArray<RunEvent>) => void = () => {},
    more: Partial<Options> = {}
  ) =>
    it.live(
      `ST-12 ${title}`,
      () =>
        Effect.gen(function* () {
          const run = yield* H.send("hello")
          const events = yield* H.ended(run)
          check(events)
          assert.strictEqual(yield* ledgerOf(run), expected)
        }).pipe(Effect.provide(runtime({ tools: [family], script: once, ...more }))),
      patient_ms
    )
  const failed = (reason: string) => (events: ReadonlyArray<RunEvent>) =>
    assert.deepNestedInclude(H.outcome(events), { "error.reason": reason })
  const refused = new ToolUserError({ kind: "invalid_args", reason: "NO", message: "no" })

  counts(
    "a failure",
    tool(
      read,
      spends(() => Effect.fail(refused))
    ),
    "0.1",
    failed("NO")
  )
  counts(
    "a defect",
    tool(
      read,
      spends(() => Effect.die("?"))
    ),
    "0.1",
    failed("DEFECT")
  )
  counts(
    "a promise that rejects",
    tool(read, async (_, handed) => {
      await Promise.resolve()
      handed.spent(tenth)
      throw refused
    }),
    "0.1",
    failed("NO")
  )
  counts(
    "a timeout, up to it and not after it",
    tool(
      { ...read, timeout_ms: 50 },
      spends((handed) =>
        Effect.onInterrupt(Effect.never, () => Effect.sync(() => handed.spent(tenth)))
      )
    ),
    "0.1",
    failed("TIMEOUT")
  )
  counts(
    "a result that its schema refuses",
    tool(
      { ...read, output: Schema.Int },
      spends(() => "no number")
    ),
    "0.1",
    failed("OUTPUT_SCHEMA")
  )
  counts(
    "a write",
    tool(
      write,
      spends(() => 1)
    ),
    "0.1"
  )
  let attempts = 0
  const away = new ToolTransientError({ kind: "external", message: "away" })
  counts(
    "each attempt",
    tool(
      { ...read, retry: { ...retried, max_attempts: 3 } },
      spends(() => (++attempts < 3 ? Effect.fail(away) : Effect.succeed(1)))
    ),
    "0.3",
    (events) => assert.strictEqual(H.outcome(events)?._tag, "Value")
  )
  counts(
    "a transaction that was rolled back (PGlite)",
    tool(
      { ...write, transactional: true },
      spends(() => Effect.fail(refused))
    ),
    "0.1",
    failed("NO"),
    { on: "database" }
  )
  counts(
    "a transaction that was committed",
    tool(
      { ...write, transactional: true },
      spends(() => 1)
    ),
    "0.1",
    (events) => assert.strictEqual(H.outcome(events)?._tag, "Value")
  )

  it.live("ST-12 a write whose outcome is unknown, before an operator settles it", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallUnknown")
      assert.strictEqual(yield* ledgerOf(run), "0.1")
    }).pipe(
      Effect.provide(
        runtime({
          tools: [
            tool(
              { ...write, timeout_ms: 50 },
              spends(() => Effect.never)
            )
          ],
          script: once
        })
      )
    )
  )

  it.live("ST-12 one side effect of two calls is paid once", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      const events = yield* H.ended(run)
      assert.strictEqual(H.settled(events).length, 2)
      assert.strictEqual(yield* ledgerOf(run), "0.1")
    }).pipe(
      Effect.provide(
        runtime({
          tools: [
            tool(
              { ...write, idempotency: { key: "once", scope: "run" } },
              spends(() => 1)
            )
          ],
          script: [call("one", { n: 1 }), call("one", { n: 2 }), text("done")]
        })
      )
    )
  )
})
