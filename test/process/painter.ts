/**
 * A process whose run has attached a file for its customer and waits for a person. Argument: its store, as JSON. Prints the run and
 * the conversation once the question is durable, and stays.
 */
import { call, layer } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as PaintedShop from "./PaintedShop.ts"

const store = JSON.parse(process.argv[2] ?? "") as { readonly directory: string }
const turns = [call("bill"), call("refund", { amount: 5 })]
const troupe = await start({ ...PaintedShop.options, store, model: layer(() => turns.shift()) })
const { conversation, run } = await troupe.ask(
  { agent: "desk", text: "Pay me back." },
  PaintedShop.carl
)
process.stdout.write(`waiting ${JSON.stringify({ run, conversation })}\n`)
setInterval(() => {}, 1_000)
