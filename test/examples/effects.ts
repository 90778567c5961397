import { Context, Effect, Layer, Schema, Stream } from "effect"
import { AgentSpec, Principal, tool } from "troupe"
import { Troupe } from "troupe/layers"
import { call, scripted, text } from "troupe/testing"

class Payments extends Context.Service<
  Payments,
  { readonly refund: (order: string) => Effect.Effect<string> }
>()("shop/Payments") {}

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String }),
    output: Schema.String
  },
  // Without `Payments` in the end, the program does not compile, and the error names it.
  ({ order }) => Payments.use((payments) => payments.refund(order))
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })

const program = Effect.gen(function* () {
  const troupe = yield* Troupe
  const { run, status } = yield* troupe.ask({ agent: "shop", text: "Pay order 1003 back" })
  console.log(status)
  for (const { id } of yield* troupe.pending(boss)) {
    yield* troupe.decide(id, { decision: "approve" }, boss)
  }
  yield* troupe.watch(run).pipe(
    Stream.runForEach((item) =>
      Effect.sync(() => {
        if (item._tag !== "Event" || item.entry.event._tag !== "CallSettled") return
        console.log(item.entry.event.outcome)
      })
    )
  )
  return (yield* troupe.result(run)).text
}).pipe(Effect.catchTag("NotEntitled", ({ message }) => Effect.succeed(message)))

const troupe = Troupe.layer({
  agents: [shop],
  tools: [refund],
  model: scripted([call("refund", { order: "1003" }), text("It is paid back.")])
})
const payments = Layer.succeed(Payments, {
  refund: (order) => Effect.succeed(`order ${order} is paid back`)
})

console.log(
  await Effect.runPromise(program.pipe(Effect.provide(troupe.pipe(Layer.provide(payments)))))
)

// Output:
// awaiting_approval
// { _tag: 'Value', json: '"order 1003 is paid back"' }
// It is paid back.
