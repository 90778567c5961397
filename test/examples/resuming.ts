import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const carl = new Principal({ id: "carl", tenant: "default", roles: ["customer"] })
const model = scripted([text("It was paid back on Monday.")], { piece_units: 7, piece_delay_ms: 5 })
const troupe = await start({ agents: [shop], model, customer_agents: ["shop"] })

// A client reads the run and the cursor of each part, and is gone after the first words.
let run = ""
let cursor = ""
let said = ""
for await (const part of troupe.stream({ agent: "shop", text: "Where is my money?" }, carl)) {
  if (part.type === "begun") run = part.run
  if (part.type !== "end") cursor = part.cursor
  if (part.type !== "text") continue
  said += part.text
  break
}

// It comes back, perhaps to another process: nothing is missing, and nothing comes twice.
for await (const part of troupe.stream({ run, after: cursor }, carl)) {
  if (part.type === "text") said += part.text
  if (part.type === "end") console.log(said, "|", part.answer.status)
}
await troupe.stop()

// Output:
// It was paid back on Monday. | complete
