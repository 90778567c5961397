/** An agent that remembers for its workspace and corrects what it remembers: another conversation is told what is true now. */
import { AgentSpec, MemorySpec } from "troupe"
import { start } from "troupe/embed"
import type { ModelRequest } from "troupe/services/ModelGateway"
import { call, scripted, text } from "troupe/testing"

const toolConfigs = {
  tools: [
    { type: "builtin", name: "recall" },
    // Without a permission each write asks a person.
    { type: "builtin", name: "remember", permission: "allow" },
    { type: "builtin", name: "correct", permission: "allow" }
  ]
} as const
const shop = AgentSpec.make({
  name: "shop",
  instructions: "You serve the shop.",
  tools: ["recall", "remember", "correct"],
  memory: MemorySpec.make({ anchor: "workspace", recall_tokens_max: 500 })
})

/** Notes a message that begins with "Note:", corrects with one that begins with "No:", and says what it was told of memory. */
const model = scripted(({ history, transcript }: ModelRequest) => {
  const [first] = transcript
  const [, kind, said = ""] = (first?.role === "user" && /^(Note|No): (.*)/.exec(first.text)) || []
  const last = transcript.at(-1)
  const result: unknown =
    last?.role === "tool" && last.outcome._tag === "Value" ? JSON.parse(last.outcome.json) : null
  if (kind === "Note" && result === null) return call("remember", { text: said })
  if (kind === "No" && result === null) return call("recall", { query: said })
  if (Array.isArray(result)) {
    const [{ id, text: was }] = result
    return call("correct", { id, was, text: said, reason: "They said so." })
  }
  const told = history.findLast(({ role }) => role === "user")
  const [, line = "nothing"] = told?.role === "user" ? told.text.split("] ") : []
  return text(kind === undefined ? `I remember: ${line}` : "ok")
})

const troupe = await start({ agents: [shop], toolConfigs, model })
const ask = (conversation: string, message: string) =>
  troupe.ask({ agent: "shop", conversation, text: message })

console.log((await ask("c-1", "Note: Olga prefers tea")).text)
console.log((await ask("c-2", "What does Olga prefer?")).text)
console.log((await ask("c-3", "No: Olga prefers coffee")).text)
console.log((await ask("c-4", "What does Olga prefer?")).text)
await troupe.stop()

// Output:
// ok
// I remember: Olga prefers tea
// ok
// I remember: Olga prefers coffee
