/** A message that a nested run leads to, over HTTP: the header `baggage` says how deep it is, and what is left. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ask, layer } from "./Service.ts"

const message = { agent: "operations", text: "Go." }

describe("a message with baggage", () => {
  it.live("AG-46 begins a run at its depth, within what is left of the outer run's tokens", () =>
    Effect.gen(function* () {
      for (const path of ["/v1/messages", "/v1/conversations/nested-one/messages"]) {
        const headers = { baggage: "user=1, troupe.depth=2;p=1, troupe.tokens=900" }
        const { json, status, text } = yield* ask(path, { as: "olga", json: message, headers })
        assert.strictEqual(status, 202, text)
        const nested = { depth: 2, tokens_max: 900 }
        const run = yield* ask(`/v1/runs/${json.run_id}`, { as: "vera" })
        assert.deepStrictEqual(run.json.nested, nested)
        const journal = yield* ask(`/v1/runs/${json.run_id}/events`, { as: "vera" })
        const [{ event }] = journal.json.items
        assert.deepStrictEqual(event.nested, nested)
        assert.strictEqual(event.limits.tokens_max, 900)
      }
      const { json } = yield* ask("/v1/messages", {
        as: "olga",
        json: message,
        headers: { baggage: "user=1" }
      })
      const run = yield* ask(`/v1/runs/${json.run_id}`, { as: "vera" })
      assert.notProperty(run.json, "nested")
    }).pipe(Effect.provide(layer))
  )

  it.live("AG-46 is refused where it is nested too deep, and nothing is accepted", () =>
    Effect.gen(function* () {
      const before = yield* ask("/v1/runs", { as: "vera" })
      for (const as of ["olga", "carl"] as const) {
        const { json, status } = yield* ask("/v1/messages", {
          as,
          json: { ...message, agent: as === "carl" ? "spectral" : "operations" },
          headers: { baggage: "troupe.depth=5" }
        })
        assert.strictEqual(status, 403)
        assert.include(json.type, "nested-too-deep")
        assert.include(json.detail, "nested 5 deep, and its agent takes 4")
      }
      const after = yield* ask("/v1/runs", { as: "vera" })
      assert.lengthOf(after.json.items, before.json.items.length)
    }).pipe(Effect.provide(layer))
  )

  it.live("AG-46 is refused where our members of it are malformed, or it is too long", () =>
    Effect.gen(function* () {
      for (const baggage of [
        "troupe.depth=zero",
        "troupe.depth=0",
        "troupe.tokens=5",
        "troupe.depth",
        "troupe.depth=1,troupe.depth=1",
        `a=${"b".repeat(8_200)}`
      ]) {
        const { status, text } = yield* ask("/v1/messages", {
          as: "olga",
          json: message,
          headers: { baggage }
        })
        assert.strictEqual(status, 400, `${baggage.slice(0, 40)} ${text}`)
      }
    }).pipe(Effect.provide(layer))
  )
})
