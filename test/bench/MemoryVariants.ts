/**
 * How much of its heap a service takes that is sent many runs with large results at once.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, calls, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, tool } from "../../src/index.ts"
import type { Sample } from "./Row.ts"

const results = 4
const result_units = 300_000
const sample_ms = 10

const fetching = tool(
  {
    namespace: "shop",
    name: "fetch",
    description: "Fetches.",
    input: Schema.Struct({ n: Schema.Int }),
    output: Schema.String,
    side_effects: "read"
  },
  () => Effect.as(Effect.sleep(20), "x".repeat(result_units))
)

export const crowd = async (store: string, runs: string): Promise<Sample> => {
  const directory = mkdtempSync(join(tmpdir(), "troupe-bench-"))
  const service = await start({
    agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["fetch"] })],
    tools: [fetching],
    ...(store === "pglite" ? { store: { directory: join(directory, "db") } } : undefined),
    model: layer(({ step }) =>
      step === 1
        ? calls(Array.from({ length: results }, (_, n) => call("fetch", { n })))
        : text("done")
    )
  })
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().heapUsed)
  }, sample_ms)
  let complete = 0
  await Promise.all(
    Array.from({ length: Number(runs) }, async () => {
      const { status } = await service.ask({ agent: "shop", text: "go" })
      if (status === "complete") complete++
    })
  )
  clearInterval(watch)
  await service.stop()
  rmSync(directory, { recursive: true, force: true })
  return { peak_mega: peak / 2 ** 20, complete }
}
