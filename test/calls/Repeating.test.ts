/** Configured tools whose requests may be sent again: with the same key, and only where their owner says so. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { PlatformOp } from "../../src/call/PlatformOp.ts"
import type { ToolConfig } from "../../src/call/ToolConfig.ts"
import { AgentName } from "../../src/value/Ids.ts"
import type { Reply } from "./Platform.ts"
import { configured, endpointOf, platform } from "./Platform.ts"
import type { Web } from "./Web.ts"

const again = {
  idempotent: true,
  retry: { max_attempts: 3, backoff_initial_ms: 1, backoff_max_ms: 1 }
} as const
const act: PlatformOp = {
  op: "act",
  description: "Acts.",
  method: "POST",
  path: "/api/act",
  input_schema: { type: "object", properties: {} }
}
const revision = { revision: "r-1", input_schema: { type: "object", properties: {} } }

/** The answer of a model's call to the one tool of an agent, which needs no approval. */
const called = (
  web: Web,
  config: ToolConfig,
  operations: ReadonlyArray<PlatformOp> = []
): Effect.Effect<string> =>
  Effect.promise(async () => {
    const troupe = await start({
      agents: [AgentSpec.make({ name: AgentName.make("a"), instructions: "Act.", tools: ["act"] })],
      toolConfigs: {
        tools: [{ ...config, permission: "allow" }],
        operations,
        references: () => revision,
        callback: { endpoint: endpointOf(web) }
      },
      model: layer(({ transcript }) => {
        const done = transcript.find(({ role }) => role === "tool")
        return done === undefined ? call("act", {}) : text(JSON.stringify(done))
      })
    })
    try {
      return (await troupe.ask({ agent: "a", text: "act" })).text ?? ""
    } finally {
      await troupe.stop()
    }
  })

/** Fails with 503 as often as that, and then answers. */
const failing = (times: number, body = "{}") => {
  let left = times
  return platform((): Reply => (left-- > 0 ? { status: 503 } : { body }))
}

const keysOf = (web: Web) => new Set(web.seen.map(({ headers }) => headers["idempotency-key"]))

const acting = { name: "act", kind: "callback" } as const
const posted = { ...acting, call: { method: "POST", path: "/api/act" } } as const
const gateway = { type: "gateway", integration: "x", action: "act", connection: "c" } as const
const kinds: ReadonlyArray<readonly [string, ToolConfig, PlatformOp?]> = [
  ["an operation", { type: "platform", op: "act" }, { ...act, ...again }],
  ["a callback", { ...posted, ...again }],
  ["a reference of a callback", { ...acting, callRef: "tools.p.x.act.c", ...again }],
  ["an action of the gateway", { ...gateway, name: "act", ...again }],
  ["a stored workflow", { type: "reference", slug: "act", ...again }]
]

describe("an idempotent configured tool", () => {
  for (const [what, config, operation] of kinds) {
    it.live(`sends ${what} again with its key, and the model reads the last answer`, () =>
      Effect.gen(function* () {
        const web = yield* failing(
          2,
          '{"call":{"data":{"content":"fin"}},"data":{"outputs":"fin"}}'
        )
        const said = yield* called(web, config, operation === undefined ? [] : [operation])
        assert.include(said, "fin")
        assert.lengthOf(web.seen, 3)
        const keys = keysOf(web)
        assert.lengthOf([...keys], 1)
        assert.match(String([...keys][0]), /^[0-9a-f]{64}$/)
      })
    )
  }

  it.live("is sent no more often than its policy says", () =>
    Effect.gen(function* () {
      const web = yield* failing(9)
      assert.include(yield* called(web, { ...posted, ...again }), "HTTP 503")
      assert.lengthOf(web.seen, 3)
      assert.lengthOf([...keysOf(web)], 1)
    })
  )
})

describe("any other configured tool", () => {
  it.live("is sent once, however it fails", () =>
    Effect.gen(function* () {
      const web = yield* failing(9)
      assert.include(yield* called(web, posted), "HTTP 503")
      assert.lengthOf(web.seen, 1)
    })
  )

  it.live("is sent again where it only reads", () =>
    Effect.gen(function* () {
      const web = yield* failing(1, '"fin"')
      const { retry } = again
      const config = { ...posted, read_only: true, retry } as const
      assert.include(yield* called(web, config), "fin")
      assert.lengthOf(web.seen, 2)
    })
  )

  const wrong: ReadonlyArray<readonly [string, ToolConfig, string]> = [
    ["a retry of a write", { ...posted, retry: again.retry }, "retry.max_attempts"],
    [
      "a retry of too many attempts",
      { ...posted, idempotent: true, retry: { max_attempts: 101 } },
      "retry.max_attempts"
    ],
    ["another member of a retry", { ...posted, retry: { times: 3 } as object }, "retry.times"],
    [
      "idempotent that is no boolean",
      { ...posted, idempotent: "yes" } as unknown as ToolConfig,
      "idempotent"
    ]
  ]
  for (const [what, config, field] of wrong) {
    it.effect(`is refused with ${what}`, () =>
      Effect.gen(function* () {
        const { message } = yield* Effect.flip(configured({ port: 1 }, [config]))
        assert.include(message, field)
        assert.include(message, "act")
      })
    )
  }
})
