/** How a worker runs calls from the queue: execute, publish, acknowledge, at least once. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Layer, References } from "effect"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { Governance } from "../../src/tool/Governance.ts"
import { resultSubject } from "../../src/queue/CallMessage.ts"
import { eventually } from "../contracts/Contract.ts"
import {
  approved,
  callTool,
  resultOf,
  sendCall,
  spiedQueue,
  succeedDone,
  toolNamed,
  untilOver,
  workerLayer
} from "./Workers.ts"

it.live(
  "SM-22 a call is executed, its result published, and the message acknowledged, in this order",
  () => {
    const { layer, log } = spiedQueue()
    const write = toolNamed("write", () => Effect.sync(() => (log.push("body"), "done")), {
      side_effects: "write",
      permission: "allow"
    })
    return Effect.gen(function* () {
      const result = yield* callTool("write")
      assert.deepInclude(result, { content: '"done"', loop_id: "loop", trace_id: "trace" })
      yield* untilOver("write")
      assert.deepStrictEqual(log, ["begin", "body", "publish", "acknowledge"])
    }).pipe(Effect.provide(Layer.provideMerge(workerLayer([write]), layer)))
  }
)

it.live(
  "SM-29 calls of one batch run at the same time, and each result is published under its call's id",
  () =>
    Effect.gen(function* () {
      const both = yield* Deferred.make<void>()
      let arrived = 0
      const meets = toolNamed("meets", (call) => {
        if (++arrived === 2) Deferred.doneUnsafe(both, Effect.void)
        return Effect.as(Deferred.await(both), `for ${call.call}`)
      })
      yield* Effect.gen(function* () {
        const ids = [yield* sendCall("meets"), yield* sendCall("meets")]
        for (const id of ids) {
          assert.deepInclude(yield* resultOf(id), {
            call_id: id,
            content: JSON.stringify(`for ${id}`)
          })
          assert.strictEqual(resultSubject(id), `tool.result.${id}`)
        }
      }).pipe(Effect.provide(Layer.provideMerge(workerLayer([meets]), EphemeralToolQueue.layer)))
    })
)

it.live("a body, and what is asked before it, logs with the call and the subject", () => {
  const seen: Array<unknown> = []
  const logs = (name: string, more: Partial<Governance>) =>
    toolNamed(
      name,
      () =>
        Effect.flatMap(References.CurrentLogAnnotations, (annotations) =>
          Effect.sync(() => (seen.push(annotations), "done"))
        ),
      more
    )
  const write = { side_effects: "write", permission: "allow" } as const
  const again = { retry: { max_attempts: 2 } } as const
  return Effect.gen(function* () {
    const ids = [yield* sendCall("read"), yield* sendCall("again"), yield* sendCall("write")]
    yield* Effect.forEach(ids, resultOf)
    assert.sameDeepMembers(
      seen,
      ["read", "again", "write"].map((name, n) => ({
        call_id: ids[n],
        subject: `tool.execute.t.${name}@1`
      }))
    )
  }).pipe(
    Effect.provide(
      Layer.provideMerge(
        workerLayer([logs("read", {}), logs("again", again), logs("write", write)]),
        EphemeralToolQueue.layer
      )
    )
  )
})

it.live("at most `concurrency` calls of a worker run at the same time", () =>
  Effect.gen(function* () {
    let [now, most] = [0, 0]
    const counts = toolNamed("counts", () =>
      Effect.suspend(() => {
        most = Math.max(most, ++now)
        return Effect.as(Effect.sleep("10 millis"), "done")
      }).pipe(Effect.ensuring(Effect.sync(() => now--)))
    )
    yield* Effect.gen(function* () {
      const ids = yield* Effect.forEach(Array.from({ length: 12 }), () => sendCall("counts"))
      yield* Effect.forEach(ids, resultOf)
      assert.strictEqual(most, 3)
    }).pipe(Effect.provide(Layer.provideMerge(workerLayer([counts]), EphemeralToolQueue.layer)))
  })
)

it.live("tenants take turns at a worker that runs one call at a time", () =>
  Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const order: Array<string> = []
    const turns = toolNamed("turns", ({ call }) => {
      order.push(call)
      return Effect.as(Deferred.await(gate), "done")
    })
    yield* Effect.gen(function* () {
      const sends = (tenant: string) => sendCall("turns", {}, undefined, tenant)
      const a = yield* Effect.replicateEffect(sends("acme"), 5)
      const b = yield* Effect.replicateEffect(sends("beta"), 2)
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach([...a, ...b], resultOf)
      assert.deepStrictEqual(order, [a[0]!, b[0]!, a[1]!, b[1]!, ...a.slice(2)])
    }).pipe(
      Effect.provide(
        Layer.provideMerge(workerLayer([turns], { concurrency: 1 }), EphemeralToolQueue.layer)
      )
    )
  })
)

/** A queue that fails to publish until the worker gives up on its first result, and then takes the call back. */
const faulty = () =>
  spiedQueue((queue) => {
    let isAway = true
    return {
      publish: (id, result) =>
        Effect.suspend(() =>
          isAway ? Effect.fail(new StoreError({ message: "away" })) : queue.publish(id, result)
        ),
      failed: (id, owner, error, at) =>
        Effect.suspend(() => {
          isAway = false
          return queue.failed(id, owner, error, at)
        })
    }
  })

