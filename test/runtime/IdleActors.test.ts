import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { ConversationId, Tenant } from "../../src/value/Ids.ts"
import { AgentMemories, AgentMemory } from "../../services/AgentMemory.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunReader } from "../../services/RunReader.ts"
import { TaskStore } from "../../services/TaskStore.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { makeActor, ActorMemory } from "../../layers/runtime/actor/Actor.ts"
import { chapterOf } from "../../layers/runtime/actor/History.ts"
import { IdleActors } from "../../layers/runtime/actor/ActorFibers.ts"
import * as Deadlines from "../../layers/runtime/tool/Deadlines.ts"
import { row } from "../memory/Rows.ts"
import * as H from "./Harness.ts"

const byModel = { source: "tool_call", author: "model" } as const
const addressOf = (key: string) => ({ agent: H.agentName, key: ConversationId.make(key) })

/** Memories that count how often one is built and released. */
const counting = () => {
  const seen = { built: 0, released: 0 }
  const layer = ActorMemories.layer(() =>
    Layer.effect(
      AgentMemory,
      Effect.acquireRelease(
        Effect.sync(() => {
          seen.built++
          const said: Array<string> = []
          return AgentMemory.of({
            remember: ({ text }) =>
              Effect.sync(() => {
                said.push(text)
                return { row: row({ text }), isNew: true }
              }),
            recall: () => Effect.die("not asked here"),
            get: () => Effect.die("not asked here"),
            list: () => Effect.sync(() => said.map((text) => row({ text }))),
            undo: () => Effect.die("not asked here"),
            endRun: () => Effect.succeed({ promoted: 0, dropped: 0 }),
            endConversation: Effect.succeed({ promoted: 0, dropped: 0 })
          })
        }),
        () => Effect.sync(() => void seen.released++)
      )
    )
  )
  return { layer, seen }
}

const idleOf = (bounds: { readonly idle_ms: number; readonly idle_max: number }) =>
  Effect.gen(function* () {
    const deadlines = yield* Deadlines.make
    const memories = yield* AgentMemories
    const left: Array<string> = []
    const idle = new IdleActors(
      deadlines,
      { ...bounds, in_flight_bytes_max: 2e9 },
      ({ address }) => void left.push(address.key)
    )
    /** With a conversation of so many UTF-16 units. */
    const actor = (key: string, units?: number, tenant = H.tenant) => {
      const made = makeActor(memories, tenant, addressOf(key), {})
      if (units !== undefined) {
        made.past = { chapters: [{ ordinal: 1, entries: [], units }], cut: undefined }
      }
      return made
    }
    return { actor, deadlines, idle, left }
  }).pipe(Effect.provide(counting().layer))

