/** The context of a run, over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, layer } from "./Service.ts"

const context = { customer: 7, email: "olga@example.com", api_key: "sk-live-123", plan: ["gold"] }

describe("the context of a message", () => {
  it.live("is shown without secrets and personal data", () =>
    Effect.gen(function* () {
      const sent = yield* ask("/v1/messages", {
        as: "olga",
        json: { agent: "operations", text: "Hello", context }
      })
      assert.strictEqual(sent.status, 202, sent.text)
      const journal = yield* ask(`/v1/runs/${sent.json.run_id}/events`, { as: "vera" })
      assert.deepStrictEqual(journal.json.items[0].event.context, {
        customer: 7,
        email: "[e-mail]",
        api_key: "[redacted]",
        plan: ["gold"]
      })
    }).pipe(Effect.provide(layer))
  )

  it.live("is not a customer's to say: tools trust it", () =>
    Effect.gen(function* () {
      const json = { agent: "spectral", text: "Hello", context }
      const sent = yield* ask("/v1/messages", { as: "carl", json })
      assert.strictEqual(sent.status, 403, sent.text)
    }).pipe(Effect.provide(layer))
  )

  it.live("is refused where it is no object, or too large", () =>
    Effect.gen(function* () {
      for (const wrong of [7, "text", null, [], { a: "x".repeat(17_000) }]) {
        const json = { agent: "operations", text: "Hello", context: wrong }
        const sent = yield* ask("/v1/messages", { as: "olga", json })
        assert.strictEqual(sent.status, 400, sent.text)
      }
    }).pipe(Effect.provide(layer))
  )
})
