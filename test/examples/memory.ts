/** An agent that remembers for its workspace: another conversation is told what this one noted. */
import { Effect, Schema } from "effect"
import { AgentSpec, MemorySpec, originOfCall, tool } from "troupe"
import { start } from "troupe/embed"
import { AgentMemory } from "troupe/services/AgentMemory"
import type { ModelRequest } from "troupe/services/ModelGateway"
import { call, scripted, text } from "troupe/testing"

const remember = tool(
  {
    namespace: "shop",
    name: "remember",
    side_effects: "write",
    permission: "allow",
    input: Schema.Struct({ text: Schema.String }),
    output: Schema.String,
    dependencies: [AgentMemory]
  },
  ({ text }, call) =>
    AgentMemory.use((memory) =>
      memory.remember({ text, tier: "persistent" }, originOfCall(call, "model"))
    ).pipe(
      Effect.map(({ isNew }) => (isNew ? "noted" : "known")),
      Effect.catchTag("MemoryRefused", ({ reason }) => Effect.succeed(`refused: ${reason}`)),
      Effect.orDie
    )
)
const shop = AgentSpec.make({
  name: "shop",
  instructions: "You serve the shop.",
  tools: ["remember"],
  memory: MemorySpec.make({ anchor: "workspace", recall_tokens_max: 500 })
})

/** Says what it was told of memory; notes a message that begins with "Note:". */
const model = scripted(({ history, transcript }: ModelRequest) => {
  const [first] = transcript
  const message = first?.role === "user" ? first.text : ""
  if (message.startsWith("Note: ") && transcript.length === 1) {
    return call("remember", { text: message.slice("Note: ".length) })
  }
  const told = history.findLast(({ role }) => role === "user")
  const [, line = "nothing"] = told?.role === "user" ? told.text.split("] ") : []
  return text(message.startsWith("Note: ") ? "ok" : `I remember: ${line}`)
})

const troupe = await start({ agents: [shop], tools: [remember], model })
const ask = (conversation: string, message: string) =>
  troupe.ask({ agent: "shop", conversation, text: message })

console.log((await ask("c-1", "Note: Olga prefers tea")).text)
console.log((await ask("c-2", "What does Olga prefer?")).text)
await troupe.stop()
