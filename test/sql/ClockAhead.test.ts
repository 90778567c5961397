/** What a process sends whose clock is ahead is taken at once by one whose clock is right. */
import { assert } from "@effect/vitest"
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Outbox } from "../../services/Outbox.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { skewed } from "../process/SkewedClock.ts"
import { onEngines } from "./Engines.ts"

/** As a process does it whose clock is ten minutes ahead. */
const ahead = Effect.updateService(
  Clock.Clock,
  skewed(() => 600_000)
)

onEngines("a clock that is ahead", (it) => {
  it.effect("delays no message", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const topic = Samples.unique("topic")
      const message = Samples.outboxMessage({ topic })
      yield* ahead(outbox.enqueue([message]))
      const claim = { owner: "relay", topics: [topic], limit: 1, lease_ms: 1_000 }
      const claimed = yield* outbox.claim(claim)
      assert.deepStrictEqual(
        claimed.map(({ id }) => id),
        [message.id]
      )
    })
  )

  it.effect("delays no task", () =>
    Effect.gen(function* () {
      const agent = AgentName.make(Samples.unique("agent"))
      const request = Samples.newTask({ address: { agent, key: ConversationId.make("k") } })
      const { task } = yield* ahead(TaskStore.use((tasks) => tasks.accept(request)))
      const claim = {
        owner: "relay",
        topics: ["agent.task.dispatched"],
        agents: [agent],
        limit: 500,
        lease_ms: 1_000
      }
      const claimed = yield* Outbox.use((outbox) => outbox.claim(claim))
      assert.include(
        claimed.map(({ payload }) => JSON.stringify(payload)),
        JSON.stringify({ task_id: task.id })
      )
    })
  )

  it.effect("delays no message that it gives back", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const topic = Samples.unique("topic")
      yield* outbox.enqueue([Samples.outboxMessage({ topic })])
      const claim = { owner: "leaving", topics: [topic], limit: 1, lease_ms: 1_000 }
      assert.lengthOf(yield* ahead(outbox.claim(claim)), 1)
      yield* ahead(outbox.release(["leaving"]))
      assert.lengthOf(yield* outbox.claim({ ...claim, owner: "relay" }), 1)
    })
  )

  it.effect("delays no message that the database writes for it", () =>
    Effect.gen(function* () {
      const outbox = yield* Outbox
      const sql = yield* SqlClient.SqlClient
      const topic = Samples.unique("topic")
      const at = (yield* Clock.currentTimeMillis) + 600_000
      yield* sql`SELECT troupe.announce(${Samples.tenant()}::text, ${topic}::text, ${topic}::text, '{}', ${at}::int8)`
      const claim = { owner: "relay", topics: [topic], limit: 1, lease_ms: 1_000 }
      assert.lengthOf(yield* outbox.claim(claim), 1)
    })
  )

  it.effect("delays no call of a tool, also one that is sent again, given back or replayed", () =>
    Effect.gen(function* () {
      const queue = yield* ToolQueue
      const tool = Samples.unique("shop.refund@")
      const sent = {
        id: Samples.unique("call"),
        tool,
        tenant: Samples.tenant(),
        expires_at: 4_000_000_000_000,
        payload: { name: "refund" }
      }
      const claim = { owner: "worker", tools: [tool], limit: 1, lease_ms: 1_000 }
      yield* ahead(queue.send(sent))
      assert.lengthOf(yield* queue.claim(claim), 1)
      yield* queue.failed(sent.id, "worker", "broke", undefined)
      yield* ahead(queue.send(sent))
      assert.lengthOf(yield* queue.claim({ ...claim, owner: "other" }), 1)
      yield* ahead(queue.release(["other"]))
      assert.lengthOf(yield* queue.claim({ ...claim, owner: "third" }), 1)
      yield* queue.failed(sent.id, "third", "broke", undefined)
      assert.isTrue(yield* ahead(queue.replay(sent.id, sent.expires_at)))
      assert.lengthOf(yield* queue.claim({ ...claim, owner: "fourth" }), 1)
    })
  )
})
