import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { tool } from "../../src/tool/DeclaredTool.ts"
import type { GovernedTool } from "../../src/tool/GovernedTool.ts"
import * as Registry from "../../src/tool/Registry.ts"
import type { ToolPlugin } from "../../src/tool/ToolPlugin.ts"
import * as ToolPlugins from "../../src/tool/ToolPlugin.ts"
import { ToolRegistry } from "../../services/ToolRegistry.ts"
import * as EphemeralRuntime from "../runtime/EphemeralRuntime.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"

const says = (namespace: string, name: string) =>
  tool({ namespace, name, side_effects: "read", output: Schema.String }, () => namespace)

type Tools = Effect.Effect<ReadonlyArray<GovernedTool>, unknown>

const plugin = (name: string, tools: Tools, manifest: object = {}): ToolPlugin<never, unknown> => ({
  manifest: { name, version: "1.0.0", api_version: "1", namespaces: [name], ...manifest },
  tools
})

const load = (...plugins: ReadonlyArray<ToolPlugin<never, unknown>>) =>
  ToolPlugins.loadPlugins(Registry.empty, plugins)

const refused = (...plugins: ReadonlyArray<ToolPlugin<never, unknown>>) =>
  Effect.map(Effect.flip(load(...plugins)), (error) => error as ToolPlugins.PluginRefused)

describe("a plugin", () => {
  it.effect("SG-56 SG-57 registers its tools under its name, in the order of the manifests", () =>
    Effect.gen(function* () {
      const built: Array<string> = []
      const noted = (name: string, order?: number) =>
        plugin(
          name,
          Effect.tap(says(name, "t"), () => Effect.sync(() => built.push(name))),
          order === undefined ? {} : { order }
        )
      const registry = yield* load(noted("late", 9_000), noted("b"), noted("a"), noted("soon", 0))
      assert.deepStrictEqual(built, ["soon", "a", "b", "late"])
      assert.deepStrictEqual(
        registry.discover().map(({ name, provider }) => [name, provider]),
        ["a", "b", "late", "soon"].map((name) => [`${name}.t@1`, name])
      )
    })
  )

  it.effect("SG-57 has an order from 0 to 10,000, and 5,000 by default", () =>
    Effect.gen(function* () {
      const built: Array<string> = []
      const noted = (name: string, order?: number) =>
        plugin(
          name,
          Effect.tap(says(name, "t"), () => Effect.sync(() => built.push(name))),
          order === undefined ? {} : { order }
        )
      yield* load(
        noted("last", 10_000),
        noted("after", 5_001),
        noted("b-default"),
        noted("a-same", 5_000),
        noted("before", 4_999),
        noted("first", 0)
      )
      assert.deepStrictEqual(built, ["first", "before", "a-same", "b-default", "after", "last"])
    })
  )

  it.effect(
    "SG-57 is refused with a manifest that cannot be decoded, naming the field and the fix",
    () =>
      Effect.gen(function* () {
        const wrong: ReadonlyArray<readonly [object, string]> = [
          [{ api_version: "2" }, "api_version"],
          [{ api_version: 1 }, "api_version"],
          [{ api_version: undefined }, "api_version"],
          [{ namespaces: undefined }, "namespaces"],
          [{ namespaces: Array.from({ length: 33 }, (_, i) => `n${i}`) }, "namespaces"],
          [{ name: "" }, "name"],
          [{ name: "a b" }, "name"],
          [{ version: "" }, "version"],
          [{ order: 10_001 }, "order"],
          [{ order: -1 }, "order"],
          [{ order: 1.5 }, "order"],
          [{ namespaces: [] }, "namespaces"],
          [{ namespaces: ["a b"] }, "namespaces.0"],
          [{ provides: ["store"] }, "provides.0"],
          [{ homepage: "x" }, "homepage"]
        ]
        for (const [manifest, field] of wrong) {
          const error = yield* refused(plugin("p", says("p", "t"), manifest))
          assert.deepInclude(error, { _tag: "PluginRefused", field })
          assert.include(error.message, `, field "${field}": `)
          assert.include(error.message, "A manifest has")
        }
        assert.deepInclude(yield* refused({ manifest: null, tools: says("p", "t") } as never), {
          _tag: "PluginRefused"
        })
      })
  )

  it.effect("SG-57 may not share a namespace or a name, nor leave the namespaces it declares", () =>
    Effect.gen(function* () {
      const clash = yield* refused(
        plugin("a", says("a", "t")),
        plugin("b", says("b", "t"), { namespaces: ["b", "a"] })
      )
      assert.deepInclude(clash, { plugin: "b", field: "namespaces" })
      assert.include(clash.message, 'plugin "a"')
      // Whoever is loaded first has it, though it stands behind.
      const order = yield* refused(
        plugin("b", says("b", "t"), { namespaces: ["b", "shop"] }),
        plugin("a", says("a", "t"), { namespaces: ["a", "shop"], order: 1 })
      )
      assert.deepInclude(order, { plugin: "b", field: "namespaces" })
      const twice = yield* refused(plugin("a", says("a", "t")), plugin("a", says("a", "u")))
      assert.deepInclude(twice, { plugin: "a", field: "name" })
      const outside = yield* refused(plugin("a", says("shop", "t")))
      assert.deepInclude(outside, { plugin: "a", field: "namespaces" })
      assert.include(outside.message, "shop.t@1")
    })
  )

  it.effect("SG-56 is refused with a bare spec, which has no handler, and without tools", () =>
    Effect.gen(function* () {
      const bare = Effect.map(says("a", "t").spec, (spec) => [spec])
      const error = yield* refused(plugin("a", bare as never))
      assert.deepInclude(error, { plugin: "a", field: "tools.0" })
      assert.include(error.message, "not its spec")
      const half = Effect.map(says("a", "t"), ([{ spec }]) => [{ spec }])
      assert.deepInclude(yield* refused(plugin("a", half as never)), { field: "tools.0" })
      const nothing = yield* Effect.flip(load(plugin("a", Effect.succeed([]))))
      assert.deepInclude(nothing, { _tag: "EmptyFamily", provider: "a" })
    })
  )

  it.effect(
    "SG-58 ends the start where its key is taken, and gives way to a tool of the runtime",
    () =>
      Effect.gen(function* () {
        const taken = yield* registryWith({
          tools: [],
          shared: [says("a", "t"), plugin("a", says("a", "t"))]
        }).pipe(Effect.flip)
        assert.deepInclude(taken, { _tag: "DuplicateTool", key: "a.t@1" })
        const found = yield* registryWith({
          tools: [says("mine", "t")],
          shared: [
            plugin(
              "a",
              Effect.map(Effect.all([says("a", "t"), says("a", "u")]), (all) => all.flat())
            )
          ]
        })
        assert.strictEqual(found.get("t")?.key, "mine.t@1")
        assert.strictEqual(found.get("u")?.provider, "a")
      })
  )
})

const registryWith = (sources: {
  readonly tools: ReadonlyArray<Tools>
  readonly shared: ReadonlyArray<Tools | ToolPlugin<never, unknown>>
}) =>
  Effect.provide(
    ToolRegistry,
    EphemeralRuntime.layer({ agents: [], ...sources }).pipe(
      Layer.provide(ScriptedModelGateway.layer([]))
    )
  )
