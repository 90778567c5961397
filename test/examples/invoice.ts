import { Schema } from "effect"
import { AgentSpec, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const pdf = (data: string) =>
  ({ type: "file", media_type: "application/pdf", data: Buffer.from(data) }) as const
const invoice = tool(
  {
    namespace: "shop",
    name: "invoice",
    description: "Makes the invoice of an order.",
    side_effects: "read",
    input: Schema.Struct({ order: Schema.String })
  },
  async ({ order }, call) => {
    await call.attach({ ...pdf(`Invoice ${order}`), name: `invoice-${order}.pdf`, for: "customer" })
    // For staff and for the model.
    await call.attach({ ...pdf("Margin 43 %"), name: "margin.pdf" })
    return "the invoice is attached"
  }
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help customers.", tools: ["invoice"] })
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const dora = new Principal({ id: "dora", tenant: "default", roles: ["customer"] })

const troupe = await start({
  agents: [shop],
  tools: [invoice],
  customer_agents: ["shop"],
  model: scripted([call("invoice", { order: "1003" }), text("Here it is.")])
})
const answer = await troupe.ask({ agent: "shop", text: "My invoice, please" }, carl)
const files = answer.status === "complete" ? (answer.files ?? []) : []
for (const { digest, name } of files) {
  const { data } = await troupe.file(answer.conversation, digest, carl)
  console.log(name, "|", Buffer.from(data).toString())
  await troupe.file(answer.conversation, digest, dora).catch((error) => console.log(error._tag))
}
await troupe.stop()

// Output:
// invoice-1003.pdf | Invoice 1003
// ConversationNotFound
