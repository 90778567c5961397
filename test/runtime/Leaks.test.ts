import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { EphemeralStore } from "../../layers/ephemeral/EphemeralStore.ts"
import * as Deadlines from "../../layers/runtime/tool/Deadlines.ts"
import { Feed } from "../../layers/runtime/feed/Feed.ts"
import { channelKey } from "../../layers/runtime/feed/ChannelKey.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ConversationId, FrameId, RunId, Tenant } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import * as H from "./Harness.ts"
import { interruptedAnywhere } from "./Interruptions.ts"

describe("memory of a runtime", () => {
  it.live("after 2,000 runs no actor, open run, lease of a key or waiting message is left", () =>
    Effect.gen(function* () {
      const store = yield* EphemeralStore
      const ids = Array.from({ length: 2_000 }, (_, i) => `c-${i}`)
      const runs = yield* Effect.forEach(ids, (id) => H.send(id, id), { concurrency: 64 })
      yield* Effect.forEach(runs, (run, i) => H.ended(run, ids[i]), { concurrency: 64 })
      const runtime = yield* AgentRuntime
      yield* Effect.repeat(Effect.sleep(5), {
        until: () => Effect.map(runtime.actors(10), (actors) => actors.length === 0)
      })
      assert.strictEqual(store.open.size, 0)
      assert.strictEqual(store.openOf.size, 0)
      assert.strictEqual(store.waiting.all.size, 0)
      assert.strictEqual(store.pending.size, 0)
      assert.strictEqual(store.messages.size, 0)
      assert.strictEqual(store.keys.size, 0)
      assert.strictEqual(store.runs.size, 2_000)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { look: H.reads((n) => Effect.succeed(n)) },
          script: ({ transcript }) =>
            transcript.length === 1 ? call("look", { n: 1 }) : text("done"),
          config: { idle_ms: 1 }
        })
      )
    )
  )

  it.live(
    "a send that is interrupted at any operation leaves the room for messages as it was",
    () =>
      Effect.gen(function* () {
        // One message takes all that its tenant may have.
        const send = H.send("x".repeat(20_000))
        yield* interruptedAnywhere(send, 60)
        assert.isString(yield* send)
      }).pipe(
        Effect.provide(
          H.layer({ script: () => text("done"), config: { in_flight_bytes_max: 400_000 } })
        )
      )
  )

  it.live("a stop waits for a step in progress, journals it, and releases its lease", () => {
    const gate = Deferred.makeUnsafe<void>()
    const options: H.Options = {
      tools: { slow: H.reads((n) => Effect.as(Deferred.await(gate), n)) },
      script: ({ transcript }) => (transcript.length === 1 ? call("slow", { n: 1 }) : text("done")),
      config: { drain_ms: 5_000 }
    }
    return Effect.gen(function* () {
      const store = yield* EphemeralStore
      const process = yield* H.boot(options)
      const run = yield* process.run(H.send("hello"))
      yield* process.run(H.happened(run, "ModelTurned"))
      const stop = yield* Effect.forkChild(process.stop, { startImmediately: true })
      // What was accepted before is durable; from the moment that it stops, it takes no more.
      const refused = yield* Effect.flip(
        Effect.forever(Effect.andThen(Effect.yieldNow, process.run(H.send("late", "c-2"))))
      )
      assert.strictEqual(refused._tag, "ShuttingDown")
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.repeat(Effect.yieldNow, {
        until: () => Effect.sync(() => stop.pollUnsafe() !== undefined)
      })
      const all = yield* H.events(run)
      assert.strictEqual(H.count(all, "CallSettled"), 1)
      // It starts nothing more: the next turn is for who comes after.
      assert.strictEqual(H.count(all, "ModelTurned"), 1)
      assert.strictEqual(store.leases.size, 0)
      assert.strictEqual(store.amended.size, 0)
      const next = yield* H.boot(options)
      const after = yield* next.run(H.ended(run))
      assert.strictEqual(H.count(after, "CallSettled"), 1)
      assert.deepInclude(H.end(after), { status: "complete" })
    }).pipe(Effect.provide(EphemeralStores.layer))
  })

  it.effect("deadlines that were disarmed or have fired are removed", () =>
    Effect.gen(function* () {
      const deadlines = yield* Deadlines.make
      const cancels = Array.from({ length: 1_000 }, (_, i) => deadlines.after(1_000 + i, () => {}))
      assert.strictEqual(deadlines.armed(), 1_000)
      for (const cancel of cancels) cancel()
      assert.strictEqual(deadlines.armed(), 0)
    })
  )

  it("a feed keeps no channel without a watcher or a turn", () => {
    const feed = new Feed()
    const tenant = Tenant.make("acme")
    const conversation = ConversationId.make("c-1")
    const channel = channelKey(tenant, conversation)
    const run = RunId.make("019381ce-0000-7000-8000-000000000001")
    const frame = FrameId.make("0")
    const watcher = feed.watch(tenant, conversation, { wake: () => {} })
    feed.delta(channel, { run, ordinal: 1, frame, step: 1 }, { kind: "text", text: "a", offset: 0 })
    watcher.close()
    assert.strictEqual(feed.size, 1)
    feed.endTurn(channel, run, frame)
    assert.strictEqual(feed.size, 0)
    feed.reached(channel, 1, 1)
    feed.endRun(channel, run)
    assert.strictEqual(feed.size, 0)
  })

  it("a feed follows no run and keeps no entry without a watcher, or after the run's end", () => {
    const feed = new Feed()
    const tenant = Tenant.make("acme")
    const conversation = ConversationId.make("c-1")
    const key = channelKey(tenant, conversation)
    const [first, second] = [Samples.runId(), Samples.runId()]
    const kinds = { isEnd: false, mayEndWait: false }
    const committed = { from: 0, count: 1, ...kinds, size: 1_000, entries: () => [] }
    feed.follow(key, first, 1)
    assert.isFalse(feed.listener.accepts(first))
    const watchers = [1, 2].map(() => feed.watch(tenant, conversation, { wake: () => {} }))
    feed.follow(key, first, 1)
    feed.follow(key, second, 2)
    assert.isTrue(feed.listener.accepts(first))
    feed.listener.onCommitted({ ...committed, run: first, isEnd: true })
    feed.listener.onCommitted({ ...committed, run: second })
    assert.deepStrictEqual([feed.followed, feed.waiting], [1, 1])
    watchers[0]?.close()
    assert.deepStrictEqual([feed.followed, feed.waiting], [1, 1])
    watchers[1]?.close()
    assert.deepStrictEqual([feed.size, feed.followed, feed.waiting], [0, 0, 0])
    assert.isFalse(feed.listener.accepts(second))
  })

  for (const how of ["cancelled", "late", "on its way"] as const) {
    it.live(`a stop waits for the clean-up of a body that is ${how}`, () => {
      const began = Deferred.makeUnsafe<void>()
      let cleaned = false
      const body = Effect.onInterrupt(
        Effect.andThen(Deferred.succeed(began, undefined), Effect.never),
        () =>
          Effect.andThen(
            Effect.sleep(100),
            Effect.sync(() => (cleaned = true))
          )
      )
      return Effect.gen(function* () {
        const process = yield* H.boot({
          tools: { hold: H.reads(() => body, { timeout_ms: how === "late" ? 20 : 60_000 }) },
          script: ({ transcript }) =>
            transcript.length === 1 ? call("hold", { n: 1 }) : text("done"),
          config: { drain_ms: 10 }
        })
        const run = yield* process.run(H.send("hello"))
        yield* Deferred.await(began)
        if (how === "cancelled") {
          yield* process.run(
            AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough"))
          )
        }
        if (how !== "on its way") yield* process.run(H.ended(run))
        assert.isFalse(cleaned)
        yield* process.stop
        assert.isTrue(cleaned)
      }).pipe(Effect.provide(EphemeralStores.layer))
    })
  }
})
