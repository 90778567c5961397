import { Role } from "@a2a-js/sdk"
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory
} from "@a2a-js/sdk/client"
import { Schema } from "effect"
import { agent, Principal, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    description: "Pays an order back.",
    input: Schema.Struct({ order: Schema.String }),
    side_effects: "external"
  },
  () => "paid back"
)
const shop = agent({ name: "shop", instructions: "Help customers.", tools: ["refund"] })
const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
const token = "91b3c07d5e2f48a6b0d4c8e1f2a6c3d7"
const troupe = await start({
  agents: [shop],
  tools: [refund],
  model: scripted([call("refund", { order: "1003" }), text("It is paid back.")]),
  http: { port: 0, tokens: [{ token, principal: olga }], settings: { wires: ["a2a"] } }
})

// The token is sent for the card too. The URL of the agent ends in a slash.
const fetchImpl: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers)
  headers.set("authorization", `Bearer ${token}`)
  return fetch(input, { ...init, headers })
}
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    transports: [new JsonRpcTransportFactory({ fetchImpl })]
  })
)
const client = await factory.createFromUrl(`${troupe.url}/wires/a2a/shop/`)

const none = { metadata: undefined, filename: "", mediaType: "" }
const send = async (
  content: { $case: "text"; value: string } | { $case: "data"; value: object }
) => {
  const task = await client.sendMessage({
    tenant: "",
    metadata: undefined,
    configuration: undefined,
    message: {
      messageId: crypto.randomUUID(),
      role: Role.ROLE_USER,
      parts: [{ ...none, content }],
      taskId: asking?.id ?? "",
      contextId: asking?.contextId ?? "",
      metadata: undefined,
      extensions: [],
      referenceTaskIds: []
    }
  })
  return "status" in task ? task : undefined
}
let asking: Awaited<ReturnType<typeof send>>
asking = await send({ $case: "text", value: "Pay order 1003 back, please." })
// A task that waits for people says what they are asked, in words and as data. The answer is data with the same approval.
const [words, question] = asking?.status?.message?.parts ?? []
console.log(words?.content?.value)
const { approval } = question?.content?.value ?? {}
const done = await send({ $case: "data", value: { approval, decision: "approve" } })
console.log(done?.artifacts[0]?.parts[0]?.content?.value)
await troupe.stop()

// Output:
// Pays an order back: order: "1003"
// It is paid back.
