/** Configurations of the type `builtin`: by name, under their own permission, among registered tools and those that come along. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import type { NodeService } from "../../layers/compose/promises/NodeService.ts"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import * as BuiltinTools from "../../layers/compose/assembly/BuiltinTools.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

interface Ran {
  readonly names: Array<string>
}

const said = (name: string, ran: Ran, more: { readonly namespace?: string } = {}) =>
  tool(
    {
      namespace: more.namespace ?? "shop",
      name,
      description: "Says its name.",
      side_effects: "read",
      input: Schema.Struct({})
    },
    () => {
      ran.names.push(`${more.namespace ?? "shop"}.${name}`)
      return name
    }
  )

const agentWith = (...tools: ReadonlyArray<string>) =>
  AgentSpec.make({ name: AgentName.make("clerk"), instructions: "Help.", tools: [...tools] })

/** Starts an agent whose model calls these tools one after the other, and gives how its run stands. */
const play = async (
  options: Partial<Options> & { readonly configs: ReadonlyArray<object> },
  tools: ReadonlyArray<string>,
  use: (troupe: NodeService, status: string) => Promise<void> = async () => {}
) => {
  const { configs, ...rest } = options
  const troupe = await start({
    agents: [agentWith(...tools)],
    model: scripted(({ transcript }) => {
      const next = tools[transcript.filter(({ role }) => role === "tool").length]
      return next === undefined ? text("done") : call(next, {})
    }),
    ...rest,
    toolConfigs: { tools: configs as NonNullable<Options["toolConfigs"]>["tools"] }
  })
  try {
    await use(troupe, (await troupe.ask({ agent: "clerk", text: "go" })).status)
  } finally {
    await troupe.stop()
  }
}

const refusalOf = (configs: ReadonlyArray<object>, more: Partial<Options> = {}) =>
  play({ configs, ...more }, []).then(
    () => assert.fail("it started"),
    (error: { readonly _tag: string; readonly reason?: string; readonly message: string }) => error
  )

