/** Calls that the platform's gateway runs, against real servers. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Result } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { isRefSegment, modelNameOf, parseCallRef, refOf } from "../../src/call/CallRef.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { configured, endpointOf, platform, runBody } from "./Platform.ts"

const create: ToolConfig = {
  type: "gateway",
  integration: "github",
  action: "create_issue",
  connection: "my-gh"
}
const answer = (content: unknown, status: unknown = { code: "STATUS_CODE_OK" }) => ({
  body: JSON.stringify({ call: { id: "1", data: { content }, status } })
})

describe("a gateway call", () => {
  it.live("AG-38 AG-39 posts its arguments as an object, and returns the content as it is", () =>
    Effect.gen(function* () {
      const content = '{"issue":{"url":"https://github.example/1"}}'
      const web = yield* platform(() => answer(content))
      const [tool] = yield* configured(web, [create])
      const args = { title: "Broken" }
      for (const given of [args, JSON.stringify(args)]) {
        assert.strictEqual(yield* runBody(tool, given, { key: "k" }), content)
      }
      for (const { body, method, url } of web.seen) {
        assert.deepStrictEqual([method, url], ["POST", "/api/tools/call"])
        assert.deepStrictEqual(JSON.parse(body), {
          data: {
            id: "k",
            type: "function",
            function: { name: "tools.composio.github.create_issue.my-gh", arguments: args }
          }
        })
      }
      assert.lengthOf(web.seen, 2)
    })
  )

  it.live("AG-08 has another authorization where its own has expired, and is sent once more", () =>
    Effect.gen(function* () {
      const web = yield* platform(({ headers }) =>
        headers["authorization"] === "old" ? { status: 401 } : answer("made")
      )
      const given = ["old", "new"]
      const authorization = () => given.shift() ?? "old"
      const [tool] = yield* configured(web, [create], {
        callback: { endpoint: endpointOf(web), authorization }
      })
      const sent = () => web.seen.splice(0).map(({ headers }) => headers["authorization"])
      for (const all of [["old", "new"], ["new"]]) {
        assert.strictEqual(yield* runBody(tool, {}), "made")
        assert.deepStrictEqual(sent(), all)
      }
      // Of another run there is none but the old one.
      const error = yield* Effect.flip(runBody(tool, {}, { run: "other" as never }))
      assert.deepInclude(error, { _tag: "ToolPolicyError", reason: "HTTP_401" })
      assert.deepStrictEqual(sent(), ["old"])
    })
  )

  it.live("AG-11 sends the query of the callback's URL, and nobody reads it", () =>
    Effect.gen(function* () {
      const query = "?project=p-1&token=canary-query"
      const quoting = { detail: `POST http://127.0.0.1/api/tools/call${query}: no such project` }
      const web = yield* platform(() => ({ status: 404, body: JSON.stringify(quoting) }))
      const toolAt = (search: string) =>
        Effect.map(
          configured(web, [create], { callback: { endpoint: endpointOf(web) + search } }),
          ([tool]) => tool
        )
      const tool = yield* toolAt(query)
      const error = yield* Effect.flip(runBody(tool, {}))
      assert.deepStrictEqual(
        web.seen.map(({ url }) => url),
        [`/api/tools/call${query}`]
      )
      assert.include(JSON.stringify(error), "no such project")
      for (const seen of [error, tool?.target, tool?.spec]) {
        assert.notInclude(JSON.stringify(seen), "canary-query")
      }
      // Another query is another target: no decision holds for both.
      const others = [yield* toolAt(""), yield* toolAt("?project=p-2&token=canary-query")]
      for (const other of others) assert.notDeepEqual(other?.target, tool?.target)
    })
  )

  it.live("AG-38 shows a model the texts of its content without escaped markup", () =>
    Effect.gen(function* () {
      // What nobody sees is taken out; markup is a text.
      const page = 'say "hi" <to> & everybody'
      const web = yield* platform(() => answer({ page: `\u200b${page}` }))
      const prompts: Array<string> = []
      yield* Effect.promise(async () => {
        const troupe = await start({
          agents: [
            AgentSpec.make({ name: AgentName.make("a"), instructions: "Act.", tools: ["act"] })
          ],
          toolConfigs: {
            tools: [{ ...create, name: "act", permission: "allow" }],
            callback: { endpoint: endpointOf(web) }
          },
          model: layer((request) => {
            prompts.push(JSON.stringify(request.transcript))
            return prompts.length === 1 ? call("act", {}) : text("done")
          })
        })
        await troupe.ask({ agent: "a", text: "go" })
        await troupe.stop()
      })
      // The outcome's JSON, within that of the transcript.
      assert.include(prompts[1], JSON.stringify(JSON.stringify({ page })))
    })
  )

  it.live("AG-12 shows at most 2,000 characters of why a tool failed", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => answer("x".repeat(2_500), { code: "STATUS_CODE_ERROR" }))
      const [tool] = yield* configured(web, [create])
      const { message } = (yield* Effect.flip(runBody(tool, {}))) as ToolError
      assert.strictEqual(message, `gateway tool call failed: ${"x".repeat(2_000)}`)
    })
  )

  it.live("AG-40 fails when the status of its answer is an error, whatever the HTTP status", () =>
    Effect.gen(function* () {
      for (const [reply, tag, part] of [
        [
          answer("no such repository", { code: "STATUS_CODE_ERROR" }),
          "ToolUserError",
          "no such repository"
        ],
        [answer(null, { code: 422, message: "bad title" }), "ToolUserError", "bad title"],
        [answer("boom", { code: "500" }), "ToolUserError", "boom"],
        [answer("not this", { code: 400 }), "ToolUserError", "not this"],
        [answer("boom", { code: "FAILED" }), "ToolUserError", "boom"],
        [{ body: "<html>10.0.0.4</html>" }, "ToolTerminalError", "no result"],
        [{ body: '{"call":7}' }, "ToolTerminalError", "no result"],
        [{ status: 500, body: "trace of 10.0.0.4" }, "ToolTransientError", "HTTP 500"]
      ] as const) {
        const web = yield* platform(() => reply)
        const [tool] = yield* configured(web, [create])
        const error = (yield* Effect.flip(runBody(tool, {}))) as {
          readonly _tag: string
          readonly message: string
        }
        assert.strictEqual(error._tag, tag)
        assert.include(error.message, part)
        assert.notInclude(error.message, "10.0.0.4")
      }
    })
  )

  it.live("AG-57 is not made for what is called directly, and a gateway's 404 has a class", () =>
    Effect.gen(function* () {
      const web = yield* platform(() => ({ status: 404, body: '{"detail":"no such action"}' }))
      for (const callRef of ["tools.agenta.commit_revision", "workflow.variant.summarize"]) {
        const refused = yield* Effect.flip(
          configured(web, [{ kind: "callback", name: "x", callRef }])
        )
        assert.deepInclude(refused, { _tag: "ToolConfigRefused", reason: "NotOffered" })
      }
      const [tool] = yield* configured(web, [create])
      const error = yield* Effect.flip(runBody(tool, {}))
      assert.deepInclude(error, { _tag: "ToolUserError", kind: "not_found", reason: "HTTP_404" })
    })
  )
})

describe("a reference of the gateway", () => {
  it("AG-37 maps to a legal name of a model and back, or is refused", () => {
    for (const ref of [
      "tools.composio.github.create_issue.my-gh",
      "workflow.variant.summarize.3",
      "workflow.environment.production.summarize"
    ]) {
      const name = Result.getOrThrow(modelNameOf(ref))
      assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
      assert.strictEqual(refOf(name), ref)
      assert.isTrue(Result.isSuccess(parseCallRef(ref)))
    }
    const long = `tools.composio.${"a".repeat(60)}.b.c`
    assert.isTrue(Result.isFailure(modelNameOf(long)))
    for (const wrong of ["", "a__b", "_a", "a_", "a.b", "ä", "../x"]) {
      assert.isFalse(isRefSegment(wrong), wrong)
    }
    for (const wrong of [
      "tools.a.b.c",
      "tools.a.b.c.d.e",
      "workflow.variant",
      "other.a",
      "tools..b.c.d"
    ]) {
      assert.isTrue(Result.isFailure(parseCallRef(wrong)), wrong)
    }
  })
})
