/**
 * A process with an embedded database that answers twenty messages and then rests. Arguments: its directory, and how many
 * bytes of resident memory it may have. Prints what it has, in bytes, as soon as that is less, and after 90 s in any case.
 */
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"

const [directory = "", most = "0"] = process.argv.slice(2)
const troupe = await start({
  agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
  store: { directory },
  model: layer(() => text("done"))
})
for (let n = 0; n < 20; n++) await troupe.ask({ agent: "shop", text: "Hello" })

const seconds_max = 90
// V8 compiles the engine's WebAssembly a second time meanwhile, and gives back what that took.
for (let second = 0; second < seconds_max; second++) {
  await new Promise((wait) => setTimeout(wait, 1_000))
  if (second >= 20 && process.memoryUsage.rss() < Number(most)) break
}
process.stdout.write(`${process.memoryUsage.rss()}\n`)
await troupe.stop()
