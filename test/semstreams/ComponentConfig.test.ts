import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ToolWorker from "../../layers/compose/ToolWorker.ts"
import * as EphemeralToolQueue from "../../layers/ephemeral/EphemeralToolQueue.ts"
import { ToolQueueConfig } from "../../layers/runtime/queue/ToolQueueConfig.ts"
import { ToolQueueWorker } from "../../layers/runtime/queue/ToolQueueWorker.ts"
import { decodeSemStreamsConfig, workerOf } from "../../src/semstreams/ComponentConfig.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

it.effect("SM-31 an empty configuration has SemStreams' defaults", () =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* decodeSemStreamsConfig({}), {
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
  ["a field that there is not", { time_out: "1s" }, /time_out/]
] as const) {
  it.effect(`SM-32 refuses ${title}`, () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(decodeSemStreamsConfig(given))
      assert.match(error.message, says)
    })
  )
}

it.effect("the transport policy is SemStreams'", () =>
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

/** The plain names that a worker takes calls for, with this list of allowed tools. */
const servedWith = Effect.fnUntraced(function* (given: object) {
  const named = (name: string) => tool({ namespace: "t", name, side_effects: "read" }, () => null)
  const config = yield* decodeSemStreamsConfig(given)
  const { tools } = yield* ToolQueueWorker.pipe(
    Effect.provide(
      ToolWorker.layer({
        tools: [named("file_read"), named("file_write"), named("list")],
        ...workerOf(config)
      }).pipe(Layer.provide(EphemeralToolQueue.layer))
    )
  )
  return tools.filter((name) => !name.includes("@"))
})

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
      const refused = yield* Effect.flip(servedWith({ allowed_tools: [name] }))
      assert.include(String(refused), "there is no such tool")
    }
  })
)

it.live("SM-33 a worker takes the allowed tools only, each under its consumer's name", () =>
  Effect.gen(function* () {
    const named = (name: string) => tool({ namespace: "t", name, side_effects: "read" }, () => null)
    const config = yield* decodeSemStreamsConfig({
      allowed_tools: ["file_read"],
      consumer_name_suffix: "test"
    })
    const worker = yield* ToolQueueWorker.pipe(
      Effect.provide(
        ToolWorker.layer({
          tools: [named("file_read"), named("file_write")],
          ...workerOf(config)
        }).pipe(Layer.provide(EphemeralToolQueue.layer))
      )
    )
    assert.deepStrictEqual(worker.tools, ["t.file_read@1", "file_read"])
    assert.deepStrictEqual(worker.consumers, [
      "tool-exec-t-file-read@1-test",
      "tool-exec-file-read-test"
    ])
  })
)