describe("idle actors", () => {
  it.effect("leave `idle_ms` after each has become idle, by one deadline for all", () =>
    Effect.gen(function* () {
      const { actor, deadlines, idle, left } = yield* idleOf({ idle_ms: 100, idle_max: 10 })
      idle.add(actor("a"))
      yield* TestClock.adjust(60)
      idle.add(actor("b"))
      assert.strictEqual(deadlines.armed(), 1)
      yield* TestClock.adjust(40)
      assert.deepStrictEqual(left, ["a"])
      yield* TestClock.adjust(59)
      assert.deepStrictEqual(left, ["a"])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(left, ["a", "b"])
      assert.strictEqual(deadlines.armed(), 0)
    })
  )

  it.effect("do not leave while they have something to do", () =>
    Effect.gen(function* () {
      const { actor, idle, left } = yield* idleOf({ idle_ms: 100, idle_max: 10 })
      const busy = actor("a")
      idle.add(busy)
      assert.isTrue(idle.take(busy))
      assert.isFalse(idle.take(busy))
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(left, [])
      idle.add(busy)
      yield* TestClock.adjust(99)
      assert.deepStrictEqual(left, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(left, ["a"])
    })
  )

  it.effect("are at most `idle_max`: the one that has been idle longest leaves", () =>
    Effect.gen(function* () {
      const { actor, idle, left } = yield* idleOf({ idle_ms: 100, idle_max: 2 })
      for (const key of ["a", "b", "c"]) idle.add(actor(key))
      assert.deepStrictEqual(left, ["a"])
      assert.strictEqual(idle.size, 2)
      idle.clear()
      assert.deepStrictEqual(left, ["a", "b", "c"])
    })
  )

  it.effect("have conversations of at most 64,000,000 units: those idle longest leave", () =>
    Effect.gen(function* () {
      const { actor, idle, left } = yield* idleOf({ idle_ms: 100, idle_max: 10 })
      const [b, c] = [Tenant.make("b"), Tenant.make("c")]
      idle.add(actor("none"))
      idle.add(actor("a-1", 20_000_000))
      idle.add(actor("a-2", 12_000_000))
      idle.add(actor("b-1", 32_000_000, b))
      assert.deepStrictEqual(left, [])
      idle.add(actor("c-1", 1, c))
      assert.deepStrictEqual(left, ["a-1"])
      const busy = actor("c-2", 19_999_999, c)
      idle.add(busy)
      assert.deepStrictEqual(left, ["a-1"])
      // Its own conversation was erased meanwhile: what was held for it is given back all the same.
      busy.past = undefined
      idle.take(busy)
      idle.add(actor("c-3", 19_999_999, c))
      assert.deepStrictEqual(left, ["a-1"])
      assert.strictEqual(idle.size, 5)
    })
  )

  it("are counted with all that their conversations say", () => {
    const said = "x".repeat(1_000)
    const entries = [
      { role: "user", text: said },
      { role: "assistant", text: said, calls: [{ model_id: "m", name: "t", arguments: { said } }] }
    ] as const
    assert.isAtLeast(chapterOf(1, entries).units, 3_000)
    assert.isBelow(chapterOf(1, entries).units, 3_200)
  })

  it.effect("have at most 32,000,000 units of one tenant, whose own leave", () =>
    Effect.gen(function* () {
      const { actor, idle, left } = yield* idleOf({ idle_ms: 100, idle_max: 10 })
      idle.add(actor("b-1", 1_000, Tenant.make("b")))
      idle.add(actor("a-1", 16_000_000))
      idle.add(actor("a-2", 16_000_000))
      idle.add(actor("a-3", 1))
      assert.deepStrictEqual(left, ["a-1"])
      // Too large by itself: it is read again for its next message.
      idle.add(actor("a-4", 32_000_001))
      assert.deepStrictEqual(left, ["a-1", "a-2", "a-3", "a-4"])
      assert.strictEqual(idle.size, 1)
    })
  )

  it.effect(
    "have the conversation for their next message, which is read again when they left",
    () =>
      Effect.gen(function* () {
        const tasks = yield* TaskStore
        let reads = 0
        const endedBefore: (typeof tasks)["endedBefore"] = (...args) => {
          reads++
          return tasks.endedBefore(...args)
        }
        const process = yield* Effect.provideService(
          H.boot({ script: () => text("ok"), config: { idle_ms: 1_000 } }),
          TaskStore,
          { ...tasks, endedBefore }
        )
        const say = (what: string) =>
          process.run(Effect.flatMap(H.send(what, "c-1"), (run) => H.ended(run, "c-1")))
        yield* say("one")
        yield* say("two")
        assert.strictEqual(reads, 0)
        yield* TestClock.adjust(1_000)
        const actors = process.run(AgentRuntime.use((agents) => agents.actors(10)))
        assert.deepStrictEqual(yield* actors, [])
        yield* say("three")
        assert.strictEqual(reads, 1)
        assert.strictEqual((yield* process.run(H.requests))[2]?.history.length, 4)
      }).pipe(Effect.provide(EphemeralStores.layer))
  )
})

describe("an actor that becomes idle", () => {
  it.effect("takes a message that came while it looked for one", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const [looks, found] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const unfinished: (typeof reader)["unfinished"] = (...args) =>
        Effect.andThen(Deferred.succeed(looks, undefined), () =>
          // What it finds is from before the wait.
          Effect.tap(reader.unfinished(...args), () => Deferred.await(found))
        )
      const process = yield* H.withJournal(H.boot({ script: () => text("ok") }), () => ({
        unfinished
      }))
      yield* process.run(H.send("one"))
      yield* Deferred.await(looks)
      const second = yield* process.run(H.send("two"))
      yield* Deferred.succeed(found, undefined)
      yield* process.run(H.ended(second))
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})

describe("the memory of an actor", () => {
  it.effect("is built at its first use, once, and released when the actor leaves", () => {
    const { layer, seen } = counting()
    return Effect.gen(function* () {
      const memories = yield* AgentMemories
      let asked = 0
      const get: typeof memories.get = (tenant, address) => {
        asked++
        return memories.get(tenant, address)
      }
      const memory = new ActorMemory({ get }, H.tenant, addressOf("a"))
      yield* memory.release()
      assert.deepStrictEqual(seen, { built: 0, released: 0 })
      // Taken out of the service, as a body may do.
      const { list, remember } = Context.get(Context.make(AgentMemory, memory), AgentMemory)
      const tell = (text: string) => remember({ text }, byModel)
      yield* Effect.all([tell("one"), tell("two")], { concurrency: 2 })
      assert.deepStrictEqual(
        (yield* list("session", { limit: 10 })).map((each) => each.text),
        ["one", "two"]
      )
      assert.deepStrictEqual(seen, { built: 1, released: 0 })
      assert.strictEqual(asked, 1)
      yield* memory.release()
      assert.deepStrictEqual(seen, { built: 1, released: 1 })
      assert.deepStrictEqual(yield* list("session", { limit: 10 }), [])
      assert.deepStrictEqual(seen, { built: 2, released: 1 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("is released when its actor has been idle for `idle_ms`", () => {
    const { layer, seen } = counting()
    const remember = {
      governance: { side_effects: "none" },
      body: () =>
        Effect.as(
          Effect.flatMap(AgentMemory, (memory) =>
            Effect.orDie(memory.remember({ text: "it" }, byModel))
          ),
          null
        )
    } satisfies H.TestTool
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      yield* TestClock.adjust(999)
      assert.deepStrictEqual(seen, { built: 1, released: 0 })
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(seen, { built: 1, released: 1 })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { remember },
          script: ({ transcript }) =>
            transcript.length > 1 ? text("ok") : call("remember", { n: 1 }),
          config: { idle_ms: 1_000 },
          memories: layer
        })
      )
    )
  })

  it.effect("is not built where no body uses it", () => {
    const { layer, seen } = counting()
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(seen, { built: 0, released: 0 })
    }).pipe(Effect.provide(H.layer({ script: () => text("ok"), memories: layer })))
  })
})