for (const [title, governance, bodies, expected] of [
  ["a read is executed again", {}, 2, { content: '"done"' }],
  [
    "an idempotent write is executed again with the same key",
    { side_effects: "external", permission: "allow", idempotent: true },
    2,
    { content: '"done"' }
  ],
  [
    "a write whose outcome is not known is answered as unknown, and not executed again",
    { side_effects: "external", permission: "allow" },
    1,
    { error_kind: "unknown", metadata: { outcome: "unknown" } }
  ]
] as const) {
  it.live(`SM-30 when its result cannot be published, ${title}`, () => {
    const keys: Array<string | undefined> = []
    const { layer, log } = faulty()
    const runs = toolNamed(
      "runs",
      ({ key }) => Effect.sync(() => (keys.push(key), "done")),
      governance
    )
    return Effect.gen(function* () {
      assert.deepInclude(yield* callTool("runs"), expected)
      yield* untilOver("runs")
      assert.strictEqual(keys.length, bodies)
      assert.strictEqual(new Set(keys).size, 1)
      assert.strictEqual(log.filter((each) => each === "acknowledge").length, 1)
    }).pipe(Effect.provide(Layer.provideMerge(workerLayer([runs]), layer)))
  })
}

it.live("a write whose begin cannot be recorded is not executed, and is delivered again", () => {
  const { layer, log } = spiedQueue((queue) => {
    let faults = 1
    return {
      begin: (id, owner) =>
        Effect.suspend(() =>
          faults-- > 0 ? Effect.fail(new StoreError({ message: "away" })) : queue.begin(id, owner)
        )
    }
  })
  const write = toolNamed("write", () => Effect.sync(() => (log.push("body"), "done")), {
    side_effects: "write",
    permission: "allow"
  })
  return Effect.gen(function* () {
    assert.deepInclude(yield* callTool("write"), { content: '"done"' })
    yield* untilOver("write")
    assert.deepStrictEqual(log, ["begin", "begin", "body", "publish", "acknowledge"])
  }).pipe(Effect.provide(Layer.provideMerge(workerLayer([write]), layer)))
})

it.live("a redelivered call whose result is recorded is answered from the record", () => {
  const { layer, log } = spiedQueue((queue) => {
    let faults = 6
    return {
      acknowledge: (id, owner) =>
        Effect.suspend(() =>
          faults-- > 0
            ? Effect.fail(new StoreError({ message: "away" }))
            : queue.acknowledge(id, owner)
        )
    }
  })
  const once = toolNamed("once", () => Effect.sync(() => (log.push("body"), "done")))
  return Effect.gen(function* () {
    yield* callTool("once")
    yield* untilOver("once")
    assert.strictEqual(log.filter((each) => each === "body").length, 1)
    assert.strictEqual(log.filter((each) => each === "publish").length, 1)
  }).pipe(Effect.provide(Layer.provideMerge(workerLayer([once]), layer)))
})

it.live("a call that runs longer than the lease stays with its worker", () =>
  Effect.gen(function* () {
    let bodies = 0
    const slow = toolNamed("slow", () =>
      Effect.suspend(() => (bodies++, Effect.as(Effect.sleep("1 second"), "done")))
    )
    yield* Effect.gen(function* () {
      assert.deepInclude(yield* callTool("slow"), { content: '"done"' })
      assert.strictEqual(bodies, 1)
    }).pipe(
      Effect.provide(
        Layer.provideMerge(workerLayer([slow], { ack_wait_ms: 200 }), EphemeralToolQueue.layer)
      )
    )
  })
)

