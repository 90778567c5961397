import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, References, Tracer } from "effect"
import { TestClock } from "effect/testing"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as ToolCallTelemetry from "../../layers/telemetry/ToolCallTelemetry.ts"
import * as H from "./Harness.ts"

const eight = [
  "agent_name",
  "ended_at",
  "error_class",
  "latency_ms",
  "ok",
  "started_at",
  "tool_name",
  "trace_id"
]

describe("ToolCallMetadata", () => {
  it.effect(
    "ST-07 ST-08 ST-09 is observed once for each call, with its latency on the runtime's clock",
    () => {
      const { facts, observe } = H.recorder()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        yield* H.happened(run, "ModelTurned")
        yield* TestClock.adjust(12)
        const all = yield* H.ended(run)
        assert.strictEqual(facts.length, 1)
        const { metadata, tenant } = facts[0]!
        assert.deepStrictEqual(Object.keys(metadata).sort(), eight)
        const accepted = all.find((event) => event._tag === "RunAccepted")
        assert.deepInclude(metadata, {
          tool_name: "slow",
          agent_name: "tester",
          latency_ms: 12,
          ok: true,
          error_class: null,
          trace_id: accepted!.trace_id
        })
        assert.strictEqual(metadata.ended_at - metadata.started_at, 12)
        assert.strictEqual(tenant, H.tenant)
      }).pipe(
        Effect.provide(
          H.layer({
            tools: { slow: H.reads((n) => Effect.as(Effect.sleep(12), n)) },
            script: [call("slow", { n: 1 }), text("done")],
            observers: [observe]
          })
        )
      )
    }
  )

  it.live("ST-09 ST-11 names the class of a failure, a defect and an unknown tool", () => {
    const { facts, observe } = H.recorder()
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const classes = facts.map(({ metadata }) => [metadata.tool_name, metadata.error_class])
      assert.sameDeepMembers(classes, [
        ["fails", "ToolUserError"],
        ["dies", "ToolTerminalError"],
        ["nope", "ToolUserError"]
      ])
      assert.isTrue(facts.every(({ metadata }) => !metadata.ok && metadata.latency_ms >= 0))
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            fails: H.reads(() =>
              Effect.fail(new ToolUserError({ kind: "invalid_args", message: "no" }))
            ),
            dies: H.reads(() => Effect.die("x"))
          },
          script: [
            calls([call("fails", { n: 1 }), call("dies", { n: 1 }), call("nope", {})]),
            text("done")
          ],
          observers: [observe]
        })
      )
    )
  })

  it.effect("ST-11 SM-26 is observed of a call that timed out, after its finaliser ran", () => {
    const { facts, observe } = H.recorder()
    let released = 0
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ModelTurned")
      yield* TestClock.adjust(50)
      const all = yield* H.ended(run)
      assert.deepInclude(H.outcome(all), { _tag: "Failed" })
      assert.strictEqual(facts.length, 1)
      assert.deepInclude(facts[0]!.metadata, {
        ok: false,
        error_class: "ToolTransientError",
        latency_ms: 50
      })
      assert.strictEqual(facts[0]!.error_kind, "timeout")
      assert.strictEqual(released, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            hangs: H.reads(
              () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => released++)),
              { timeout_ms: 50 }
            )
          },
          script: [call("hangs", { n: 1 }), text("done")],
          observers: [observe]
        })
      )
    )
  })

  it.live("ST-11 is observed once of a call that a cancel interrupted", () => {
    const { facts, observe } = H.recorder()
    let released = 0
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ModelTurned")
      yield* AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough"))
      yield* H.ended(run)
      assert.strictEqual(facts.length, 1)
      assert.deepInclude(facts[0]!.metadata, { tool_name: "hangs", ok: false })
      yield* Effect.yieldNow
      assert.strictEqual(released, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            hangs: H.reads(() =>
              Effect.onInterrupt(Effect.never, () => Effect.sync(() => released++))
            )
          },
          script: [call("hangs", { n: 1 })],
          observers: [observe]
        })
      )
    )
  })

  it.effect("ST-11 is not observed when a process stops: the call has not ended", () => {
    const { facts, observe } = H.recorder()
    let began = 0
    const options: H.Options = {
      tools: {
        slow: H.reads(() =>
          Effect.suspend(() => (++began === 1 ? Effect.never : Effect.succeed("second")))
        )
      },
      script: ({ transcript }) => (transcript.length === 1 ? call("slow", { n: 1 }) : text("done")),
      observers: [observe],
      config: { drain_ms: 0 }
    }
    return Effect.gen(function* () {
      const first = yield* H.boot(options)
      const run = yield* first.run(H.send("hello"))
      yield* first.run(H.happened(run, "ModelTurned"))
      yield* first.stop
      assert.strictEqual(facts.length, 0)
      const second = yield* H.boot(options)
      yield* second.run(H.ended(run))
      assert.strictEqual(began, 2)
      assert.strictEqual(facts.length, 1)
      assert.isTrue(facts[0]!.metadata.ok)
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.live("ST-25 a body that retries inside itself is one call with one record", () => {
    const { facts, observe } = H.recorder()
    let tries = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(tries, 2)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: '"ok"' })
      assert.strictEqual(facts.length, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            flaky: H.reads(() =>
              Effect.suspend(() =>
                ++tries === 1
                  ? Effect.fail(new ToolUserError({ kind: "network", message: "once" }))
                  : Effect.succeed("ok")
              ).pipe(Effect.retry({ times: 1 }))
            )
          },
          script: [call("flaky", { n: 1 }), text("done")],
          observers: [observe]
        })
      )
    )
  })

  it.live("ST-13 an observed tool gets the same arguments and gives the same results", () => {
    const values = [0, -1, 2 ** 31, 7]
    const given: Array<number> = []
    const { facts, observe } = H.recorder()
    const play = (observers: H.Options["observers"]) =>
      Effect.gen(function* () {
        const all = yield* H.ended(yield* H.send("hello"))
        return H.settled(all).map(({ call: id, outcome }) => [id, outcome])
      }).pipe(
        Effect.provide(
          H.layer({
            tools: {
              half: H.reads((n) => {
                given.push(n)
                return n < 0
                  ? Effect.fail(new ToolUserError({ kind: "invalid_args", message: `${n}` }))
                  : Effect.succeed(n / 2)
              })
            },
            script: [calls(values.map((n) => call("half", { n }))), text("done")],
            observers: observers ?? []
          })
        )
      )
    return Effect.gen(function* () {
      const plain = yield* play([])
      assert.deepStrictEqual(yield* play([observe]), plain)
      assert.deepStrictEqual(given, [...values, ...values])
      assert.strictEqual(facts.length, values.length)
    })
  })

  it.live("ST-10 SM-90 SM-91 becomes a log line and a span of one trace, and is counted", () => {
    const lines: Array<{ message: unknown; fields: Readonly<Record<string, unknown>> }> = []
    const spans: Array<Tracer.Span> = []
    const logger = Logger.make<unknown, void>(({ fiber, message }) => {
      lines.push({ message, fields: { ...fiber.getRef(References.CurrentLogAnnotations) } })
    })
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const accepted = all.find((event) => event._tag === "RunAccepted")
      const told = lines.filter(({ message }) => String(message) === "tool_call")
      assert.strictEqual(told.length, 2)
      // With which call it was.
      const where = ["call_id", "run_id", "tenant"]
      assert.deepStrictEqual(Object.keys(told[0]!.fields).sort(), [...eight, ...where].sort())
      const [span] = spans.filter(({ name }) => name === "execute_tool add")
      assert.strictEqual(span?.attributes.get("gen_ai.tool.name"), "add")
      assert.strictEqual(span?.attributes.get("gen_ai.agent.name"), "tester")
      assert.strictEqual(span?.traceId, accepted?.trace_id)
      assert.isTrue(told.every(({ fields }) => fields["trace_id"] === span?.traceId))
      const measured = (yield* Metric.snapshot)
        .filter(({ id }) => id.startsWith("troupe_agentic_tools_"))
        .map(({ attributes, id, state }) => [
          id.slice("troupe_agentic_tools_".length),
          attributes ?? {},
          "count" in state ? Number(state.count) : undefined
        ])
        // The counters of tools begin at 0.
        .filter(([, , count]) => count !== 0)
      assert.sameDeepMembers(measured, [
        ["executions_total", { tool_name: "add", status: "success" }, 1],
        ["executions_total", { tool_name: "(unknown)", status: "error" }, 1],
        ["execution_duration_seconds", { tool_name: "add" }, 1],
        ["execution_duration_seconds", { tool_name: "(unknown)" }, 1],
        ["errors_total", { tool_name: "(unknown)", error_type: "not_found" }, 1],
        ["registered", {}, undefined]
      ])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { add: H.reads((n) => Effect.succeed(n + 1)) },
          script: [calls([call("add", { n: 1 }), call("made_up", {})]), text("done")],
          observers: "ambient"
        }).pipe(
          Layer.provide(ToolCallTelemetry.layer),
          Layer.provideMerge(
            Layer.mergeAll(
              Logger.layer([logger]),
              Layer.succeed(Tracer.Tracer, tracer),
              Layer.succeed(Metric.MetricRegistry, new Map())
            )
          )
        )
      )
    )
  })
})
