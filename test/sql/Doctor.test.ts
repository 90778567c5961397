/** What `troupe doctor` finds in a store: on a server while a service uses it, and in a directory. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import * as Doctor from "../../layers/compose/entries/Doctor.ts"
import type { App } from "../../layers/compose/entries/Replay.ts"
import type { ToolServices } from "../../layers/compose/options/ServiceOptions.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { call, layer as scripted } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as DirectoryChecks from "../../layers/sql/examination/DirectoryChecks.ts"
import { marker } from "../../layers/sql/engine/ErasedBytes.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName } from "../../src/value/Ids.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Children from "../process/Child.ts"
import { inLongForm } from "../InLongForm.ts"
import * as Homes from "../process/Homes.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

const refund = (description: string) =>
  tool(
    {
      namespace: "shop",
      name: "refund",
      description,
      side_effects: "external",
      input: Schema.Struct({ order: Schema.String })
    },
    ({ order }) => `order ${order} is paid back`
  )
const shop = (tools: ReadonlyArray<string>) =>
  AgentSpec.make({ name: AgentName.make("shop"), instructions: "Help customers.", tools })
type Examined = App<unknown, ToolServices>
const app: Examined = { agents: [shop(["refund"])], tools: [refund("Pays an order back.")] }

/** The tests' server vacuums nothing, so that what plans cost is the same each time. */
const worst = (findings: ReadonlyArray<Doctor.Finding>) =>
  Doctor.worstOf(findings.filter(({ check }) => check !== "vacuum"))

const levelsOf = (findings: ReadonlyArray<Doctor.Finding>, check: string) =>
  findings.filter((each) => each.check === check).map(({ level }) => level)
const said = (findings: ReadonlyArray<Doctor.Finding>, check: string) =>
  findings.find((each) => each.check === check)?.message ?? ""

/** A service over the server with a question that waits. */
const asking = (postgres: string) =>
  Effect.promise(async () => {
    const troupe = await start({
      agents: [shop(["refund"])],
      tools: [refund("Pays an order back.")],
      model: scripted(() => call("refund", { order: "1" })),
      store: { postgres }
    })
    const asked = await troupe.ask({ agent: "shop", text: "refund it" })
    assert.strictEqual(asked.status, "awaiting_approval")
    return troupe
  })

describe("a doctor", () => {
  it.live(
    "says of a server what it promises, whose work waits, and what somebody has to do",
    () =>
      Effect.gen(function* () {
        const postgres = yield* EmbeddedPostgres.database
        const url = Redacted.make(postgres)
        const bare = yield* Doctor.examinePostgres(url, app)
        assert.deepStrictEqual(levelsOf(bare, "schema"), ["fault"])

        const troupe = yield* asking(postgres)
        const well = yield* Doctor.examinePostgres(url, app)
        assert.strictEqual(worst(well), "ok", JSON.stringify(well))
        for (const check of ["durability", "schema", "clock", "timeouts", "hosts", "outbox"]) {
          assert.deepStrictEqual(levelsOf(well, check), ["ok"], check)
        }
        assert.include(said(well, "locale"), "encoding UTF8, locale provider libc, LC_CTYPE C")
        assert.include(said(well, "tools"), "all 1 open questions are as they were")
        const changed: Examined = { ...app, tools: [refund("Pays an order back at once.")] }
        const other = yield* Doctor.examinePostgres(url, changed)
        assert.include(said(other, "tools"), "1 open questions are of agents or tools that were")
        const without: Examined = { agents: [shop([])], tools: [] }
        const gone = yield* Doctor.examinePostgres(url, without)
        assert.include(said(gone, "tools"), "1 open questions are about tools that their agents do")
        assert.strictEqual(worst(gone), "warning")

        yield* Effect.promise(() => troupe.stop())
        const alone = yield* Doctor.examinePostgres(url, app)
        assert.strictEqual(worst(alone), "warning", JSON.stringify(alone))
        assert.strictEqual(said(alone, "hosts"), "1 runs wait, and no process lives")
        yield* Effect.provide(
          SqlClient.SqlClient.use((sql) =>
            Effect.andThen(
              sql.unsafe(
                `INSERT INTO troupe.quarantine (run_id, tenant, reason, seq, at)
                 SELECT d.run_id, d.tenant, '"it does not fold"', 0, 0 FROM troupe.run_details d`
              ),
              sql.unsafe(
                `INSERT INTO troupe.migrations (migration_id, name) VALUES (9999, 'later')`
              )
            )
          ),
          Stores.postgres(url)
        )
        const ill = yield* Doctor.examinePostgres(url, app)
        assert.deepStrictEqual(levelsOf(ill, "quarantine"), ["fault"])
        assert.include(said(ill, "schema"), "a newer version runs on it")
        const child = yield* Children.start("scripts/troupe.ts", ["doctor"], {
          TROUPE_DATABASE_URL: postgres
        })
        assert.strictEqual((yield* child.ended).code, 2, child.text())
        assert.match(child.text(), /^fault +quarantine +1 runs are in quarantine/m)
        assert.notInclude(child.text(), new URL(postgres).password || "postgres://")

        yield* Effect.provide(
          SqlClient.SqlClient.use((sql) =>
            sql.unsafe(
              `UPDATE troupe.migrations SET name = 'later_needs_9999' WHERE name = 'later'`
            )
          ),
          Stores.postgres(url)
        )
        const kept = yield* Doctor.examinePostgres(url, app)
        assert.deepStrictEqual(levelsOf(kept, "schema"), ["fault"])
        assert.include(said(kept, "schema"), "It needs a version that has migration 9999")

        const nobody = yield* Doctor.examinePostgres(
          Redacted.make("postgres://a:b@127.0.0.1:1/c"),
          app
        )
        assert.deepStrictEqual(levelsOf(nobody, "store"), ["fault"])
      }),
    { timeout: 120_000 }
  )

  inLongForm("looks at the disk alone of a directory that a process uses", () =>
    Effect.gen(function* () {
      const { directory } = yield* Homes.directory
      const free = yield* Doctor.examineDirectory(directory, app)
      assert.deepStrictEqual(levelsOf(free, "erasure"), [])
      writeFileSync(join(directory, marker), "")
      const left = yield* DirectoryChecks.examine(directory)
      assert.deepStrictEqual(levelsOf(left, "erasure"), ["warning"])
      assert.deepStrictEqual(levelsOf(free, "lock"), ["ok"])
      assert.deepStrictEqual(levelsOf(free, "schema"), ["ok"])
      const used = yield* Effect.provide(
        Doctor.examineDirectory(directory, app),
        Stores.directory(directory)
      )
      assert.include(said(used, "lock"), `process ${process.pid} uses the directory`)
      assert.deepStrictEqual(levelsOf(used, "lock"), ["unknown"])
      assert.deepStrictEqual(levelsOf(used, "schema"), [])
      assert.deepStrictEqual(levelsOf(used, "space"), levelsOf(free, "space"))
    })
  )
})
