/** Dead letters over HTTP: listed, shown, replayed and discarded. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { deadLetter, letter } from "./DeadLetter.ts"
import { ask, layer } from "./Service.ts"

describe("dead letters", () => {
  it.live("are listed, shown, and replayed once, with who replayed it and why", () =>
    Effect.gen(function* () {
      yield* deadLetter
      const list = yield* ask("/v1/dead-letters?handler_name=webhook.deliver", { as: "vera" })
      assert.strictEqual(list.json.items.length, 1)
      const none = yield* ask("/v1/dead-letters?handler_name=other", { as: "vera" })
      assert.deepStrictEqual(none.json.items, [])
      const one = yield* ask(`/v1/dead-letters/${letter}`, { as: "vera" })
      assert.strictEqual(one.json.failures[0].error, "refused by the receiver")
      assert.strictEqual(
        (yield* ask(`/v1/dead-letters/${letter}/replay`, { as: "olga", json: { reason: "" } }))
          .status,
        400
      )
      const json = { reason: "the receiver is back" }
      const path = `/v1/dead-letters/${letter}/replay`
      assert.strictEqual((yield* ask(path, { as: "olga", json })).status, 204)
      const again = yield* ask(path, { as: "olga", json })
      assert.strictEqual(again.status, 409)
      assert.strictEqual(again.json.type, "urn:troupe:problem:dead-letter-resolved")
      const after = yield* ask(`/v1/dead-letters/${letter}`, { as: "vera" })
      assert.strictEqual(after.json.status, "replayed")
      assert.strictEqual(after.json.resolved_by, "olga")
      assert.strictEqual(after.json.resolved_reason, "the receiver is back")
    }).pipe(Effect.provide(layer))
  )

  it.live("are given up, with who gave it up and why", () =>
    Effect.gen(function* () {
      yield* deadLetter
      const path = `/v1/dead-letters/${letter}/discard`
      assert.strictEqual((yield* ask(path, { as: "olga", json: { reason: "stale" } })).status, 204)
      const after = yield* ask(`/v1/dead-letters/${letter}`, { as: "vera" })
      assert.strictEqual(after.json.status, "discarded")
      assert.strictEqual(after.json.resolved_reason, "stale")
    }).pipe(Effect.provide(layer))
  )
})
