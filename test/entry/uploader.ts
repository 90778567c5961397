/**
 * A process that stores three files and waits to be killed: one that a message has, one that was uploaded and not sent, and one of a
 * message that was refused after its file was stored. Prints a line when it has.
 */
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { service_principal } from "../../layers/compose/promises/ServicePrincipal.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { fileOf } from "./Uploads.ts"

const [directory = ""] = process.argv.slice(2)
const token = "a-token-of-the-uploader"
const troupe = await start({
  agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
  model: layer(() => text("done")),
  store: { directory },
  http: { tokens: [{ token, principal: service_principal }] }
})
const message = { agent: "shop", text: "look", idempotency_key: "k" }
await troupe.ask({ ...message, parts: [fileOf("sent")] })
const uploaded = await troupe.handler(
  new Request("http://localhost/v1/files", {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "image/png" },
    body: new Uint8Array(fileOf("unsent").data)
  })
)
if (uploaded.status !== 201) throw new Error(await uploaded.text())
const refused = await troupe.send({ ...message, parts: [fileOf("refused")] }).then(
  () => "accepted",
  (error: { readonly _tag: string }) => error._tag
)
process.stdout.write(`${refused}\n`)
// A pending promise does not keep a process alive, and a timer does.
setInterval(() => {}, 60_000)