it.live(
  "a call that outlasts the limit of a delivery three times is dead, and its sender gets an error",
  () =>
    Effect.gen(function* () {
      let bodies = 0
      const hangs = toolNamed("hangs", () => Effect.suspend(() => (bodies++, Effect.never)))
      yield* Effect.gen(function* () {
        const queue = yield* ToolQueue
        const id = yield* sendCall("hangs")
        assert.deepNestedInclude(yield* resultOf(id), {
          error_kind: "internal",
          "metadata.error_reason": "DELIVERIES_MAX"
        })
        const [dead] = yield* eventually(queue.dead(10), (all) => all.length > 0)
        assert.deepInclude(dead, { id, deliveries: 4 })
        assert.strictEqual(bodies, 3)
      }).pipe(
        Effect.provide(
          Layer.provideMerge(workerLayer([hangs], { message_ms_max: 50 }), EphemeralToolQueue.layer)
        )
      )
    })
)

it.live("a message that is no call is dead at once, and no body runs", () =>
  Effect.gen(function* () {
    let bodies = 0
    const runs = toolNamed("runs", () => Effect.sync(() => (bodies++, "done")))
    yield* Effect.gen(function* () {
      const queue = yield* ToolQueue
      for (const [id, payload] of [
        ["no-call", { no: "call" }],
        ["other-id", { id: "another", name: "t.runs@1" }]
      ] as const) {
        yield* queue.send({
          id,
          tool: "t.runs@1",
          tenant: Tenant.make("acme"),
          expires_at: 4e12,
          payload
        })
        assert.deepNestedInclude(yield* resultOf(id), { "metadata.error_reason": "UNREADABLE" })
      }
      yield* eventually(queue.dead(10), (all) => all.length === 2)
      assert.strictEqual(bodies, 0)
    }).pipe(Effect.provide(Layer.provideMerge(workerLayer([runs]), EphemeralToolQueue.layer)))
  })
)

it.live(
  "a worker's gate decodes, refuses what is not approved or granted, and runs nothing that has expired",
  () =>
    Effect.gen(function* () {
      const by: Array<string | undefined> = []
      const asks = toolNamed(
        "asks",
        ({ approved_by }) => Effect.sync(() => (by.push(approved_by), "done")),
        {
          side_effects: "write"
        }
      )
      const guarded = toolNamed("guarded", succeedDone, { capabilities: "tools:broker" })
      const granted = toolNamed("granted", succeedDone, { capabilities: "net" })
      const says = toolNamed("says", () =>
        Effect.fail(
          new ToolUserError({ kind: "not_found", reason: "GONE", message: "no such order" })
        )
      )
      yield* Effect.gen(function* () {
        const refused = yield* callTool("asks")
        assert.match(refused.error!, /^approval_required: /)
        assert.deepInclude(refused, { error_kind: "permission" })
        assert.deepInclude(yield* callTool("asks", approved), { content: '"done"' })
        assert.deepInclude(yield* callTool("asks", { metadata: { permission: "allow" } }), {
          content: '"done"'
        })
        assert.deepStrictEqual(by, ["olga", undefined])
        assert.deepNestedInclude(yield* callTool("guarded"), {
          error_kind: "permission",
          "metadata.error_class": "ToolPolicyError"
        })
        assert.deepInclude(yield* callTool("granted"), { content: '"done"' })
        assert.deepInclude(yield* callTool("granted", { arguments: { stray: 1 } }), {
          error_kind: "invalid_args"
        })
        assert.deepInclude(yield* callTool("says"), {
          error: "no such order",
          error_kind: "not_found",
          metadata: { error_class: "ToolUserError", error_reason: "GONE" }
        })
        const late = yield* Effect.flatMap(sendCall("granted", {}, 1), resultOf)
        assert.deepNestedInclude(late, { "metadata.error_reason": "EXPIRED" })
      }).pipe(
        Effect.provide(
          Layer.provideMerge(
            workerLayer([asks, guarded, granted, says], {}, ["net"]),
            EphemeralToolQueue.layer
          )
        )
      )
    })
)
