import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { ToolQueueWorker } from "../../layers/runtime/queue/ToolQueueWorker.ts"
import {
  configuredTool,
  decodeComponentConfig,
  exploringGroups
} from "../../src/semstreams/ComponentConfig.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

it.effect("SM-31 an empty configuration has SemStreams' defaults", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* decodeComponentConfig({}), {
      ports: {
        inputs: [{ name: "tool.execute", subjects: ["tool.execute.>"], stream_name: "AGENT" }],
        outputs: [{ name: "tool.result", subjects: ["tool.result.*"], stream_name: "AGENT" }]
      },
      stream_name: "AGENT",
      consumer_name_suffix: "",
      delete_consumer_on_stop: false,
      timeout: "60s",
      allowed_tools: null,
      approval_required: [],
      enable_categories: false,
      loops_bucket: "AGENT_LOOPS",
      tool_retries: {}
    })
  })
)

const inputs = [{ name: "mine", subjects: ["tool.execute.mine"] }]

for (const [title, given, says] of [
  [
    "ports without inputs",
    { ports: { inputs: [], outputs: inputs } },
    /at least one port|at least 1/
  ],
  ["ports without outputs", { ports: { inputs, outputs: [] } }, /at least one port|at least 1/],
  ["ports with one direction", { ports: { inputs } }, /outputs/],
  ["a timeout that is none", { timeout: "soon" }, /not a duration/],
  ["an unknown field", { time_out: "1s" }, /time_out/]
] as const) {
  it.effect(`SM-32 refuses ${title}`, () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(decodeComponentConfig(given))
      assert.match(error.message, says)
    })
  )
}

it.effect("the tool queue's defaults are SemStreams' transport policy", () =>
  Effect.gen(function* () {
    assert.deepInclude(yield* ToolQueueConfig, {
      concurrency: 3,
      deliveries_max: 3,
      ack_wait_ms: 5 * 60_000,
      backoff_ms: [15_000, 60_000],
      message_ms_max: 10 * 60_000
    })
  })
)

const platform = { org: "acme", platform: "test" }

const named = (name: string) => tool({ namespace: "t", name, side_effects: "read" }, () => null)

/** Asks something of a component with this configuration and three tools. */
const withComponent = <A, E>(given: object, asked: Effect.Effect<A, E, SemStreams.Component>) =>
  Effect.flatMap(decodeComponentConfig(given), (config) =>
    Effect.provide(
      asked,
      SemStreams.tools({
        ...platform,
        config,
        tools: [named("file_read"), named("file_write"), named("list")]
      }).pipe(Layer.provide(Layer.fresh(EphemeralToolQueue.layer)))
    )
  )

/** The plain names that its worker takes calls for. */
const servedWith = (given: object) =>
  withComponent(
    given,
    ToolQueueWorker.useSync(({ tools }) => tools.filter((name) => !name.includes("@")))
  )

it.live("SM-23 no list and an empty one allow every tool; otherwise only those that it names", () =>
  Effect.gen(function* () {
    const all = ["file_read", "file_write", "list"]
    assert.sameMembers([...(yield* servedWith({}))], all)
    assert.sameMembers([...(yield* servedWith({ allowed_tools: null }))], all)
    assert.sameMembers([...(yield* servedWith({ allowed_tools: [] }))], all)
    assert.sameMembers([...(yield* servedWith({ allowed_tools: ["list"] }))], ["list"])
    const two = ["file_write", "file_read"]
    assert.sameMembers([...(yield* servedWith({ allowed_tools: two }))], two)
    // By exact name: neither a part of one nor another case of it.
    for (const name of ["file", "LIST", "list "]) {
      assert.deepStrictEqual(yield* servedWith({ allowed_tools: [name] }), [])
    }
  })
)

it.live("SM-33 a worker takes the allowed tools only, each under its consumer's name", () =>
  withComponent(
    { allowed_tools: ["file_read"], consumer_name_suffix: "test" },
    Effect.gen(function* () {
      const worker = yield* ToolQueueWorker
      assert.deepStrictEqual(worker.tools, ["t.file_read@1", "file_read"])
      assert.deepStrictEqual(worker.consumers, [
        "tool-exec-t-file-read@1-test",
        "tool-exec-file-read-test"
      ])
      const { consumers } = yield* SemStreams.SemStreamsTools
      assert.deepStrictEqual(consumers, ["agentic-tools-tool-execute-all-test"])
    })
  )
)

it.effect(
  "SM-83 an exploring agent has the groups that only read where categories are enabled",
  () =>
    Effect.gen(function* () {
      const groups = ["core", "knowledge", "network"] as const
      assert.deepStrictEqual(exploringGroups(yield* decodeComponentConfig({})), {})
      const enabled = yield* decodeComponentConfig({ enable_categories: true })
      assert.deepStrictEqual(exploringGroups(enabled), { groups })
    })
)

it.effect(
  "SM-25 SM-39 a component's retries and timeout reach its tools, and repeat no side effect",
  () =>
    Effect.gen(function* () {
      const config = yield* decodeComponentConfig({
        timeout: "5s",
        tool_retries: { list: { max_attempts: 3, backoff_initial_ms: -1 } }
      })
      const configured = (more: object = {}) =>
        Effect.flatMap(
          tool({ namespace: "t", name: "list", side_effects: "read", ...more }, () => null),
          ([list]) => configuredTool(config, list)
        )
      const { spec } = yield* configured()
      assert.strictEqual(spec.timeout_ms, 5_000)
      assert.deepInclude(spec.retry, { max_attempts: 3, backoff_initial_ms: 100 })
      assert.strictEqual((yield* configured({ timeout_ms: 7_000 })).spec.timeout_ms, 7_000)
      const error = yield* Effect.flip(configured({ side_effects: "write" }))
      assert.strictEqual(error.field, "retry.max_attempts")
    })
)
