/** Erasures over a real socket. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import { ask, layer as service } from "./Service.ts"
import * as Samples from "../contracts/Samples.ts"

const path = "/v1/erasures"

layer(service, { excludeTestServices: true })("/v1/erasures", (it) => {
  it.effect("an admin erases a person of its tenant, when its runs are over", () =>
    Effect.gen(function* () {
      // Nobody here takes the run up.
      const address = { agent: AgentName.make("elsewhere"), key: ConversationId.make("m-1") }
      const canary = "Höhenweg 12"
      const open = yield* Samples.begin({ by: "mona", message: canary, address })
      const refused = yield* ask(path, { as: "admin", json: { subject: "mona" } })
      assert.strictEqual(refused.status, 409)
      assert.strictEqual(refused.json.type, "urn:troupe:problem:subject-is-active")
      assert.include(refused.json.detail, open.run)
      yield* Samples.end(open)
      const foreign = yield* ask(path, { as: "stranger", json: { subject: "mona" } })
      assert.deepStrictEqual(foreign.json.erased, {})
      const { json, status } = yield* ask(path, { as: "admin", json: { subject: "mona" } })
      assert.strictEqual(status, 200)
      assert.deepStrictEqual(json.found, [])
      assert.isAtLeast(json.erased.run_events, 2)
      const run = yield* ask(`/v1/runs/${open.run}/events`, { as: "olga" })
      assert.strictEqual(run.status, 200)
      assert.notInclude(run.text, canary)
      const listed = yield* ask(path, { as: "admin" })
      assert.strictEqual(listed.json.items[0].id, json.id)
      assert.notInclude(listed.text, "mona")
    })
  )
})
