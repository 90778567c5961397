import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const invoices = tool(
  {
    namespace: "shop",
    name: "invoices",
    description: "Lists invoices.",
    side_effects: "read"
  },
  () => ["invoice 7: paid"]
)
const desk = AgentSpec.make({
  name: "desk",
  instructions: "Answer customers. Ask those who know.",
  specialists: ["billing"]
})
const billing = AgentSpec.make({
  name: "billing",
  description: "Knows invoices.",
  instructions: "Answer from the invoices.",
  tools: ["invoices"]
})
const model = scripted({
  desk: [call("ask_billing", { task: "Is invoice 7 paid?" }), text("Yes, it is paid.")],
  billing: [call("invoices"), text("Invoice 7 is paid.")]
})

const troupe = await start({ agents: [desk, billing], tools: [invoices], model })
const { run, text: answer } = await troupe.ask({ agent: "desk", text: "Did you get my money?" })
// The specialist's frame is a part of the same run.
for (const { event } of await troupe.runEvents(run)) {
  if (event._tag === "FrameOpened") console.log(`${event.agent}: ${event.input}`)
}
console.log(answer)
await troupe.stop()

// Output:
// billing: Is invoice 7 paid?
// Yes, it is paid.
