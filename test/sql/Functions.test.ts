/** Each function of the schema has a caller in the code, or a line in the README that says who calls it. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { onEngines } from "./Engines.ts"

const room = join(import.meta.dirname, "../../layers/sql")

/** What runs in production; a migration defines functions and calls them from others. */
const code = readdirSync(room, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.startsWith("engine/migrations/"))
  .map((path) => readFileSync(join(room, path), "utf8"))
  .join("\n")

/** The first cells of the table of functions that no code calls. */
const listed = [
  ...readFileSync(join(room, "README.md"), "utf8").matchAll(
    /^\| `(\w+)` +\| .*(?:function|trigger|process)/gm
  )
].map(([, name]) => name!)

const isCalled = (name: string): boolean => code.includes(`troupe.${name}(`)

onEngines("the functions of the schema", (it) => {
  it.effect("are called by the code, or the README says by whom", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql.unsafe<{ readonly name: string }>(
        "SELECT DISTINCT proname AS name FROM pg_proc WHERE pronamespace = 'troupe'::regnamespace ORDER BY name"
      )
      const names = rows.map(({ name }) => name)
      assert.include(names, "append_runs")
      assert.deepStrictEqual(
        names.filter((name) => !isCalled(name)),
        listed.toSorted()
      )
    })
  )
})