describe("a builtin configuration", () => {
  it("AG-36 AG-58 is a registered tool under the permission that it says", async () => {
    for (const [config, expected] of [
      [{}, "complete"],
      [{ permission: "allow" }, "complete"],
      [{ permission: "ask" }, "awaiting_approval"],
      [{ needs_approval: true }, "awaiting_approval"],
      [{ needs_approval: false }, "complete"],
      [{ permission: "deny" }, "complete"]
    ] as const) {
      const ran: Ran = { names: [] }
      const configs = [{ type: "builtin", name: "stock", ...config }]
      await play({ configs, tools: [said("stock", ran)] }, ["stock"], async (_, status) => {
        assert.strictEqual(status, expected, JSON.stringify(config))
      })
      const isRun =
        expected === "complete" && !("permission" in config && config.permission === "deny")
      assert.deepStrictEqual(ran.names, isRun ? ["shop.stock"] : [], JSON.stringify(config))
    }
  })

  it("AG-36 finds shared tools and plugins, and the tool that replaced one of them", async () => {
    const ran: Ran = { names: [] }
    const ask = (name: string) => ({ type: "builtin", name, permission: "ask" })
    const shared = [said("stock", ran), said("prices", ran)]
    const own = said("stock", ran, { namespace: "own" })
    await play(
      { configs: [ask("prices"), ask("stock")], shared, tools: [own] },
      ["stock", "prices"],
      async (troupe, status) => {
        assert.strictEqual(status, "awaiting_approval")
        const [question] = await troupe.pending()
        assert.strictEqual(question?.tool_key, "own.stock@1")
      }
    )
    assert.deepStrictEqual(ran.names, [])
  })

  it("AG-36 is a tool of a feature, or one that comes along, where none is registered under its name", async () => {
    const configs = [
      { type: "builtin", name: "list_dlq_events" },
      { type: "builtin", name: "http_request", permission: "deny" }
    ]
    const features = [Spectral.feature()]
    await play({ configs, features }, ["list_dlq_events"], async (troupe, status) => {
      assert.strictEqual(status, "complete")
      const results: Array<unknown> = []
      const [run] = await troupe.runs()
      for await (const item of troupe.watch(run!.id)) {
        if (item._tag === "Event" && item.entry.event._tag === "CallSettled") {
          results.push(item.entry.event.outcome._tag)
        }
      }
      assert.deepStrictEqual(results, ["Value"])
    })
  })

  it("AG-36 with an unknown name ends the start with the names that are known", async () => {
    const ran: Ran = { names: [] }
    const error = await refusalOf([{ type: "builtin", name: "stok" }], {
      tools: [said("stock", ran)]
    })
    assert.strictEqual(error._tag, "ToolConfigRefused")
    assert.strictEqual(error.reason, "UnknownTool")
    assert.include(error.message, 'tool "stok": no tool has this name. Known: ')
    for (const name of ["stock", "http_request", "remember"]) assert.include(error.message, name)
    // Those of features are known with their features alone.
    const ofFeatures = ["list_dlq_events", "read_loop_result"]
    for (const name of ofFeatures) assert.notInclude(error.message, name)
    const features = [Spectral.feature(), SemStreams.feature()]
    const { message } = await refusalOf([{ type: "builtin", name: "stok" }], { features })
    for (const name of ofFeatures) assert.include(message, name)
  })

  it("AG-36 that cannot be right ends the start before its store is opened", async () => {
    const name = "stock"
    const hostile = {
      get type(): string {
        throw new Error("hidden-secret")
      }
    }
    for (const [configs, part] of [
      [[{ type: "builtin", name, wat: 1 }], "wat"],
      [[{ type: "builtin", name, input_schema: {} }], "input_schema"],
      [[{ type: "builtin" }], "name"],
      [[{ type: "builtin", name: "shop.stock@1" }], "name"],
      [[{ type: "builtin", name: 7 }], "name"],
      [[{ type: "builtin", name, permission: "maybe" }], "permission"],
      [[{ type: "builtin", name, permission: "allow", needs_approval: true }], "exclude"],
      [[0, 1].map(() => ({ type: "builtin", name })), "it is listed twice"],
      [
        [
          { type: "builtin", name },
          { type: "code", name, script: "export default () => 1" }
        ],
        "two tools have this name"
      ],
      [[hostile], "cannot be read"]
    ] as const) {
      // Nobody could make this directory: a start that came that far would fail with another error.
      const error = await refusalOf([...configs], { store: { directory: "/proc/none" } })
      assert.strictEqual(error._tag, "ToolConfigRefused", `${part}: ${error.message}`)
      assert.include(error.message, part)
      assert.notInclude(error.message, "hidden-secret")
    }
  })

  it("AG-36 whose name means two tools ends the start with their keys", async () => {
    const ran: Ran = { names: [] }
    const tools = [said("stock", ran), said("stock", ran, { namespace: "depot" })]
    const error = await refusalOf([{ type: "builtin", name: "stock" }], { tools })
    assert.strictEqual(error.reason, "DuplicateTool")
    assert.include(error.message, "depot.stock@1, shop.stock@1")
  })

  it.effect("AG-36 takes the registered tool's place in a composed runtime, under its key", () =>
    Effect.gen(function* () {
      const registry = yield* ToolRegistry
      assert.strictEqual(registry.get("stock")?.spec.permission, "deny")
      assert.strictEqual(registry.get("shop.stock@1")?.spec.permission, "deny")
      assert.strictEqual(registry.get("prices")?.spec.permission, undefined)
      assert.lengthOf(
        registry.all.filter(({ spec }) => spec.name === "stock"),
        1
      )
      // Only what is named comes along.
      assert.strictEqual(registry.get("http_request"), undefined)
      assert.isDefined(registry.get("recall"))
    }).pipe(
      Effect.provide(
        Runtime.layer({
          agents: [agentWith("stock", "recall")],
          tools: [said("stock", { names: [] }), said("prices", { names: [] })],
          resolved: [
            BuiltinTools.tools([
              { type: "builtin", name: "stock", permission: "deny" },
              { type: "builtin", name: "recall" }
            ])
          ]
        }).pipe(Layer.provide(scripted([])), Layer.provideMerge(Stores.ephemeral))
      )
    )
  )
})
