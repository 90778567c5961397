/** What `startWorker` is given from JavaScript: whatever is no option is named, and nothing was opened for it. */
import { Schema } from "effect"
import { assert, describe, it } from "vitest"
import type { WorkerOptions } from "../../layers/compose/entries/NodeToolWorker.ts"
import { startWorker } from "../../layers/compose/entries/NodeToolWorker.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"

const refund = tool(
  {
    namespace: "shop",
    name: "refund",
    side_effects: "external",
    input: Schema.Struct({ order: Schema.String })
  },
  async ({ order }) => order
)

/** Nobody listens there: an attempt to connect has another error. */
const store = { postgres: "postgres://127.0.0.1:9/nothing" }
const whole: WorkerOptions = { tools: [refund], store }

interface Rejected {
  readonly _tag?: string
  readonly field?: string
  readonly message?: string
}

const refused = (options: unknown): Promise<Rejected> =>
  startWorker(options as WorkerOptions).then(
    async (worker) => {
      await worker.stop()
      return { _tag: "started" }
    },
    (error: Rejected) => error
  )

const wrong: ReadonlyArray<readonly [field: string, given: Record<string, unknown>]> = [
  ["tools", { tools: undefined }],
  ["tools", { tools: "refund" }],
  ["tools.0", { tools: [() => "x"] }],
  ["serve", { serve: "refund" }],
  ["serve.0", { serve: [""] }],
  ["capabilities", { capabilities: "fs.read" }],
  ["capabilities.0", { capabilities: ["not a capability"] }],
  ["provider", { provider: "" }],
  ["store", { store: undefined }],
  ["store", { store: "ephemeral" }],
  ["store", { store: { directory: ".troupe" } }],
  ["store", { store: { postgres: "mysql://h/d" } }],
  ["telemetry", { telemetry: "on" }],
  ["config", { config: 7 }],
  ["config.concurrency", { config: { concurrency: 0 } }],
  ["config.concurrency", { config: { concurrency: "3" } }],
  ["config.ack_wait_ms", { config: { ack_wait_ms: Number.NaN } }],
  ["config.ack_wait_ms", { config: { ack_wait_ms: undefined } }],
  ["config.backoff_ms", { config: { backoff_ms: [] } }],
  ["config.backoff_ms.0", { config: { backoff_ms: [-1] } }],
  ["config.result_ms", { config: { result_ms: 3_600_000 } }],
  ["config.lease_ms", { config: { lease_ms: 1 } }],
  ["consumer_name_suffix", { consumer_name_suffix: "-a" }]
]

describe("the options of a worker", () => {
  for (const [field, given] of wrong) {
    it(`names ${field} where it is ${JSON.stringify(given).slice(0, 80)}`, async () => {
      const error = await refused({ ...whole, ...given })
      assert.deepStrictEqual([error._tag, error.field], ["InvalidInput", field], error.message)
      assert.isNotEmpty(error.message)
    })
  }

  it("are an object", async () => {
    for (const given of [undefined, null, "x", 7, [], [whole]]) {
      assert.strictEqual((await refused(given))._tag, "InvalidInput")
    }
  })

  it("are taken where they are right, and a member that is undefined is not given", async () => {
    const config = { concurrency: 2, backoff_ms: [0, 10], stop_ms: 0, result_ms: 7_200_000 }
    const error = await refused({ ...whole, serve: undefined, capabilities: ["fs.read"], config })
    assert.strictEqual(error._tag, "SqlError", error.message)
  })
})
