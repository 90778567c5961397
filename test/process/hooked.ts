/**
 * A process that has made a webhook and ended three runs. Arguments: its store as JSON, and the URL of the webhook. Prints the
 * webhook and the runs, and stays.
 */
import { start } from "../../layers/compose/entries/Embed.ts"
import { ada, options } from "./HookedShop.ts"

const store = JSON.parse(process.argv[2] ?? "") as { readonly directory: string }
const troupe = await start({ ...options, store })
const webhook = await troupe.createWebhook({ url: process.argv[3] ?? "" }, ada)
const runs: Array<string> = []
for (let n = 0; n < 3; n++) runs.push((await troupe.ask({ agent: "clerk", text: "hi" }, ada)).run)
process.stdout.write(`open ${JSON.stringify({ ...webhook, runs })}\n`)
setInterval(() => {}, 1_000)
