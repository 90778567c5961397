/**
 * A process in which a backend acts for somebody. Arguments: its store, as JSON, and the act: `ask` sends a message whose run waits
 * for a person, `decide` decides about it. Prints a line once that is durable, and stays.
 */
import { start } from "../../layers/compose/entries/Embed.ts"
import { anna, carl, options } from "./ActedShop.ts"

const [, , given = "", act] = process.argv
const store = JSON.parse(given) as { readonly directory: string }
const troupe = await start({ ...options, store })
if (act === "ask") await troupe.ask({ agent: "shop", text: "Pay it back" }, carl)
else
  for (const { id } of await troupe.pending(anna))
    await troupe.decide(id, { decision: "approve" }, anna)
process.stdout.write(`did ${act}\n`)
setInterval(() => {}, 1_000)
