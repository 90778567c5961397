import { assert, it } from "@effect/vitest"
import { Effect, Layer, Tracer } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { eventually } from "../contracts/Contract.ts"
import { ask, credentials } from "./Service.ts"

const agent = AgentSpec.make({ name: AgentName.make("operations"), instructions: "Help." })
const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
const caller = "00f067aa0ba902b7"

const keeping = () => {
  const spans: Array<Tracer.NativeSpan> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  return { spans, layer: Layer.succeed(Tracer.Tracer, tracer) }
}

const serviceWith = <A>(telemetry: Layer.Layer<A>) =>
  Server.layer({ listen: { port: 0 }, credentials }).pipe(
    Layer.provideMerge(Runtime.layer({ agents: [agent], tools: [] })),
    Layer.provide(ScriptedModelGateway.layer(() => ScriptedModelGateway.text("Done."))),
    Layer.provide(Stores.ephemeral),
    Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 50 })),
    Layer.provideMerge(telemetry)
  )

/** A message with these headers, its run once it has ended, and the trace in its journal. */
const sent = Effect.fnUntraced(function* (traceparent: string, tracestate?: string) {
  const answer = yield* ask("/v1/messages", {
    as: "olga",
    json: { agent: "operations", text: "Go." },
    headers: { traceparent, ...(tracestate === undefined ? undefined : { tracestate }) }
  })
  assert.strictEqual(answer.status, 202, answer.text)
  const { json } = yield* eventually(
    ask(`/v1/runs/${answer.json.run_id}`, { as: "vera" }),
    (run) => run.json.status === "complete"
  )
  const journal = yield* ask(`/v1/runs/${answer.json.run_id}/events`, { as: "vera" })
  const { event } = journal.json.items[0]
  assert.strictEqual(json.trace_id, event.trace_id)
  return [event.trace_id, event.span_id, event.sampled, event.tracestate]
})

const parent = `00-${trace}-${caller}-01`

it.live("a run is in the trace of the request that sent its message, by its traceparent", () => {
  const { layer, spans } = keeping()
  return Effect.gen(function* () {
    const answer = yield* ask("/v1/messages", {
      as: "olga",
      json: { agent: "operations", text: "Go." },
      headers: { traceparent: parent }
    })
    assert.strictEqual(answer.status, 202)
    const run = yield* eventually(
      ask(`/v1/runs/${answer.json.run_id}`, { as: "vera" }),
      ({ json }) => json.status === "complete"
    )
    assert.strictEqual(run.json.trace_id, trace)

    const leg = spans.find(({ name }) => name === "invoke_agent operations")
    assert.isDefined(leg)
    // The span that sent is kept with the task as its two ids, and found again by them.
    const known = new Map(spans.map((span) => [span.spanId, span]))
    const above: Array<string> = []
    for (let at: string | undefined = leg!.spanId; at !== undefined;) {
      const span: Tracer.NativeSpan | undefined = known.get(at)
      if (span !== undefined) assert.strictEqual(span.traceId, trace, span.name)
      above.push(span?.name ?? at)
      at = span?.parent._tag === "Some" ? span.parent.value.spanId : undefined
    }

    assert.deepStrictEqual(above, ["invoke_agent operations", "AgentRuntime.send", "POST", caller])
  }).pipe(Effect.provide(serviceWith(layer)))
})

it.live("a request's trace is kept with its run where there is no tracer", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* sent(`00-${trace}-${caller}-01`), [
      trace,
      caller,
      undefined,
      undefined
    ])
    assert.deepStrictEqual(yield* sent(`00-${trace}-${caller}-03`), [
      trace,
      caller,
      undefined,
      undefined
    ])
    assert.deepStrictEqual(yield* sent(`00-${trace}-${caller}-00`), [
      trace,
      caller,
      false,
      undefined
    ])
  }).pipe(Effect.provide(serviceWith(Layer.empty)))
)

it.live("a run of a request that is not sampled has the trace's id and exports no span", () => {
  const { layer, spans } = keeping()
  return Effect.gen(function* () {
    assert.deepStrictEqual(yield* sent(`00-${trace}-${caller}-00`), [
      trace,
      caller,
      false,
      undefined
    ])
    const told = spans.filter(({ sampled, name }) => sampled && name !== "GET")
    assert.deepStrictEqual(
      told.filter(({ traceId }) => traceId === trace).map(({ name }) => name),
      []
    )
    for (const { attributes, name } of told) {
      assert.notProperty(Object.fromEntries(attributes), "troupe.run_id", name)
    }
  }).pipe(Effect.provide(serviceWith(layer)))
})

it.live("a malformed traceparent is ignored, with and without a tracer", () =>
  Effect.forEach([Layer.empty, keeping().layer], (telemetry) =>
    Effect.gen(function* () {
      for (const traceparent of [
        "",
        "x",
        `00-${trace}-${caller}`,
        `00-${trace}-${caller}-0`,
        `00-${trace}-${caller}-01-more`,
        `ff-${trace}-${caller}-01`,
        `00-${"0".repeat(32)}-${caller}-01`,
        `00-${trace}-${"0".repeat(16)}-01`,
        `00-${trace.toUpperCase()}-${caller}-01`,
        `00-${trace.slice(1)}-${caller}-01`,
        // Two headers arrive as one.
        `${parent}, ${parent}`,
        `${parent}${"0".repeat(8_000)}`
      ]) {
        const [trace_id, span_id, sampled, state] = yield* sent(traceparent, "rojo=1")
        assert.isUndefined(state, traceparent)
        assert.match(trace_id, /^[0-9a-f]{32}$/, traceparent)
        assert.notStrictEqual(trace_id, trace, traceparent)
        assert.notStrictEqual(span_id, caller, traceparent)
        assert.isUndefined(sampled)
      }
    }).pipe(Effect.provide(serviceWith(telemetry as Layer.Layer<never>)))
  )
)

it.live("a request's tracestate is kept with its run, whose spans have it", () => {
  const { layer, spans } = keeping()
  const legs = () =>
    spans
      .filter(({ name }) => name.startsWith("invoke_agent"))
      .map(({ attributes }) => attributes.get("w3c.tracestate"))
  return Effect.gen(function* () {
    const [, , , kept] = yield* sent(parent, " rojo=00f067aa0ba902b7 ,, congo=t61rcWkgMzE")
    assert.strictEqual(kept, "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")
    assert.deepStrictEqual(legs(), [kept])
  }).pipe(Effect.provide(serviceWith(layer)))
})

it.live(
  "a tracestate that is malformed or too long is left out of the trace that came with it",
  () => {
    const { layer, spans } = keeping()
    return Effect.forEach([Layer.empty, layer], (telemetry) =>
      Effect.gen(function* () {
        for (const tracestate of [
          "",
          "rojo",
          "Rojo=1",
          "rojo=1,=2",
          "rojo=a=b",
          `rojo=${"b".repeat(257)}`,
          `rojo=${"b".repeat(200)},congo=${"b".repeat(200)},azul=${"b".repeat(200)}`,
          `rojo=${"b".repeat(8_000)}`,
          Array.from({ length: 33 }, (_, n) => `k${n}=1`).join(",")
        ]) {
          const [trace_id, , , state] = yield* sent(parent, tracestate)
          assert.strictEqual(trace_id, trace, tracestate)
          assert.isUndefined(state, tracestate)
        }
        for (const { attributes } of spans)
          assert.notProperty(Object.fromEntries(attributes), "w3c.tracestate")
      }).pipe(Effect.provide(serviceWith(telemetry as Layer.Layer<never>)))
    )
  }
)
