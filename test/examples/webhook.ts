import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Effect } from "effect"
import { MessageId, Tenant } from "troupe"
import { Troupe, WebhookDelivery } from "troupe/layers"
import { Outbox } from "troupe/services"
import { scripted } from "troupe/testing"

// The receiver: yours is an https address.
const received = new Map<string, unknown>()
const receiver = createServer(async (request, response) => {
  const event = JSON.parse(await text(request)) as { readonly id: string; readonly data: unknown }
  // Delivered at least once: an id that was seen before is the same event.
  received.set(event.id, event.data)
  response.end()
}).listen(0, "127.0.0.1")
await once(receiver, "listening")
const { port } = receiver.address() as AddressInfo

const webhook = WebhookDelivery.handlers.pipe(
  Effect.provideService(WebhookDelivery.WebhookConfig, {
    url: `http://127.0.0.1:${port}`,
    // Only public addresses are reached otherwise.
    allow_ranges: ["127.0.0.0/8"]
  })
)
const app = Troupe.layer({ agents: [], model: scripted([]), deliveries: [webhook] })

const enqueue = Effect.gen(function* () {
  const outbox = yield* Outbox
  yield* outbox.enqueue([
    {
      id: MessageId.make("8a4f1c52-0c6e-4a0e-9d0a-0d3f5a7b9c11"),
      tenant: Tenant.make("default"),
      // Events of one key are delivered in order.
      key: "order-1003",
      topic: "webhook.deliver",
      payload: { type: "order.paid", subject: "1003", data: { total: "310.25" } }
    }
  ])
  yield* Effect.promise(() => once(receiver, "request"))
})

// Leaving the scope of `app` waits for deliveries in flight.
await Effect.runPromise(Effect.provide(enqueue, app))
console.log([...received.values()])
receiver.close()

// Output:
// [ { total: '310.25' } ]
