/** A message with a schema of answers, over HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, layer } from "./Service.ts"

const answer_schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false
}

describe("a message with a schema of answers", () => {
  it.live("begins a run that is bound to it", () =>
    Effect.gen(function* () {
      const json = { agent: "operations", text: "Where?", answer_schema }
      const sent = yield* ask("/v1/messages", { as: "olga", json })
      assert.strictEqual(sent.status, 202, sent.text)
      const journal = yield* ask(`/v1/runs/${sent.json.run_id}/events`, { as: "vera" })
      assert.deepStrictEqual(journal.json.items[0].event.answer_schema, answer_schema)
    }).pipe(Effect.provide(layer))
  )

  it.live("is not a customer's to write: it stands in the instructions", () =>
    Effect.gen(function* () {
      const json = { agent: "spectral", text: "Where?", answer_schema }
      const sent = yield* ask("/v1/messages", { as: "carl", json })
      assert.strictEqual(sent.status, 403, sent.text)
      const without = yield* ask("/v1/messages", {
        as: "carl",
        json: { agent: "spectral", text: "Where?" }
      })
      assert.strictEqual(without.status, 202, without.text)
    }).pipe(Effect.provide(layer))
  )

  it.live("is refused where it is of no object, endless, too large or too deep", () =>
    Effect.gen(function* () {
      let deep: object = {}
      for (let i = 0; i < 100; i++) deep = { not: deep }
      for (const wrong of [
        {},
        { type: "string" },
        {
          type: "object",
          $defs: { a: { $ref: "#/$defs/a" } },
          properties: { a: { $ref: "#/$defs/a" } }
        },
        { type: "object", description: "x".repeat(70_000) },
        { type: "object", properties: { a: deep } },
        "object",
        null,
        []
      ]) {
        const json = { agent: "operations", text: "Where?", answer_schema: wrong }
        const sent = yield* ask("/v1/messages", { as: "olga", json })
        assert.strictEqual(sent.status, 400, sent.text)
      }
    }).pipe(Effect.provide(layer))
  )
})
