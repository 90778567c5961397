/**
 * A process whose conversation was handed over, with a call of the next agent that waits for a person. Argument: its store, as
 * JSON. Prints the run and the conversation once the question is durable, and stays.
 */
import { call, layer } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as HandedShop from "./HandedShop.ts"

const store = JSON.parse(process.argv[2] ?? "") as { readonly directory: string }
const turns = [call("transfer_to_billing"), call("refund", { amount: 5 })]
const troupe = await start({ ...HandedShop.options, store, model: layer(() => turns.shift()) })
const { conversation, run } = await troupe.ask({
  agent: HandedShop.triage,
  text: "Pay me back.",
  context: HandedShop.context
})
process.stdout.write(`waiting ${JSON.stringify({ run, conversation })}\n`)
setInterval(() => {}, 1_000)
