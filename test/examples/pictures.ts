import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64"
)
const chart = tool(
  { namespace: "shop", name: "chart", description: "Draws the sales.", side_effects: "read" },
  async (_, call) => {
    await call.attach({ type: "image", media_type: "image/png", data: png, name: "sales.png" })
    return "the chart is attached"
  }
)
const shop = AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["chart"] })
const model = scripted(({ files, step }) =>
  step === 1 ? call("chart") : text(`I see ${files?.size} picture`)
)

const troupe = await start({ agents: [shop], tools: [chart], model })
const answer = await troupe.ask({
  agent: "shop",
  text: "Is this the receipt?",
  parts: [{ type: "image", media_type: "image/png", data: png, name: "receipt.png" }]
})
console.log(answer.text)
await troupe.stop()

// Output:
// I see 1 picture
