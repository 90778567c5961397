/** A message that could not be delivered, for tests of routes. */
import { Effect } from "effect"
import { Outbox } from "../../services/Outbox.ts"
import { MessageId, Tenant } from "../../src/value/Ids.ts"

export const letter = MessageId.make("22222222-2222-4222-8222-222222222222")

export const deadLetter = Effect.gen(function* () {
  const outbox = yield* Outbox
  yield* outbox.enqueue([
    {
      id: letter,
      tenant: Tenant.make("acme"),
      key: "order-7",
      topic: "webhook.deliver",
      payload: { order: 7 }
    }
  ])
  yield* outbox.claim({ owner: "t", topics: ["webhook.deliver"], limit: 1, lease_ms: 10_000 })
  yield* outbox.failed(letter, "t", "refused by the receiver", undefined)
})
