/** Offers of workers, the warnings of a runtime about them at its start, and preliminary results of remote bodies. */
import { assert, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Logger, Schema, Scope, Stream } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as ToolWorker from "../../layers/compose/assembly/ToolWorker.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type * as LocalToolRegistry from "../../layers/runtime/directory/LocalToolRegistry.ts"
import { remote } from "../../layers/runtime/queue/RemoteTool.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolQueue } from "../../services/ToolQueue.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { ToolOffer } from "../../src/queue/ToolOffer.ts"
import { discoverOffers } from "../../src/queue/ToolOffer.ts"
import { decodeToolSpec } from "../../src/tool/ToolSpec.ts"
import { eventually } from "../contracts/Contract.ts"
import * as H from "../runtime/Harness.ts"

const scan = {
  namespace: "t",
  name: "scan",
  description: "Looks at all rows.",
  side_effects: "read",
  input: Schema.Struct({ n: Schema.Int })
} as const

const body = tool(scan, ({ n }) => n)

const worker = (
  tools: ReadonlyArray<LocalToolRegistry.Family<unknown, never>>,
  more: Partial<ToolQueueConfig> = {}
) =>
  ToolWorker.layer({ tools, provider: "shop" }).pipe(
    Layer.provide(
      Layer.effect(
        ToolQueueConfig,
        Effect.map(ToolQueueConfig, (defaults) => ({ ...defaults, sweep_ms: 50, ...more }))
      )
    )
  )

const listing = Effect.map(
  ToolQueue.use((queue) => queue.list()),
  discoverOffers
)

const line = { name: "scan", description: "Looks at all rows.", provider: "shop" }

it.live(
  "a worker offers its tools from its start to its stop, and is listed as gone after it",
  () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      assert.deepStrictEqual(yield* listing, [])
      yield* Layer.buildWithScope(worker([body]), scope)
      assert.deepStrictEqual(yield* listing, [{ ...line, available: true }])
      const [offer] = yield* ToolQueue.use((queue) => queue.list(["t.scan@1"]))
      assert.deepInclude(offer!.spec, { version: "1", side_effects: "read", timeout_ms: 60_000 })
      assert.deepNestedInclude(offer!.spec, { "input_schema.required": ["n"] })
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* listing, [{ ...line, available: false }])
    }).pipe(Effect.provide(EphemeralToolQueue.layer))
)

it.live(
  "a worker is available while it renews its offer, and announces again when the queue does not know it",
  () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      let away = false
      let forgotten = false
      const spied = Layer.effect(
        ToolQueue,
        Effect.map(
          ToolQueue,
          (queue) =>
            ({
              ...queue,
              announce: (offer) =>
                Effect.andThen(
                  Effect.sync(() => log.push("announce")),
                  queue.announce(offer)
                ),
              renew: (name, lease_ms) =>
                Effect.suspend(() => {
                  if (away) return Effect.fail(new StoreError({ message: "away" }))
                  return forgotten
                    ? Effect.succeed((forgotten = false))
                    : queue.renew(name, lease_ms)
                })
            }) satisfies ToolQueue["Service"]
        )
      ).pipe(Layer.provide(EphemeralToolQueue.layer))
      yield* Effect.gen(function* () {
        yield* Layer.build(worker([body], { offer_ms: 60 }))
        yield* Effect.sleep(200)
        assert.deepStrictEqual(yield* listing, [{ ...line, available: true }])
        assert.deepStrictEqual(log, ["announce"])
        away = true
        yield* eventually(listing, ([only]) => only?.available === false)
        ;[away, forgotten] = [false, true]
        yield* eventually(listing, ([only]) => only?.available === true)
        assert.deepStrictEqual(log, ["announce", "announce"])
      }).pipe(Effect.scoped, Effect.provide(spied))
    })
)

it.effect("SM-10 offers are listed as the tools of a registry are, by the shortest name", () =>
  Effect.gen(function* () {
    const offer = Effect.fnUntraced(function* (
      namespace: string,
      name: string,
      available: boolean,
      more: object = {}
    ) {
      const spec = yield* decodeToolSpec({
        namespace,
        name,
        version: "1",
        description: namespace,
        input_schema: {},
        output_schema: {},
        side_effects: "read",
        ...more
      })
      return { worker: "w", provider: `of ${namespace}`, spec, available } satisfies ToolOffer
    })
    assert.deepStrictEqual(
      discoverOffers([
        yield* offer("b", "pay", false),
        yield* offer("b", "pay", true, { description: "better" }),
        yield* offer("a", "pay", false),
        yield* offer("c", "ask", true),
        yield* offer("d", "ask", true, { deprecated: true })
      ]),
      [
        { name: "a.pay@1", description: "a", provider: "of a", available: false },
        { name: "ask", description: "c", provider: "of c", available: true },
        { name: "b.pay@1", description: "better", provider: "of b", available: true }
      ]
    )
    assert.deepStrictEqual(discoverOffers([]), [])
  })
)

