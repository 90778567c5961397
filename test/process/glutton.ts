/**
 * A service whose heap is small, and whose runs call a tool four times that returns much. Arguments: its store as JSON, the file in
 * which each effect is written down as its key, and how many characters a result has. Answers by IPC: `send` (so many runs; how many
 * were accepted), `counts` (runs, by status).
 */
import { appendFileSync } from "node:fs"
import { Effect, Schema } from "effect"
import type { Options } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { call, calls, layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec, tool } from "../../src/index.ts"

const [store = "", log = "", units = ""] = process.argv.slice(2)
const results = 4

const order = tool(
  {
    namespace: "shop",
    name: "order",
    description: "Orders.",
    input: Schema.Struct({ n: Schema.Int }),
    output: Schema.String,
    side_effects: "write",
    permission: "allow",
    idempotent: true,
    // A kill says nothing of the tool.
    timeout_ms: 600_000
  },
  (_, { key }) =>
    Effect.gen(function* () {
      yield* Effect.sleep(20)
      appendFileSync(log, `${key}\n`)
      return "x".repeat(Number(units))
    })
)

const troupe = await start({
  agents: [AgentSpec.make({ name: "shop", instructions: "Help.", tools: ["order"] })],
  tools: [order],
  store: JSON.parse(store) as NonNullable<Options["store"]>,
  // A run with a call that has no value fails.
  model: layer(({ step, transcript }) => {
    if (step === 1) return calls(Array.from({ length: results }, (_, n) => call("order", { n })))
    const isWhole = transcript.every((it) => it.role !== "tool" || it.outcome._tag === "Value")
    return isWhole ? text("done") : undefined
  })
})

const counts = async () => {
  const found: Record<string, number> = {}
  for (let query: Parameters<typeof troupe.runs>[0] = { limit: 500 }; ;) {
    const page = await troupe.runs(query)
    for (const { status } of page) found[status] = (found[status] ?? 0) + 1
    const last = page.at(-1)
    if (page.length < 500 || last === undefined) return found
    query = { limit: 500, after: last.id }
  }
}

const send = async (runs: number) => {
  const sent = await Promise.allSettled(
    Array.from({ length: runs }, () => troupe.send({ agent: "shop", text: "go" }))
  )
  return sent.filter(({ status }) => status === "fulfilled").length
}

process.on("message", ({ id, op, runs }: { id: number; op: string; runs: number }) => {
  void (op === "send" ? send(runs) : counts()).then(
    (answer) => process.send?.({ id, answer }),
    (error: unknown) => process.send?.({ id, error: String(error) })
  )
})
process.send?.({ notice: "ready" })
