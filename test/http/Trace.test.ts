import { assert, it } from "@effect/vitest"
import { Effect, Layer, Tracer } from "effect"
import * as Runtime from "../../layers/compose/Runtime.ts"
import * as Server from "../../layers/compose/Server.ts"
import * as Stores from "../../layers/compose/Stores.ts"
import * as ScriptedModelGateway from "../../layers/model/ScriptedModelGateway.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/RuntimeConfig.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/Ids.ts"
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

it.live("a run is in the trace of the request that sent its message, by its traceparent", () => {
  const { layer, spans } = keeping()
  const service = Server.layer({ listen: { port: 0 }, credentials }).pipe(
    Layer.provideMerge(Runtime.layer({ agents: [agent], tools: [] })),
    Layer.provide(ScriptedModelGateway.layer([ScriptedModelGateway.text("Done.")])),
    Layer.provide(Stores.ephemeral),
    Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 50 })),
    Layer.provideMerge(layer)
  )
  return Effect.gen(function* () {
    const sent = yield* ask("/v1/messages", {
      as: "olga",
      json: { agent: "operations", text: "Go." },
      headers: { traceparent: `00-${trace}-${caller}-01` }
    })
    assert.strictEqual(sent.status, 202)
    const run = yield* eventually(
      ask(`/v1/runs/${sent.json.run_id}`, { as: "vera" }),
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
  }).pipe(Effect.provide(service))
})
