import { AgentSpec } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const model = scripted([text("It was paid back on Monday.")])

const troupe = await start({ agents: [shop], model })
for await (const part of troupe.stream({ agent: "shop", text: "Where is my money?" })) {
  if (part.type === "text") console.log(part.text)
  if (part.type === "event" && part.event._tag === "ApprovalRequested") console.log("it asks")
  if (part.type === "end") console.log(part.answer.status)
}
await troupe.stop()

// Output:
// It was paid back on Monday.
// complete
