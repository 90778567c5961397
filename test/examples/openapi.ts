import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { Effect } from "effect"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { OpenApiImport } from "troupe/tools"

// A stand-in for the shop: it prints what it is asked, and answers.
const server = createServer((request, response) => {
  const chunks: Array<Buffer> = []
  request.on("data", (chunk: Buffer) => chunks.push(chunk))
  request.on("end", () => {
    console.log(request.method, request.url, Buffer.concat(chunks).toString())
    response.setHeader("content-type", "application/json").end('{"ok":true}')
  })
})
server.listen(0, "127.0.0.1")
await once(server, "listening")
const { port } = server.address() as AddressInfo

const document = `
openapi: 3.0.3
info: { title: Shop, version: "1" }
servers: [{ url: https://shop.example.org/api }]
paths:
  /orders:
    get:
      operationId: findOrders
      summary: Finds orders.
      parameters: [{ name: customer, in: query, schema: { type: string } }]
      responses: { "200": { description: The orders. } }
  /orders/{id}/refund:
    post:
      operationId: refundOrder
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      requestBody:
        required: true
        content:
          application/json:
            schema:
              type: object
              required: [amount]
              properties:
                amount: { type: integer, minimum: 0, exclusiveMinimum: true }
                note: { type: string, nullable: true }
      responses: { "200": { description: It is paid back. } }
`
const clerk = AgentSpec.make({
  name: "clerk",
  instructions: "Pay orders back.",
  tools: ["findOrders", "refund"]
})
const model = scripted([
  call("findOrders", { customer: "Olga" }),
  call("refund", { id: "1003", amount: 20, note: null }),
  text("Order 1003 is paid back.")
])

const operations = await Effect.runPromise(
  OpenApiImport.operations(document, [
    "findOrders",
    { operation: "refundOrder", name: "refund", description: "Pays an order back." }
  ])
)
const troupe = await start({
  agents: [clerk],
  model,
  toolConfigs: {
    tools: operations.map(({ op }) => ({ type: "platform", op })),
    operations,
    callback: { endpoint: `http://127.0.0.1:${port}/api/tools/call` }
  }
})
const boss = new Principal({ id: "boss", tenant: "default", roles: ["approver"] })
const { run, status } = await troupe.ask({ agent: "clerk", text: "Pay Olga back." })
console.log(status)
for (const { id } of await troupe.pending(boss)) {
  await troupe.decide(id, { _tag: "Approve" }, boss)
}
console.log((await troupe.result(run)).text)
await troupe.stop()
server.close()

// Output:
// GET /api/orders?customer=Olga
// awaiting_approval
// POST /api/orders/1003/refund {"amount":20,"note":null}
// Order 1003 is paid back.
