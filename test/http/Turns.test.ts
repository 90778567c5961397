import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Stream } from "effect"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Server from "../../layers/compose/assembly/HttpSurface.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as EventStream from "../../layers/http/stream/EventStream.ts"
import { defaults, RuntimeConfig } from "../../layers/runtime/actor/RuntimeConfig.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import { openStream } from "../../services/AgentRuntime.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, RunId } from "../../src/value/Ids.ts"
import { ask, credentials, listen } from "./Service.ts"

/** A model that emits half of its text, waits for a signal, and emits the rest. */
const halting = (half: Deferred.Deferred<void>, go: Deferred.Deferred<void>) =>
  Layer.succeed(ModelGateway, {
    turn: (_, sink) =>
      Effect.gen(function* () {
        sink({ kind: "text", text: "The first half, ", offset: 0 })
        yield* Deferred.succeed(half, undefined)
        yield* Deferred.await(go)
        sink({ kind: "text", text: "and the second.", offset: 16 })
        return { text: "The first half, and the second.", calls: [], finish: "stop" }
      })
  })

const agent = AgentSpec.make({ name: AgentName.make("operations"), instructions: "Help." })

const service = (model: Layer.Layer<ModelGateway>) =>
  Server.layer({ listen: { port: 0 }, credentials }).pipe(
    Layer.provide(Runtime.layer({ agents: [agent], tools: [] })),
    Layer.provide(model),
    Layer.provide(Stores.ephemeral),
    Layer.provide(Layer.succeed(RuntimeConfig, { ...defaults, drain_ms: 50 }))
  )

describe("a turn in progress", () => {
  it.live(
    "is sent from its start to a client that connects in the middle, and continues when the client leaves",
    () =>
      Effect.gen(function* () {
        const half = yield* Deferred.make<void>()
        const go = yield* Deferred.make<void>()
        yield* Effect.gen(function* () {
          const sent = yield* ask("/v1/messages", {
            as: "olga",
            json: { agent: "operations", text: "Speak." }
          })
          assert.strictEqual(sent.status, 202)
          const path = `/v1/conversations/${sent.json.conversation_id}/events`
          yield* Deferred.await(half)
          for (const _ of [1, 2]) {
            const early = yield* listen(path, { as: "vera" })
            const seen = yield* early.take(3)
            assert.deepStrictEqual(
              seen.map(({ event }) => event),
              ["run_accepted", "run_claimed", "delta"]
            )
            assert.strictEqual(seen[2]!.data.text, "The first half, ")
            assert.strictEqual(seen[2]!.data.offset, 0)
            assert.strictEqual(seen[2]!.data.turn, "0/1")
            yield* early.close
          }
          const late = yield* listen(path, { as: "vera", headers: { "last-event-id": "1.1" } })
          assert.strictEqual((yield* late.next).data.offset, 0)
          yield* Deferred.succeed(go, undefined)
          const rest = []
          for (;;) {
            const event = yield* late.next
            rest.push(event)
            if (event.event === "run_ended") break
          }
          const journaled = rest.filter(({ event }) => event !== "delta")
          assert.deepStrictEqual(
            journaled.map(({ event, id }) => [event, id]),
            [
              ["model_turned", "1.2"],
              ["run_ended", "1.3"]
            ]
          )
          assert.strictEqual(journaled[0]!.data.event.text, "The first half, and the second.")
          const run = yield* ask(`/v1/runs/${sent.json.run_id}`, { as: "vera" })
          assert.strictEqual(run.json.status, "complete")
          assert.strictEqual(run.json.text, "The first half, and the second.")
        }).pipe(Effect.provide(service(halting(half, go))))
      })
  )
})

describe("a slow client", () => {
  it.effect("has at most 128 events read for it when it takes three", () =>
    Effect.gen(function* () {
      let read = 0
      const item = (): FeedItem => {
        read++
        return {
          _tag: "Event",
          run: RunId.make("00000000-0000-4000-8000-000000000001"),
          ordinal: 1,
          entry: { seq: read, at: 0, event: { _tag: "RunClaimed", epoch: 1, owner: "o" } }
        }
      }
      const feed = Stream.fromEffectRepeat(Effect.sync(item))
      const frames = yield* EventStream.bytes(openStream(feed), {
        customer: false,
        heartbeat_ms: 15_000,
        goesOn: Effect.succeed(true),
        until: Effect.never
      }).pipe(Stream.take(3), Stream.runCollect)
      assert.strictEqual(frames.length, 3)
      assert.isAtMost(read, 128)
    })
  )
})
