/**
 * The tests, by vitest, and what came of them.
 */
import { readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Schema } from "effect"
import { Progress } from "../../scripts/command/Progress.ts"
import * as Scratch from "./Scratch.ts"
import { root, run, seconds } from "./Program.ts"
import type { Form } from "./Program.ts"

const withoutColours = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- colours begin with an escape
  text.replace(/\u001b\[[\d;]*m/g, "")

/** The first error of what a program printed at its end; nothing where it says none. */
const causeIn = (tail: string): string => {
  const lines = withoutColours(tail).split("\n")
  const cause =
    lines.find((line) => /^\s*(?:\w*Error|FATAL ERROR|Error)\b.*:/.test(line)) ??
    lines.find((line) => /\b(?:error|panic|out of memory|killed)\b/i.test(line))
  return cause === undefined ? "" : `: ${cause.trim().slice(0, 500)}`
}

const Assertion = Schema.Struct({
  fullName: Schema.String,
  /** "passed", "failed", or why it was left out. */
  status: Schema.String,
  failureMessages: Schema.Array(Schema.String),
  /** What a test has to say about what it could not show here, and why. */
  meta: Schema.optionalKey(
    Schema.Struct({ notes: Schema.optionalKey(Schema.Array(Schema.String)) })
  )
})
const Report = Schema.Struct({
  testResults: Schema.Array(
    Schema.Struct({
      name: Schema.String,
      status: Schema.String,
      message: Schema.String,
      /** In ms since 1970. */
      startTime: Schema.Number,
      endTime: Schema.Number,
      assertionResults: Schema.Array(Assertion)
    })
  )
})
const decodeReport = Schema.decodeUnknownSync(Schema.fromJsonString(Report))

/** A failed test and the start of its error: what was printed of it may be beyond the bound of a program's output. */
const failedLine = (at: string, { failureMessages, fullName }: typeof Assertion.Type): string =>
  `${at}: ${fullName}\n    ${withoutColours(failureMessages[0] ?? "")
    .split("\n", 1)[0]
    ?.slice(0, 300)}`

interface Tested {
  readonly passed: number
  readonly failed: ReadonlyArray<string>
  readonly skipped: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
  /** The files that took longest, one line each. */
  readonly slowest: ReadonlyArray<string>
}

const lines_max = 120
const slowest_files = 10

const slowest = ({ testResults }: typeof Report.Type): ReadonlyArray<string> =>
  testResults
    .map(({ endTime, name, startTime }) => ({ name, ms: endTime - startTime }))
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, slowest_files)
    .map(({ ms, name }) => `${seconds(ms).padStart(8)}  ${placeOf(name)}`)

const placeOf = (file: string): string =>
  file.startsWith(root) ? file.slice(resolve(root).length + 1) : file

/**
 * Shows what vitest prints: on a terminal the files that passed are one line that is rewritten, and failures and notes stand above it.
 */
export const countFiles = (
  progress: Progress,
  out: Pick<NodeJS.WriteStream, "isTTY"> & { readonly write: (text: string) => unknown }
): ((text: string) => void) => {
  let rest = ""
  let files = 0
  return (text) => {
    if (!out.isTTY) return void out.write(text)
    const lines = (rest + text).split("\n")
    rest = lines.pop() ?? ""
    for (const line of lines) {
      const passed = /^ *✓ (?:.*?(test\/\S+\.test\.ts))?/.exec(withoutColours(line))
      if (passed === null) {
        progress.clear()
        out.write(`${line}\n`)
      } else if (passed[1] !== undefined) progress.at(++files, passed[1])
    }
  }
}

export const runTests = async (
  form: Form,
  files: ReadonlyArray<string>,
  timeout_ms: number
): Promise<Tested> => {
  const folder = Scratch.make(form)
  const file = join(folder, "report.json")
  console.log("== tests")
  const progress = new Progress("testing", { unit: "files" })
  const ran = await run(
    "vitest",
    [
      "run",
      "--config",
      "test/vitest.config.ts",
      "--reporter=default",
      "--reporter=json",
      `--outputFile.json=${file}`,
      "--silent=passed-only",
      ...files
    ],
    { timeout_ms, live: countFiles(progress, process.stdout), form, folder }
  )
  progress.clear()
  process.stdout.write(ran.output)
  let reported = true
  let report: typeof Report.Type = { testResults: [] }
  try {
    report = decodeReport(readFileSync(file, "utf8"))
  } catch {
    // Vitest found nothing to run, or died; both are failures below.
    reported = false
  }

  let passed = 0
  const failed: Array<string> = []
  const skipped: Array<string> = []
  const notes: Array<string> = []
  for (const { assertionResults, message, name, status } of report.testResults) {
    const at = placeOf(name)
    const before = failed.length
    for (const test of assertionResults) {
      if (test.status === "passed") passed++
      else if (test.status === "failed") failed.push(failedLine(at, test))
      else skipped.push(`${at}: ${test.fullName} (${test.status})`)
      for (const note of test.meta?.notes ?? []) notes.push(`${at}: ${note}`)
    }
    if (status === "failed" && failed.length === before) {
      failed.push(`${at}: ${message.split("\n")[0] ?? "the file did not load"}`)
    }
  }
  // What ended vitest, where no test says it: its set-up, a crash, a file that hung.
  const cause = `${ran.how}${causeIn(ran.tail)}`
  if (passed + failed.length === 0) failed.push(`vitest ran no test; ${cause}`)
  else if (!ran.ok && failed.length === 0) failed.push(`vitest: no test failed, but ${cause}`)
  else if (!reported) failed.push(`vitest wrote no report; ${cause}`)
  return { passed, failed, skipped, notes, slowest: slowest(report) }
}

/** A list under its heading, up to a bound; nothing where it is empty. */
export const print = (heading: string, lines: ReadonlyArray<string>) => {
  if (lines.length === 0) return
  console.log(`\n${heading}`)
  for (const line of lines.slice(0, lines_max)) console.log(`  ${line}`)
  if (lines.length > lines_max) console.log(`  ... ${lines.length - lines_max} more`)
}
