/** What the schema has is in use: each table by a statement of the code, each function too, or the README says who uses it. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { onEngines } from "./Engines.ts"

const room = join(import.meta.dirname, "../../layers/sql")

/** The text of its files, without comments. */
const textOf = (paths: ReadonlyArray<string>): string =>
  paths
    .map((path) => readFileSync(join(room, path), "utf8"))
    .join("\n")
    .replaceAll(/\/\*[^]*?\*\/|(?<=^|\s)\/\/.*$/gm, "")

/** What runs in production; a migration defines functions and calls them from others. */
const files = readdirSync(room, { recursive: true, encoding: "utf8" })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => path.endsWith(".ts") && !path.includes("/migrations/"))
const code = textOf(files)
/** The tables of the stores that are written once, whose statements the driver makes. */
const stored = textOf(
  readdirSync(join(room, "../stores"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => `../stores/${path}`)
)

const readme = readFileSync(join(room, "README.md"), "utf8")
/** The first cells of the table of functions that no code calls. */
const listed = [...readme.matchAll(/^\| `(\w+)` +\| .*(?:function|trigger)/gm)].map(
  ([, name]) => name!
)
/** Views that people read, and no code. */
const shown = [...readme.matchAll(/\bview `troupe\.(\w+)`/g)].map(([, name]) => name!)

const isCalled = (name: string): boolean => code.includes(`troupe.${name}(`)
/** The list of a feature's migrations has the feature's name in its own. */
const isList = (name: string): boolean =>
  name.startsWith("migrations_") && code.includes("`troupe.migrations_$")
const isNamed = (name: string): boolean =>
  isList(name) ||
  new RegExp(`troupe\\.${name}\\b(?!\\()`).test(code) ||
  stored.includes(`name: "${name}"`)

const names = (query: string) =>
  SqlClient.SqlClient.use((sql) =>
    Effect.map(sql.unsafe<{ readonly name: string }>(`${query} ORDER BY name`), (rows) =>
      rows.map(({ name }) => name)
    )
  )

onEngines("what the schema has", (it) => {
  it.effect("functions are called by the code, or the README says by whom", () =>
    Effect.gen(function* () {
      const functions = yield* names(
        "SELECT DISTINCT proname AS name FROM pg_proc WHERE pronamespace = 'troupe'::regnamespace"
      )
      assert.include(functions, "append_runs")
      assert.deepStrictEqual(
        functions.filter((name) => !isCalled(name)),
        listed.toSorted()
      )
    })
  )

  it.effect("tables and views are named by statements of the code, or the README shows them", () =>
    Effect.gen(function* () {
      const tables = yield* names(
        "SELECT relname AS name FROM pg_class WHERE relnamespace = 'troupe'::regnamespace AND relkind IN ('r', 'v')"
      )
      assert.includeMembers(tables, ["runs", "run_events", "platform_errors"])
      assert.deepStrictEqual(
        tables.filter((name) => !isNamed(name)),
        shown
      )
    })
  )
})
