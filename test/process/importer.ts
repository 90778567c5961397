/** A process that is killed while it imports a history. */
import { start } from "../../layers/compose/entries/Embed.ts"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/index.ts"
import * as Histories from "../conversation/Histories.ts"

const troupe = await start({
  agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
  customer_agents: ["shop"],
  model: layer(() => text("Ok.")),
  store: JSON.parse(process.argv[2] ?? "")
})
const olga = { id: "olga", tenant: "default", roles: ["operator"] }
const given = {
  agent: "shop",
  customer: "carl",
  format: "chat-completions",
  messages: Histories.long
} as const
const begun = troupe.importHistory("thread-1", given, olga)
for (;;) {
  const page = await troupe.messages("thread-1", {}, olga).catch(() => [])
  if (page.length > 4) break
}
console.log("importing")
await begun
