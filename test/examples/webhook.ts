import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { text } from "node:stream/consumers"
import { Effect } from "effect"
import { Webhook } from "standardwebhooks"
import { AgentSpec, MessageId, Principal, Tenant } from "troupe"
import { Troupe, WebhookDelivery } from "troupe/layers"
import { Outbox } from "troupe/services"
import * as Testing from "troupe/testing"

const shop = AgentSpec.make({ name: "shop", instructions: "Help customers." })
const ada = new Principal({ id: "ada", tenant: "default", roles: ["admin"] })

// The receiver: yours is an https address.
let secret = ""
const received = new Map<string, unknown>()
const both = Promise.withResolvers<void>()
const receiver = createServer(async (request, response) => {
  const body = await text(request)
  const { headers, url } = request
  const event = (
    url === "/runs"
      ? new Webhook(secret).verify(body, headers as Record<string, string>)
      : JSON.parse(body)
  ) as { readonly id: string; readonly type: string; readonly data: Record<string, unknown> }
  // Delivered at least once: an id that was seen before is the same event.
  received.set(event.id, [event.type, event.data["status"] ?? event.data["total"]])
  if (received.size === 2) both.resolve()
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
const app = Troupe.layer({
  agents: [shop],
  model: Testing.scripted([Testing.text("Good morning.")]),
  deliveries: [webhook],
  webhooks: { allow_ranges: ["127.0.0.0/8"], http: true }
})

const subscribe = Effect.gen(function* () {
  const troupe = yield* Troupe
  const made = yield* troupe.createWebhook(
    { url: `http://127.0.0.1:${port}/runs`, types: ["run.*"], filter: { agents: ["shop"] } },
    ada
  )
  // No other answer shows it: the receiver verifies with it.
  secret = made.secret
  yield* troupe.ask({ agent: "shop", text: "Hello" })
})

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
  yield* Effect.promise(() => both.promise)
})

// Leaving the scope of `app` waits for deliveries in flight.
await Effect.runPromise(Effect.provide(Effect.andThen(subscribe, enqueue), app))
console.log([...received.values()].toSorted())
receiver.close()

// Output:
// [ [ 'order.paid', '310.25' ], [ 'run.complete', 'complete' ] ]
