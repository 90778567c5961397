import { AgentSpec, Principal, RunLimits, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import * as z from "zod"

const payments = { refund: async (order_id: string, key: string) => ({ paid: key !== order_id }) }

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    side_effects: "external",
    input: z.object({ order_id: z.string(), amount: z.number() }),
    output: z.object({ paid: z.boolean() }),
    permission: ({ amount }) => (amount > 100 ? "ask" : "allow"),
    // One payment for an order, whoever asks for it again, and in whichever conversation, for 30 days.
    idempotency: { key: "refund-{order_id}", scope: "tenant" },
    cost_estimate: "0.10",
    examples: [{ input: { order_id: "1003", amount: 250 }, output: { paid: true } }]
  },
  async ({ order_id }, { key }) => payments.refund(order_id, key!)
)

const usage = { input_tokens: 1_000, output_tokens: 100 }
const troupe = await start({
  agents: [
    AgentSpec.make({
      name: "shop",
      instructions: "Help customers.",
      tools: ["shop.refund@1"],
      limits: RunLimits.make({ cost_max: "0.50", on_breach: "ask" })
    })
  ],
  tools: [refund],
  model: scripted([
    call("refund", { order_id: "1003", amount: 250 }, { model: "gpt-4.1", usage }),
    text("It is paid back.", { model: "gpt-4.1", usage })
  ]),
  prices: {
    version: "2026-11",
    currency: "USD",
    // Per million tokens.
    prices: [
      { model: "gpt-4.1*", input: "2", cached_input: "0.5", output: "8" },
      { model: "*", input: "10", output: "30" }
    ]
  }
})
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const { conversation } = await troupe.send({ agent: "shop", text: "Pay order 1003 back" })
for await (const item of troupe.watch(conversation)) {
  const event = item._tag === "Event" ? item.entry.event : undefined
  if (event?._tag === "ModelTurned") console.log(event.cost)
  if (event?._tag === "ApprovalRequested")
    await troupe.decide(event.approval, { _tag: "Approve" }, boss)
  if (event?._tag === "CallSettled") console.log(event.outcome)
  if (event?._tag === "RunEnded") break
}
await troupe.stop()

// Output:
// {
//   _tag: 'Priced',
//   agent: 'shop',
//   currency: 'USD',
//   amount: '0.0028',
//   prices: '2026-11'
// }
// { _tag: 'Value', json: '{"paid":true}' }
// {
//   _tag: 'Priced',
//   agent: 'shop',
//   currency: 'USD',
//   amount: '0.0028',
//   prices: '2026-11'
// }
