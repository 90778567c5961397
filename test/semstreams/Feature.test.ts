/** SemStreams as a feature of a service: its tools, its tables, and what an erasure does in them. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { afterAll, assert, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as SemStreams from "../../layers/compose/entries/SemStreams.ts"
import * as Spectral from "../../layers/compose/entries/Spectral.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import { either } from "../Long.ts"

const data = mkdtempSync(join(tmpdir(), "troupe-semstreams-"))
afterAll(() => rmSync(data, { recursive: true, force: true }))

const olga = { id: "olga", tenant: "acme", roles: ["operator"] } as const
const admin = { id: "ada", tenant: "acme", roles: ["admin"] } as const
const diagnosis = {
  finding: "olga waits",
  recommendation: "look",
  confidence: 0.5,
  evidence: ["a log"]
}
const calls = [call("monitor_flow", { flow_id: "coordinator" }), call("emit_diagnosis", diagnosis)]

const options = {
  agents: [
    agent({
      name: "coordinator",
      instructions: "Look.",
      tools: ["monitor_flow", "emit_diagnosis"]
    })
  ],
  model: scripted(({ transcript }) => {
    const done = transcript.flatMap((entry) => (entry.role === "tool" ? [resultText(entry)] : []))
    return calls[done.length] ?? text(done.join("\n"))
  })
}

const feature = SemStreams.feature({ coordination: { org: "acme", platform: "test" } })

const tablesIn = async (directory: string): Promise<ReadonlyArray<unknown>> => {
  const database = await PGlite.create(join(directory, "pgdata"))
  const { rows } = await database.query<{ readonly name: string }>(
    "SELECT name FROM troupe.feature_tables WHERE feature = 'semstreams' ORDER BY name"
  )
  await database.close()
  return rows.map(({ name }) => name)
}

describe("the feature of SemStreams", () => {
  for (const [name, store] of (
    [
      ["in memory", "ephemeral"],
      ["in a directory", { directory: join(data, "db") }]
    ] as const
  ).slice(0, either(1, 2))) {
    it(`has its tools read and write its stores, which are erased, ${name}`, async () => {
      const troupe = await start({ ...options, store, features: [feature, Spectral.feature()] })
      try {
        const ask = { agent: "coordinator", text: "How is the flow?" }
        await troupe.ask(ask, olga)
        // The loop that ended is a record of the flow by now.
        const second = await troupe.ask(ask, olga)
        assert.strictEqual(second.status, "complete")
        assert.include(second.text, `"total_loops":1`)
        const { erased, found } = await troupe.erase({ subject: "olga" }, admin)
        assert.isAbove(erased["triples"] ?? 0, 0)
        assert.strictEqual(erased["loop_records"], 1)
        assert.deepStrictEqual(found, [])
      } finally {
        await troupe.stop()
      }
      if (typeof store === "string") return
      const tables = ["components", "flow_states", "loop_records", "triples"]
      assert.deepStrictEqual(await tablesIn(store.directory), tables)
    })
  }

  it("has no tool that writes facts unless it is told whose they are", async () => {
    const error = await start({ ...options, features: [SemStreams.feature()] }).catch(
      (thrown: unknown) => thrown
    )
    assert.match((error as Error).message, /emit_diagnosis/)
  })
})
