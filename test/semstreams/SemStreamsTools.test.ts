/** Calls of a SemStreams loop through a tool component. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as CoordinationTools from "../../layers/semstreams/CoordinationTools.ts"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import type { ExecuteError } from "../../layers/semstreams/SemStreamsTools.ts"
import { SemStreamsTools } from "../../layers/semstreams/SemStreamsTools.ts"
import * as SemStreamsToolsLayer from "../../layers/semstreams/SemStreamsTools.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { CallMessage } from "../../src/queue/CallMessage.ts"
import { decodeComponentConfig } from "../../src/semstreams/ComponentConfig.ts"
import * as Component from "../conformance/Component.ts"

const tenant = Tenant.make("acme")
const platform = { org: "acme", platform: "test" }
const decision = { action: "fan_out", reason: "three topics", subtopics: ["a", "b"] }

it.effect(
  "SM-67 a task narrows the actions by the metadata of its call, which no model writes",
  () =>
    Effect.gen(function* () {
      const config = yield* decodeComponentConfig({})
      const run = (id: string, decide_action_allowlist: ReadonlyArray<string>) =>
        Component.execute({
          id,
          name: "decide",
          loop_id: "l",
          arguments: decision,
          metadata: { decide_action_allowlist }
        })
      yield* Effect.gen(function* () {
        const refused = yield* run("1", ["done"])
        assert.strictEqual(refused.result.error_kind, "invalid_args")
        assert.include(refused.result.error, "done")
        assert.isFalse(refused.result.stop_loop)
        const taken = yield* run("2", ["done", "fan_out"])
        assert.isTrue(taken.result.stop_loop)
        assert.isUndefined(taken.result.error)
      }).pipe(
        Effect.provide(
          SemStreams.tools({
            ...platform,
            config,
            tools: [CoordinationTools.tools(platform)]
          }).pipe(Layer.provide(EphemeralToolQueue.layer))
        )
      )
    }).pipe(Effect.provide(Layer.provideMerge(SemStreams.layer, EphemeralStores.layer)))
)

it.effect(
  "SM-48 SM-49 SM-53 a listed call runs once it is sent again with its approver, under its own id or another",
  () =>
    Effect.gen(function* () {
      let ran = 0
      const body = () => Effect.sync(() => (ran++, "done"))
      const registry = yield* Component.registryOf([Component.reading("send", body)])
      yield* Component.over(
        registry,
        { approval_required: ["send"] },
        Effect.gen(function* () {
          const send = (id: string, more: Partial<CallMessage> = {}) =>
            Component.execute({ id, name: "send", ...more })
          assert.isTrue((yield* send("1")).awaits_approval)
          assert.isTrue((yield* send("2", { approved_by: "" })).awaits_approval)
          // Only the runtime's own messages say by their metadata that nobody has to be asked.
          const said = yield* send("2", { metadata: { permission: "allow", topic: "a" } })
          assert.isTrue(said.awaits_approval)
          for (const id of ["1", "3"]) {
            const approved = yield* send(id, { approved_by: "ada" })
            assert.isFalse(approved.awaits_approval)
            assert.strictEqual(approved.result.content, '"done"')
            assert.strictEqual(approved.subject, `tool.result.${id}`)
          }
          assert.strictEqual(ran, 2)
        })
      )
    })
)

it.effect("a message that is no call fails, and one that no worker takes is a failed call", () =>
  Effect.gen(function* () {
    const registry = yield* Component.registryOf([Component.reading("send")])
    const config = yield* decodeComponentConfig({})
    // A component without a worker.
    const layer = SemStreamsToolsLayer.layer({ ...platform, config, wait_ms: 1_000 }).pipe(
      Layer.provide(EphemeralToolQueue.layer),
      Layer.provide(Layer.succeed(ToolRegistry, registry))
    )
    yield* Effect.gen(function* () {
      const tools = yield* SemStreamsTools
      for (const message of [null, {}, { id: "", name: "send" }, { id: "a b", name: "send" }]) {
        const error = yield* Effect.flip(tools.execute("send", message, tenant))
        assert.strictEqual(error._tag, "InvalidInput")
      }
      const call = { id: "1", name: "send" }
      const unreadable = new Proxy(call, {
        ownKeys: () => {
          throw new Error("no")
        }
      })
      const all: ReadonlyArray<Effect.Effect<unknown, ExecuteError>> = [
        tools.execute("send", unreadable, tenant),
        tools.execute(Symbol("send") as never, call, tenant),
        tools.execute("send", call, null as never),
        tools.execute("send", call, "" as never),
        tools.executeBatch(call as never, tenant),
        tools.executeBatch([call], {} as never),
        tools.executeBatch(
          Array.from({ length: 10_001 }, () => call),
          tenant
        )
      ]
      for (const refused of all) {
        assert.strictEqual((yield* Effect.flip(refused))._tag, "InvalidInput")
      }
      const waiting = yield* Effect.forkChild(Component.execute({ id: "1", name: "send" }))
      yield* Effect.yieldNow
      yield* TestClock.adjust(1_000)
      const { result } = yield* Fiber.join(waiting)
      assert.strictEqual(result.error_kind, "external")
      assert.include(result.error, "no worker took the call")
    }).pipe(Effect.provide(layer))
  })
)
