import { Chat } from "@ai-sdk/react"
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai"
import { Schema } from "effect"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    input: Schema.Struct({ order: Schema.String }),
    side_effects: "external",
    approvers: ["customer"]
  },
  () => "paid back"
)
const shop = agent({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const token = "3f9a41d07c5e4b6f8a2d90c1e7b35d64"
const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([
    call("refund", { order: "1003" }, { text: "That is 40 euros." }),
    text("It is paid back.")
  ]),
  customer_agents: ["shop"],
  http: {
    port: 0,
    tokens: [{ token, principal: carl }],
    settings: { wires: ["ui-messages"], origins: ["https://shop.example"] }
  }
})

// In a page: `useChat({ transport, sendAutomaticallyWhen })`, with nothing else of Troupe.
const transport = new DefaultChatTransport({
  api: `${troupe.url}/wires/ui-messages/shop`,
  headers: { authorization: `Bearer ${token}` }
})
const chat = new Chat({
  transport,
  sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses
})
const show = () => {
  for (const part of chat.messages.at(-1)?.parts ?? []) {
    if (part.type === "text") console.log(part.text)
    if (part.type === "dynamic-tool") console.log(part.toolName, part.state)
  }
}
await chat.sendMessage({ text: "Pay order 1003 back, please." })
show()
const question = chat.messages.at(-1)?.parts.find(({ type }) => type === "dynamic-tool")
if (question?.type === "dynamic-tool" && question.approval !== undefined) {
  await chat.addToolApprovalResponse({ id: question.approval.id, approved: true })
}
while (chat.status !== "ready") await new Promise((resolve) => setTimeout(resolve, 10))
show()
await troupe.stop()

// Output:
// That is 40 euros.
// refund approval-requested
// That is 40 euros.
// refund output-available
// It is paid back.
