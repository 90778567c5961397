/**
 * A process whose run, of a message with a trace, waits for a person. Arguments: its store and the message, as JSON, and the
 * collector. Prints the run and the question, and stays.
 */
import { start } from "../../layers/compose/entries/Embed.ts"
import { options } from "./TracedShop.ts"

const [, , store = "", message = "", endpoint = ""] = process.argv
const troupe = await start({ ...options(endpoint), store: JSON.parse(store) })
const asked = await troupe.ask(JSON.parse(message))
const question = asked.status === "awaiting_approval" ? asked.approvals[0]?.id : undefined
process.stdout.write(`waiting ${JSON.stringify({ run: asked.run, question })}\n`)
setInterval(() => {}, 1_000)
