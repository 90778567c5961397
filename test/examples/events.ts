import { setTimeout } from "node:timers/promises"
import { AgentSpec, Principal } from "troupe"
import { start } from "troupe/embed"
import { scripted, text } from "troupe/testing"

const clerk = AgentSpec.make({ name: "clerk", instructions: "Explain." })
const tenant = "default"
const shop = new Principal({ id: "shop", tenant, roles: ["publisher"] })
const olga = new Principal({ id: "olga", tenant, roles: ["operator"] })

const troupe = await start({
  agents: [clerk],
  model: scripted([text("Order 1003 waits for its payment.")]),
  events: {
    agent: "clerk",
    bindings: [{ channel: "in_app", address: "olga", recipient: "olga" }],
    handlers: {
      "order.stuck": ({ data, subject }) => ({
        _tag: "Tell",
        conversation: `order~${subject}`,
        text: `An order is stuck. Say why. The event: ${JSON.stringify(data)}`
      })
    }
  }
})
const event = {
  specversion: "1.0",
  id: "e-1",
  source: "/shop",
  type: "order.stuck",
  subject: "1003",
  time: new Date().toISOString(),
  data: { order_id: "1003", waits_for: "payment" }
} as const
const { conversation, isNew } = await troupe.publish(event, shop)
const again = await troupe.publish(event, shop)
console.log(conversation, isNew, again.isNew)

// The answer is told after it is durable.
let notices = await troupe.notices({ unread: true }, olga)
while (notices.length === 0) {
  await setTimeout(20)
  notices = await troupe.notices({ unread: true }, olga)
}
console.log(notices.map(({ text }) => text))
const ids = notices.map(({ id }) => id)
console.log(await troupe.readNotices(ids, olga))
await troupe.stop()

// Output:
// order~1003 true false
// [ 'Order 1003 waits for its payment.' ]
// { marked: 1 }
