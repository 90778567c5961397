import { AgentSpec, Principal, RunLimits, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import * as z from "zod"

const weather = tool(
  {
    namespace: "travel",
    name: "weather",
    description: "Says how the weather is.",
    side_effects: "read",
    input: z.object({ city: z.string() })
  },
  async ({ city }) => ({ city, celsius: 21 })
)
const book = tool(
  {
    namespace: "travel",
    name: "book",
    description: "Books a train.",
    side_effects: "external",
    input: z.object({ city: z.string(), price: z.number() }),
    permission: ({ price }) => (price > 50 ? "ask" : "allow")
  },
  async ({ city }) => `a seat to ${city}`
)
const travel = AgentSpec.make({
  name: "travel",
  instructions: "Plan journeys.",
  tools: ["weather", "book"],
  limits: RunLimits.make({ steps_max: 20 })
})
// A live one: anthropic("claude-sonnet-4-5"), as you have it.
const model = scripted([
  call("weather", { city: "Vienna" }),
  call("book", { city: "Vienna", price: 80 }),
  text("You go to Vienna, where it is 21 degrees.")
])
const troupe = await start({ agents: [travel], tools: [weather, book], model })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator"] })

// `agent.stream({ messages })`: the conversation has the messages, so the client sends its new one alone.
const message = { agent: "travel", conversation: "trip-1", text: "Take me where it is warm" }
for await (const part of troupe.stream(message, olga)) {
  if (part.type === "text") console.log(part.text)
  // `tool-approval-request`: no second call with a response, the same stream goes on.
  if (part.type === "event" && part.event._tag === "ApprovalRequested") {
    console.log(part.event.payload.tool_name, part.event.payload.args_summary)
    await troupe.decide(part.event.approval, { decision: "approve" }, olga)
  }
  if (part.type === "end") console.log(part.answer.status)
}
await troupe.stop()

// Output:
// book city: "Vienna", price: 80
// You go to Vienna, where it is 21 degrees.
// complete
