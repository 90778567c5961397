import { Effect, Layer, Schema } from "effect"
import { Tenant, tool } from "troupe"
import { Troupe } from "troupe/layers"
import * as SemStreams from "troupe/semstreams"
import { scripted } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  ({ order }) => `order ${order} is paid back`
)

const execute = Effect.gen(function* () {
  const config = yield* SemStreams.decodeComponentConfig({ approval_required: ["refund"] })
  // It brings the queue. With `store: { postgres }` other processes share it. No agent asks the model.
  const runtime = Troupe.layer({ agents: [], model: scripted([]) })
  const component = SemStreams.tools({ config, org: "acme", platform: "prod", tools: [refund] })
  const message = { id: "call-1", name: "refund", arguments: { order: "1003" } }
  return yield* Effect.gen(function* () {
    const tools = yield* SemStreams.SemStreamsTools
    const asked = yield* tools.execute("refund", message, Tenant.make("default"))
    const approved = { ...message, id: "call-2", approved_by: "boss" }
    const ran = yield* tools.execute("refund", approved, Tenant.make("default"))
    return [asked.awaits_approval, ran.subject, ran.result.content]
  }).pipe(Effect.provide(component.pipe(Layer.provide(runtime))))
})

console.log(await Effect.runPromise(execute))

// Output:
// [ true, 'tool.result.call-2', '"order 1003 is paid back"' ]
