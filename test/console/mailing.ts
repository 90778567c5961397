/**
 * A process that serves the console over its store, with letters that were refused for good and are taken once they are sent again.
 * Arguments: the store's directory, the port, 0 = any, and then as many letters are written. Prints its address once it serves, and
 * stays.
 */
import { Effect, Layer } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { feature } from "../../layers/compose/entries/Features.ts"
import { scripted } from "../../layers/compose/entries/Testing.ts"
import { DeliveryRefused } from "../../services/DeliveryHandlers.ts"
import { Outbox } from "../../services/Outbox.ts"
import { Principal } from "../../src/principal/Principal.ts"
import { MessageId, Tenant } from "../../src/value/Ids.ts"

const [directory = "", port, token = "", count = "0"] = process.argv.slice(2)

const tenant = Tenant.make("default")
const letters = Array.from({ length: Number(count) }, (_, n) => ({
  id: MessageId.make(`00000000-0000-4000-8000-${String(n).padStart(12, "0")}`),
  tenant,
  key: `order-${n}`,
  topic: "post.deliver",
  payload: { order: n }
}))
const post = feature({
  name: "post",
  deliveries: [
    Effect.succeed([
      [
        "post.deliver",
        ({ replayed }) =>
          replayed ? Effect.void : Effect.fail(new DeliveryRefused({ message: "refused" }))
      ]
    ])
  ],
  layer: Layer.effectDiscard(
    Outbox.use((outbox) => outbox.enqueue(port === "0" ? letters : [])).pipe(Effect.orDie)
  )
})
const principal = new Principal({ id: "olga", tenant, roles: ["operator"] })

const { url } = await start({
  agents: [],
  store: { directory },
  model: scripted([]),
  features: [post],
  http: { port: Number(port), console: true, tokens: [{ token, principal }] }
})
process.stdout.write(`serving ${url}\n`)
