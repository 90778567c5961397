/**
 * A process whose run waits for a person to decide about an answer, or for a guard. Arguments: its store, as JSON, and the guard's
 * name. Prints the run, and the question once it is durable, and stays.
 */
import { call, layer } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { clerk, doubts, payOf, silent } from "./GuardedShop.ts"

const store = JSON.parse(process.argv[2] ?? "") as { readonly directory: string }
const troupe = await start({
  agents: [clerk],
  store,
  tools: [payOf({ times: 0 })],
  guards: [process.argv[3] === "silent" ? silent : doubts],
  model: layer(() => ({ ...call("pay"), text: "a doubtful payment" }))
})
const asked = await troupe.ask({ agent: "clerk", text: "Pay." })
const [question] = asked.status === "awaiting_approval" ? asked.approvals : []
process.stdout.write(`asking ${JSON.stringify({ run: asked.run, id: question?.id })}\n`)
setInterval(() => {}, 1_000)
