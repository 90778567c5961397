import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

// A stand-in for the platform: it prints what it is asked, and answers.
const server = createServer((request, response) => {
  request.on("data", (body: Buffer) => console.log(request.method, request.url, body.toString()))
  response.setHeader("content-type", "application/json").end('{"revision":{"id":"r8"}}')
})
server.listen(0, "127.0.0.1")
await once(server, "listening")
const { port } = server.address() as AddressInfo

const keeper = AgentSpec.make({
  name: "keeper",
  instructions: "Keep the workflow as its owner wants it.",
  tools: ["commit_revision"]
})
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const change = { workflow_revision: { message: "colder", data: { temperature: 0.2 } } }
const model = scripted([call("commit_revision", change), text("Revision r8 is colder.")])

const troupe = await start({
  agents: [keeper],
  model,
  toolConfigs: {
    tools: [{ type: "platform", op: "commit_revision" }],
    callback: {
      endpoint: `http://127.0.0.1:${port}/api/tools/call`,
      authorization: ({ run }) => `ApiKey of ${run}`
    },
    identity: { workflow: { variant: { id: "variant-7" } } },
    context: () => ({ workflow: { latest_revision_id: "r7" } })
  }
})
const { run, status } = await troupe.ask({ agent: "keeper", text: "Make it colder." })
console.log(status)
for (const { id } of await troupe.pending(boss)) {
  await troupe.decide(id, { _tag: "Approve" }, boss)
}
console.log((await troupe.result(run)).text)
await troupe.stop()
server.close()

// Output:
// awaiting_approval
// POST /api/workflows/revisions/commit {"workflow_revision":{"message":"colder","data":{"temperature":0.2},"workflow_variant_id":"variant-7","expected_revision_id":"r7"}}
// Revision r8 is colder.