const warnings = () => {
  const lines: Array<string> = []
  return {
    lines,
    layer: Logger.layer([
      Logger.make<unknown, void>(({ logLevel, message }) => {
        if (logLevel === "Warn") lines.push(String(message))
      })
    ])
  }
}

it.live(
  "a remote tool warns at its start where no worker offers it, or one declares it otherwise",
  () => {
    const { layer, lines } = warnings()
    return Effect.gen(function* () {
      yield* remote(scan)
      assert.lengthOf(lines, 1)
      assert.match(lines[0]!, /^no worker offers the tool "t.scan@1" now; .* 59000 ms/)
      yield* Layer.build(worker([body]))
      yield* remote(scan)
      assert.lengthOf(lines, 1)
      yield* remote({ ...scan, side_effects: "external", output: Schema.String })
      assert.strictEqual(
        lines[1],
        'the tool "t.scan@1" is declared here unlike at the worker "shop" in output_schema, side_effects. Declare it alike at both ends'
      )
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(EphemeralToolQueue.layer, layer)))
  }
)

it.live("a remote tool starts with a warning where the queue does not answer", () => {
  const { layer, lines } = warnings()
  const away = Layer.effect(
    ToolQueue,
    Effect.map(ToolQueue, (queue) => ({
      ...queue,
      list: () => Effect.fail(new StoreError({ message: "away" }))
    }))
  ).pipe(Layer.provide(EphemeralToolQueue.layer))
  return Effect.gen(function* () {
    assert.lengthOf(yield* remote(scan), 1)
    assert.match(lines.join(), /t.scan@1" is not known: away/)
  }).pipe(Effect.provide(Layer.merge(away, layer)))
})

const tx = { ...scan, name: "tx", side_effects: "write", transactional: true } as const

it.live("a transactional tool cannot be remote, and a worker leaves it out with a warning", () => {
  const { layer, lines } = warnings()
  return Effect.gen(function* () {
    const error = yield* Effect.flip(remote(tx))
    assert.deepInclude(error, { _tag: "MisdeclaredTool", tool: "tx", field: "transactional" })
    assert.match(error.message, /^tool "tx", field "transactional": .*\. .*drop transactional\.$/)
    yield* Layer.build(worker([body, tool(tx, ({ n }) => n)]))
    assert.deepStrictEqual(yield* listing, [{ ...line, available: true }])
    assert.match(lines.join(), /not served: tool "t.tx@1", field "transactional": /)
  }).pipe(Effect.scoped, Effect.provide(Layer.merge(EphemeralToolQueue.layer, layer)))
})

const conversation = ConversationId.make("c-1")

it.live("a preliminary result of a worker's body reaches those who watch the run", () =>
  Effect.gen(function* () {
    const go = yield* Deferred.make<void>()
    const shows = tool(scan, ({ n }, { show }) =>
      Effect.gen(function* () {
        yield* Deferred.await(go)
        show({ rows: 1 })
        yield* Effect.sleep(200)
        show(() => "no JSON")
        show("x".repeat(8_000))
        yield* Effect.sleep(100)
        // Results that come too fast are left out, except the last.
        for (let rows = 2; rows <= 500; rows++) show({ rows })
        yield* Effect.sleep(500)
        return n
      })
    )
    const runtime = Runtime.layer({
      agents: [AgentSpec.make({ name: H.agentName, instructions: "", tools: ["t.scan@1"] })],
      tools: [remote(scan)]
    }).pipe(
      Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
      Layer.provide(
        ScriptedModelGateway.layer([
          ScriptedModelGateway.call("scan", { n: 1 }),
          ScriptedModelGateway.text("Done.")
        ])
      ),
      Layer.provideMerge(EphemeralStores.layer)
    )
    yield* Effect.gen(function* () {
      yield* Layer.build(worker([shows], { show_ms: 20 }))
      yield* H.send("go")
      const watching = yield* AgentRuntime.use((agents) =>
        agents.watch(conversation, { ordinal: 0, seq: -1 }, H.alice).pipe(
          Stream.takeUntil((item) => item._tag === "Event" && item.entry.event._tag === "RunEnded"),
          Stream.runCollect
        )
      ).pipe(Effect.forkChild({ startImmediately: true }))
      yield* Effect.sleep(50)
      yield* Deferred.succeed(go, undefined)
      const items = yield* Fiber.join(watching)
      const outputs = items.filter((item) => item._tag === "Output")
      const texts = outputs.map(({ text }) => text)
      assert.deepStrictEqual([texts[0], texts.at(-1)], ['{"rows":1}', '{"rows":500}'])
      assert.isAtMost(texts.length, 4)
      assert.deepStrictEqual(new Set(outputs.map(({ call }) => call)), new Set(["0/1.0"]))
    }).pipe(Effect.provide(runtime))
  }).pipe(Effect.scoped)
)
