import { assert, layer as suite } from "@effect/vitest"
import { Effect } from "effect"
import { TaskStore } from "../../services/TaskStore.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { ask, layer } from "./Service.ts"

suite(layer, { excludeTestServices: true })("work of an agent that no process hosts", (it) => {
  it.effect("is listed for the staff of its tenant only", () =>
    Effect.gen(function* () {
      const address = { agent: AgentName.make("absent"), key: ConversationId.make("c") }
      const { task } = yield* TaskStore.use((tasks) => tasks.accept(Samples.newTask({ address })))
      const { created_at: oldest_at, tenant } = task
      const shown = yield* ask("/v1/unhosted", { as: "vera" })
      assert.deepStrictEqual(shown.json, {
        items: [{ tenant, agent: "absent", count: 1, oldest_at }]
      })
      const other = yield* ask("/v1/unhosted", { as: "otto" })
      assert.deepStrictEqual(other.json, { items: [] })
      assert.strictEqual((yield* ask("/v1/unhosted", { as: "carl" })).status, 403)
      assert.strictEqual((yield* ask("/v1/unhosted")).status, 401)
    })
  )
})
