import { Redacted, Schema } from "effect"
import { agent, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const Customer = Schema.Struct({
  customer: Schema.String,
  plan: Schema.Literals(["free", "gold"]),
  token: Schema.RedactedFromValue(Schema.String)
})
const orders = tool(
  {
    namespace: "shop",
    name: "orders",
    description: "Lists the orders of the customer.",
    side_effects: "read",
    context: Customer
  },
  (_, { context }) =>
    Redacted.value(context.token) === "t-1003" ? `orders of ${context.customer}` : "none"
)
const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: Schema.Struct({ amount: Schema.Finite }),
    permission: ({ amount }, { context }) =>
      context?.["plan"] === "gold" && amount <= 100 ? "allow" : "ask"
  },
  ({ amount }) => `${amount} paid back`
)
const shop = agent({
  name: "shop",
  context: Customer,
  instructions: ({ context }) => `Help a customer of the plan ${context.plan}.`,
  tools: { orders: true, refund: ({ context }) => context.plan === "gold" }
})
// A live one: "anthropic/claude-sonnet-4-5". This one says what it was shown, and acts.
const turns = [call("orders"), call("refund", { amount: 20 }), text("Done.")]
const model = scripted(({ system, tools }) => {
  console.log(system, tools.map(({ name }) => name).join(", "))
  return turns.shift()
})
const troupe = await start({ agents: [shop], tools: [orders, refund], model })
const { run, status } = await troupe.ask({
  agent: shop,
  text: "Pay me 20 back",
  context: { customer: "1003", plan: "gold", token: "t-1003" }
})
for await (const item of troupe.watch(run)) {
  const event = item._tag === "Event" ? item.entry.event : undefined
  if (event?._tag === "RunAccepted") console.log(event.context, event.context_secrets)
  if (event?._tag === "CallSettled" && event.outcome._tag === "Value")
    console.log(event.outcome.json)
}
console.log(status)
await troupe.stop()

// Output:
// Help a customer of the plan gold. orders, refund
// Help a customer of the plan gold. orders, refund
// Help a customer of the plan gold. orders, refund
// { customer: '1003', plan: 'gold' } [ 'token' ]
// "orders of 1003"
// "20 paid back"
// complete
