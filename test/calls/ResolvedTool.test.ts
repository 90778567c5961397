/** What the tools of a configuration become. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ConfiguredTools from "../../layers/calls/ConfiguredTools.ts"
import type { PlatformOp } from "../../src/call/PlatformOp.ts"
import type { PlatformTool, ToolConfig } from "../../src/call/ToolConfig.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { configured, platform } from "./Platform.ts"

const act: PlatformOp = {
  op: "act",
  description: "Acts.",
  method: "POST",
  path: "/api/act",
  input_schema: { type: "object" }
}

const inputs = (name: string) => ({ type: "object", properties: { [name]: { type: "string" } } })

describe("an operation of a catalogue", () => {
  it.live("AG-54 AG-58 has the permission of its entry, unless its configuration has another", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const permitted = (entry: Partial<PlatformOp>, config: Partial<PlatformTool> = {}) =>
        Effect.map(
          configured(web, [{ type: "platform", op: "act", ...config }], {
            operations: [{ ...act, ...entry }]
          }),
          ([tool]) => permissionOf(tool!.spec)
        )
      for (const [entry, config, permission] of [
        [{}, {}, "ask"],
        [{ read_only: true }, {}, "allow"],
        [{ default_permission: "allow" }, {}, "allow"],
        [{ default_permission: "deny" }, {}, "deny"],
        [{ read_only: true, default_permission: "ask" }, {}, "ask"],
        [{ read_only: true, default_needs_approval: true }, {}, "ask"],
        [{ default_permission: "deny" }, { permission: "allow" }, "allow"],
        [{ default_permission: "allow" }, { needs_approval: true }, "ask"]
      ] as const) {
        const found = yield* permitted(entry, config)
        assert.strictEqual(found, permission, JSON.stringify([entry, config]))
      }
    })
  )

  it.live("AG-48 has its reserved name as a tag, and its plain one for the model", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [{ type: "platform", op: "find_capabilities" }])
      assert.strictEqual(tool?.spec.name, "find_capabilities")
      assert.deepStrictEqual(tool?.spec.tags, ["tools.agenta.find_capabilities"])
    })
  )
})

describe("a configured tool", () => {
  it.effect("AG-07 of each type that the platform serves needs its callback", () =>
    Effect.gen(function* () {
      const tools: ReadonlyArray<ToolConfig> = [
        { type: "platform", op: "query_workflows" },
        { type: "gateway", integration: "github", action: "star", connection: "gh" },
        { type: "reference", slug: "summarize" },
        { kind: "callback", name: "it", call: { method: "POST", path: "/api/it" } },
        { kind: "callback", name: "it", callRef: "tools.composio.github.star.gh" }
      ]
      for (const tool of tools) {
        const references = () => ({ revision: "r-1", input_schema: inputs("text") })
        const refused = yield* Effect.flip(ConfiguredTools.tools({ tools: [tool], references }))
        assert.deepInclude(refused, { _tag: "ToolConfigRefused", reason: "MissingCallback" })
      }
    })
  )

  it.live("AG-44 of a workflow has its inputs and description, unless the configuration has", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const shown = (more: Partial<ToolConfig>) =>
        Effect.map(
          configured(web, [{ type: "reference", slug: "summarize", ...more } as ToolConfig], {
            references: () => ({
              revision: "r-1",
              input_schema: inputs("text"),
              description: "Summarizes."
            })
          }),
          ([tool]) => [tool?.spec.input_schema["properties"], tool?.spec.description]
        )
      assert.deepStrictEqual(yield* shown({}), [inputs("text").properties, "Summarizes."])
      assert.deepStrictEqual(
        yield* shown({ input_schema: inputs("page"), description: "Shortens." }),
        [inputs("page").properties, "Shortens."]
      )
    })
  )
})
