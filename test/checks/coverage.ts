/**
 * Every requirement, and the tests that name it: an id in a test's title or in a comment beside it is the claim that
 * the test shows the row.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { runCommandLine, toggle } from "../../scripts/command/CommandLine.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))

const Requirements = Schema.fromJsonString(
  Schema.Array(
    Schema.Struct({
      id: Schema.String,
      group: Schema.String,
      basis: Schema.String,
      behaviour: Schema.String,
      check: Schema.String
    })
  )
)

interface Proof {
  /** File and line, `test/run/RunDecider.test.ts:12`. */
  readonly at: string
  /** The test's title, or the comment. */
  readonly title: string
}

const requirements = Schema.decodeUnknownSync(Requirements)(
  readFileSync(join(root, "test/checks/requirements.json"), "utf8")
)

const idPattern = /\b(?:ST|SA|SG|AG|SM)-\d{2}\b/g
/** Texts between quotes; a title never holds its own kind of quote. */
const quoted = /"(?:[^"\\]|\\.)*"|`(?:[^`\\]|\\.)*`|'(?:[^'\\]|\\.)*'/g

/** What the line says about the id: the quoted text or the comment around it. */
const titleOf = (file: string, line: string, id: string): string => {
  const text = [...line.matchAll(quoted)].map(([match]) => match).find((each) => each.includes(id))
  const driver = /conformance\/(\w+)\.conformance\.test\.ts$/.exec(file)?.[1]
  if (driver !== undefined && /^\s*rows:/.test(line)) return `cases of vec:${driver}`
  return (text?.slice(1, -1) ?? line)
    .trim()
    .replace(/^(?:\/\*\*?|\*|\/\/)\s*/, "")
    .replace(/\s*\*\/$/, "")
}

const proofs = new Map<string, Array<Proof>>()
const files = readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
  .map((name) => `test/${name.replaceAll("\\", "/")}`)
  .filter((name) => name.endsWith(".ts"))
  .toSorted()
for (const file of files) {
  for (const [index, line] of readFileSync(join(root, file), "utf8").split("\n").entries()) {
    for (const id of new Set(line.match(idPattern) ?? [])) {
      const found = proofs.get(id) ?? []
      found.push({ at: `${file}:${index + 1}`, title: titleOf(file, line, id) })
      proofs.set(id, found)
    }
  }
}

const known = new Set(requirements.map(({ id }) => id))
const strays = [...proofs.keys()].filter((id) => !known.has(id))
const rows = requirements.map((row) => ({ ...row, tests: proofs.get(row.id) ?? [] }))
const groups = [...new Set(requirements.map(({ group }) => group))].map((group) => {
  const all = rows.filter((row) => row.group === group)
  return { group, rows: all.length, named: all.filter((row) => row.tests.length > 0).length }
})
const named = groups.reduce((sum, group) => sum + group.named, 0)

const print = (missing: boolean, json: boolean): void => {
  const shown = missing ? rows.filter((row) => row.tests.length === 0) : rows

  if (json) {
    console.log(JSON.stringify({ rows: shown, groups, strays }, undefined, 2))
  } else {
    let group = ""
    for (const row of shown) {
      if (row.group !== group) {
        group = row.group
        console.log(`\n${group}`)
      }
      console.log(`${row.id} (${row.basis}) ${row.behaviour}`)
      for (const { at, title } of row.tests) console.log(`    ${at}  ${title}`)
      if (row.tests.length === 0) console.log(`    no test names it; wanted: ${row.check}`)
    }
    console.log("")
    for (const each of groups) {
      console.log(`${each.group.padEnd(16)} ${each.named} of ${each.rows} rows named by a test`)
    }
    for (const id of strays) console.log(`${id} is named by a test and is no requirement`)
    console.log(`${"all".padEnd(16)} ${named} of ${rows.length} rows named by a test`)
  }
}

const coverage = Command.make(
  "coverage",
  {
    missing: toggle("missing", "only requirements that no test names"),
    json: toggle("json", "the same as one JSON document")
  },
  ({ json, missing }) => Effect.sync(() => print(missing, json))
).pipe(Command.withDescription("Prints every requirement and the tests that name it."))

await Effect.runPromise(runCommandLine(coverage))
