/** What a direct call never sends, how much of an answer it reads beside the body, and who is asked before it. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import type { PlatformOp } from "../../src/call/PlatformOp.ts"
import type { PlatformTool, ToolConfig } from "../../src/call/ToolConfig.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/Ids.ts"
import { permissionOf } from "../../src/tool/SideEffects.ts"
import { configured, endpointOf, platform, runBody } from "./Platform.ts"

const reading = (name: string): ToolConfig => ({
  kind: "callback",
  name,
  call: { method: "GET", path: `/api/${name}` }
})

const act: PlatformOp = {
  op: "act",
  description: "Acts.",
  method: "POST",
  path: "/api/act",
  input_schema: { type: "object" }
}

const errorOf = (error: unknown): ToolError => error as ToolError

describe("a direct call", () => {
  it.live("AG-08 AG-64 is not sent with an authorization that no header can have", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      for (const value of ["ApiKey canary\r\nx-more: 1", "", "é", "x".repeat(8_001)]) {
        const [tool] = yield* configured(web, [reading("it")], {
          callback: { endpoint: endpointOf(web), authorization: () => Redacted.make(value) }
        })
        const error = errorOf(yield* Effect.flip(runBody(tool, {})))
        assert.deepInclude(error, { _tag: "ToolPolicyError", reason: "NO_AUTHORIZATION" })
        assert.notInclude(JSON.stringify(error), "canary")
      }
      assert.lengthOf(web.seen, 0)
    })
  )

  it.live("AG-08 has an authorization of its own where its run is not known, as in a worker", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      let asked = 0
      const [tool] = yield* configured(web, [reading("it")], {
        callback: { endpoint: endpointOf(web), authorization: () => `ApiKey ${++asked}` }
      })
      const run = "" as RunId
      for (let turn = 0; turn < 2; turn++) yield* runBody(tool, {}, { run })
      assert.deepStrictEqual(
        web.seen.map(({ headers }) => headers["authorization"]),
        ["ApiKey 1", "ApiKey 2"]
      )
    })
  )

  it.live("AG-23 AG-64 has a URL of at most 8,000 characters", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [reading("it")])
      const error = errorOf(yield* Effect.flip(runBody(tool, { q: "x".repeat(8_000) })))
      assert.deepInclude(error, { _tag: "ToolUserError", reason: "QUERY_TOO_LONG" })
      assert.lengthOf(web.seen, 0)
      yield* runBody(tool, { q: "x".repeat(7_500) })
      assert.lengthOf(web.seen, 1)
    })
  )

  it.live("AG-24 has no key of its dispatch where it is a GET", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const [tool] = yield* configured(web, [reading("it")])
      yield* runBody(tool, {}, { key: "k-1" })
      assert.isUndefined(web.seen[0]?.headers["idempotency-key"])
    })
  )

  it.live("AG-11 reads no more than 32,768 bytes of an answer's headers", () =>
    Effect.gen(function* () {
      const web = yield* platform(({ url }) => ({
        headers: { "x-long": "x".repeat(url === "/api/fits" ? 30_000 : 40_000) },
        body: '"read"'
      }))
      const [fits, longer] = yield* configured(web, [reading("fits"), reading("longer")])
      assert.strictEqual(yield* runBody(fits, {}), "read")
      const error = errorOf(yield* Effect.flip(runBody(longer, {})))
      assert.deepInclude(error, { reason: "CALL_NETWORK", message: "direct tool call failed" })
    })
  )

  it.live("AG-16 is known by the digest of its target where that is long", () =>
    Effect.gen(function* () {
      const web = yield* platform()
      const targetOf = (fixed: string) =>
        Effect.map(
          configured(web, [
            {
              kind: "callback",
              name: "it",
              call: { method: "POST", path: "/api/it", body: { fixed } }
            }
          ]),
          ([tool]) => tool?.target
        )
      assert.include(JSON.stringify(yield* targetOf("short")), "short")
      const [one, other] = [yield* targetOf("x".repeat(5_000)), yield* targetOf("x".repeat(5_001))]
      assert.match(JSON.stringify(one), /^\{"sha256":"[0-9a-f]{64}"\}$/)
      assert.notDeepEqual(one, other)
    })
  )
})

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
})
