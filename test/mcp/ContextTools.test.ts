import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { McpServers } from "../../services/McpServers.ts"
import * as S from "./Servers.ts"

const keys = McpServers.useSync(({ tools }) => tools.map(({ key }) => key))
const own = ["list_resources", "read_resource", "list_prompts", "get_prompt"].map(
  (name) => `everything.${name}@1`
)

describe("the resources and prompts of a server", () => {
  it.live("are tools where its declaration asks for them", () =>
    Effect.gen(function* () {
      const { tools } = yield* McpServers
      for (const key of own) {
        const { spec } = tools.find((each) => each.key === key)!
        assert.strictEqual(spec.side_effects, "read")
        assert.strictEqual(spec.permission, key.includes("get_prompt") ? "ask" : undefined)
      }
      const listed = (yield* S.callBody("everything.list_resources@1")) as {
        readonly resources: ReadonlyArray<{ readonly uri: string }>
        readonly resourceTemplates: ReadonlyArray<{ readonly uriTemplate: string }>
      }
      assert.isAbove(listed.resources.length, 0)
      assert.isAbove(listed.resourceTemplates.length, 0)
      const { uri } = listed.resources[0]!
      const read = yield* S.callBody("everything.read_resource@1", { uri })
      assert.isTrue(String(read).startsWith(`[resource ${uri}`), String(read).slice(0, 200))
      const absent = yield* Effect.flip(
        S.callBody("everything.read_resource@1", { uri: "demo://no" })
      )
      assert.match(String((absent as Error).message), /not found/i)
      const prompts = JSON.stringify(yield* S.callBody("everything.list_prompts@1"))
      assert.include(prompts, "simple-prompt")
      const got = yield* S.callBody("everything.get_prompt@1", { name: "simple-prompt" })
      assert.match(String(got), /^user: /)
    }).pipe(
      Effect.provide(
        S.importing(
          S.everything({
            resources: true,
            prompts: true,
            tools: { get_prompt: { permission: "ask" } }
          })
        )
      )
    )
  )

  it.live("are none where it does not, and are refused where the server has none", () =>
    Effect.gen(function* () {
      assert.lengthOf(
        (yield* keys).filter((key) => /resource@|prompt@/.test(key)),
        1
      )
      const error = yield* Effect.flip(S.callBody("odd.read_resource@1", { uri: "a:b" }))
      assert.deepInclude(error, { reason: "MCP_METHOD_NOT_FOUND" })
    }).pipe(
      Effect.provide(S.importing(S.misbehaving("plain", "", { resources: true, only: ["look"] })))
    )
  )
})
