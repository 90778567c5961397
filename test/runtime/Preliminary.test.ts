import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Schema, Stream } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { FeedItem } from "../../src/run/FeedItem.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const conversation = ConversationId.make("c-1")

/** Written as JSON only when somebody is shown it. */
class Counted {
  written = 0
  toJSON() {
    this.written++
    return { rows: this.written }
  }
}

interface Stage {
  readonly seen: Counted
  /** The body began, and waits. */
  readonly begun: Deferred.Deferred<void>
  /** Lets it go on. */
  readonly go: Deferred.Deferred<void>
}

const stage = (): Stage => ({
  seen: new Counted(),
  begun: Deferred.makeUnsafe(),
  go: Deferred.makeUnsafe()
})

const runtime = ({ begun, go, seen }: Stage) =>
  Runtime.layer({
    agents: [AgentSpec.make({ name: H.agentName, instructions: "Test.", tools: ["test.scan@1"] })],
    tools: [
      tool(
        {
          namespace: "test",
          name: "scan",
          side_effects: "read",
          input: Schema.Struct({ n: Schema.Int })
        },
        ({ n }, { show }) =>
          Effect.gen(function* () {
            yield* Deferred.succeed(begun, undefined)
            yield* Deferred.await(go)
            show(seen)
            show({ rows: "x".repeat(20_000) })
            show(() => "no JSON")
            yield* Effect.sleep(30)
            return n
          })
      )
    ]
  }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provideMerge(scripted([call("scan", { n: 1 }), text("done")])),
    Layer.provideMerge(EphemeralStores.layer)
  )

const watch = AgentRuntime.use((agents) =>
  agents.watch(conversation, { ordinal: 0, seq: -1 }, H.alice).pipe(
    Stream.takeUntil((item) => item._tag === "Event" && item.entry.event._tag === "RunEnded"),
    Stream.runCollect
  )
)

const tagOf = (item: FeedItem): string =>
  item._tag === "Event" ? item.entry.event._tag : item._tag

describe("a preliminary result", () => {
  it.live(
    "reaches watchers before the result, with the call's id and bounded, and is not journaled",
    () => {
      const on = stage()
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const watching = yield* Effect.forkChild(watch, { startImmediately: true })
        yield* Deferred.await(on.begun)
        yield* Deferred.succeed(on.go, undefined)
        const items = yield* Fiber.join(watching)
        const outputs = items.filter((item) => item._tag === "Output")
        assert.deepStrictEqual(
          outputs.map(({ call: id, run: of }) => [id, of]),
          outputs.map(() => ["0/1.0", run])
        )
        const [first, second] = outputs
        assert.lengthOf(outputs, 2)
        assert.strictEqual(first!.text, '{"rows":1}')
        assert.isAtMost(new TextEncoder().encode(second!.text).length, 16_500)
        assert.include(second!.text, "cut at 16384 bytes")
        const order = items.map(tagOf)
        assert.isBelow(order.lastIndexOf("Output"), order.indexOf("CallSettled"))
        assert.notInclude(JSON.stringify(yield* H.events(run)), "xxxx")
      }).pipe(Effect.provide(runtime(on)))
    }
  )

  it.live("costs nothing without watchers", () => {
    const on = stage()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* Deferred.await(on.begun)
      yield* Deferred.succeed(on.go, undefined)
      yield* H.ended(run)
      assert.strictEqual(on.seen.written, 0)
    }).pipe(Effect.provide(runtime(on)))
  })
})
