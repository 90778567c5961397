/** Two workers, bodies that hang, and a queue that loses every sixth answer, before or after the operation took effect. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { readReply } from "../../src/queue/ToolMessage.ts"
import * as Declared from "./Declared.ts"

const calls = 60
const config: ToolQueueConfig = {
  concurrency: 8,
  deliveries_max: 50,
  ack_wait_ms: 150,
  backoff_ms: [5],
  message_ms_max: 200,
  sweep_ms: 20,
  stop_ms: 1_000,
  offer_ms: 60_000,
  show_ms: 1,
  result_ms: 60_000
}

/** Mulberry32: the same faults for the same seed, as far as the operations come in the same order. */
const random = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
}

const faulty = (next: () => number) =>
  Layer.effect(
    ToolQueue,
    Effect.map(ToolQueue, (queue) => {
      const away = Effect.fail(new StoreError({ message: "away" }))
      const losing = <A, E>(act: Effect.Effect<A, E>): Effect.Effect<A, E | StoreError> =>
        Effect.suspend((): Effect.Effect<A, E | StoreError> => {
          const dice = next()
          return dice < 1 / 12 ? away : dice < 1 / 6 ? Effect.andThen(act, away) : act
        })
      return ToolQueue.of({
        ...queue,
        claim: (claim) => losing(queue.claim(claim)),
        begin: (id, owner) => losing(queue.begin(id, owner)),
        extend: (id, owner, ms) => losing(queue.extend(id, owner, ms)),
        publish: (id, result) => losing(queue.publish(id, result)),
        acknowledge: (id, owner) => losing(queue.acknowledge(id, owner)),
        failed: (id, owner, error, at) => losing(queue.failed(id, owner, error, at))
      })
    })
  )

for (const seed of [1, 2, 3]) {
  it.live(
    `every call has one result, and no write that cannot be repeated runs twice (seed ${seed})`,
    () =>
      Effect.gen(function* () {
        const next = random(seed)
        const bodies = new Map<string, number>()
        const tools = Declared.all.map((declared) =>
          tool(declared, (_, { call }) =>
            Effect.suspend(() => {
              const ran = (bodies.get(call) ?? 0) + 1
              bodies.set(call, ran)
              return ran === 1 && next() < 0.2
                ? Effect.never
                : Effect.as(Effect.sleep(next() * 20), call)
            })
          )
        )
        const worker = ToolWorker.layer({ tools }).pipe(
          Layer.provide(Layer.succeed(ToolQueueConfig, config)),
          Layer.provide(faulty(next)),
          Layer.fresh
        )
        // A start may fail by an injected fault, too.
        yield* Effect.retry(Layer.build(worker), { times: 20 })
        yield* Effect.retry(Layer.build(worker), { times: 20 })
        const queue = yield* ToolQueue
        const sent = Array.from({ length: calls }, (_, index) => ({
          id: `c-${index}`,
          ...Declared.all[index % 3]!
        }))
        for (const { id, name } of sent) {
          yield* queue.send({
            id,
            tool: `t.${name}@1`,
            tenant: Tenant.make("acme"),
            expires_at: 4e12,
            payload: { id, name, arguments: {}, metadata: { permission: "allow" } }
          })
        }
        for (const { id, name } of sent) {
          const result = yield* queue.awaited(id)
          const reply = readReply(result)
          const ran = bodies.get(id) ?? 0
          if (name === "once") {
            assert.isAtMost(ran, 1)
            assert.include(["Value", "Unknown"], reply._tag)
          } else {
            assert.isAtLeast(ran, 1)
            assert.deepStrictEqual(reply, { _tag: "Value", value: id })
          }
          // A later sending returns the recorded result.
          assert.deepStrictEqual(yield* queue.awaited(id), result)
        }
        assert.isAbove(Math.max(...bodies.values()), 1)
      }).pipe(Effect.scoped, Effect.provide(EphemeralToolQueue.layer)),
    60_000
  )
}
