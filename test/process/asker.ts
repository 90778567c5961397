/**
 * A process whose run waits for the client of its conversation. Argument: its store, as JSON. Prints the run, the
 * conversation and the call once they are durable, and stays.
 */
import { call, layer } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { toolConfigs, waiter } from "./ClientShop.ts"

const store = JSON.parse(process.argv[2] ?? "") as { readonly directory: string }
const troupe = await start({
  agents: [waiter],
  store,
  toolConfigs,
  model: layer(() => call("pick", { of: 7 }))
})
const { conversation, run } = await troupe.ask({ agent: "waiter", text: "Pick." })
const [waiting] = await troupe.clientCalls(conversation)
process.stdout.write(`waiting ${JSON.stringify({ run, conversation, id: waiting?.id })}\n`)
setInterval(() => {}, 1_000)
