import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const triage = AgentSpec.make({
  name: "triage",
  instructions: "Find out what it is about, and hand it over.",
  handoffs: ["billing"]
})
const billing = AgentSpec.make({
  name: "billing",
  description: "Knows invoices.",
  instructions: "Answer questions about invoices.",
  handoffs: ["triage"]
})
// A live one: "anthropic/claude-sonnet-4-5".
const model = scripted({
  triage: [call("transfer_to_billing", { note: "invoice 7" })],
  billing: [text("Invoice 7 is paid."), text("On Monday.")]
})
const troupe = await start({ agents: [triage, billing], model })
const first = await troupe.ask({ agent: "triage", text: "Is invoice 7 paid?" })
const { conversation } = first
// Without an agent, a message goes to the one that holds the conversation.
await troupe.ask({ conversation, text: "When?" })
for await (const item of troupe.watch(conversation)) {
  if (item._tag === "CaughtUp") break
  const event = item._tag === "Event" ? item.entry.event : undefined
  if (event?._tag === "HandedOff") console.log(`${event.from} hands it over to ${event.to}`)
  if (event?._tag === "RunEnded") console.log(`${event.agent}: ${event.text}`)
}
await troupe.stop()

// Output:
// triage hands it over to billing
// billing: Invoice 7 is paid.
// billing: On Monday.
