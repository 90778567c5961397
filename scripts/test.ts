/**
 * Every check of the house, in one command: types, Effect diagnostics, lint, format, dead code, and the tests. Each
 * counts as one test, so that the last line and the exit code never disagree.
 *
 * `npm test` runs all, and of long tests a little; `npm run test:full` runs the long forms of those and nothing else;
 * `npm test -- test/some/path` runs those test files and nothing else.
 */
import { spawn, spawnSync } from "node:child_process"
import { readdirSync, readFileSync } from "node:fs"
import { delimiter, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import * as Long from "../test/Long.ts"
import { runCommandLine, toggle } from "./command/CommandLine.ts"
import { compiler_env } from "./command/CompilerEnv.ts"
import * as Scratch from "./command/Scratch.ts"

const root = fileURLToPath(new URL("..", import.meta.url))
const folders = ["src", "services", "layers", "test", "scripts"]

interface Ran {
  readonly ok: boolean
  /** How it ended where it did not end well, for example "it ended with 1". */
  readonly how: string
  readonly output: string
  /** The last of what it printed, of a program whose output was shown too. */
  readonly tail: string
  readonly ms: number
}

/** What a program may print before the rest of it is left out. */
const output_bytes_max = 400_000
/** What is kept of the end of its output, in UTF-16 units. */
const tail_max = 20_000
/** A run that takes longer hangs, and is stopped. Two quiet cores take minutes, and half an hour for the long forms. */
const run_ms_max = { short: 1_200_000, full: 4_200_000 }
/** Half a minute of CPU time for the longest check, on a machine that has a tenth of a core left for it. */
const check_ms_max = 480_000
type Form = keyof typeof run_ms_max
const began = performance.now()

const env: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${join(root, "node_modules", ".bin")}${delimiter}${process.env.PATH ?? ""}`
}
if (!process.stdout.isTTY) {
  delete env.FORCE_COLOR
  env.NO_COLOR = "1"
}

/** A program to its end, at most `timeout_ms`. Its output is kept, or shown at once with `live`, up to a bound. */
const run = (
  program: string,
  args: ReadonlyArray<string>,
  options: {
    readonly timeout_ms: number
    readonly live?: boolean
    readonly form?: Form
    /** Beside those of this process. */
    readonly env?: NodeJS.ProcessEnv
    /** Where it and what it starts keep their files. */
    readonly folder?: string
  }
): Promise<Ran> =>
  new Promise((settle) => {
    const began = performance.now()
    const chunks: Array<string> = []
    const child = spawn(program, args, {
      cwd: root,
      env: {
        ...env,
        ...options.env,
        TROUPE_TEST: options.form ?? "short",
        ...(options.folder === undefined ? {} : { TMPDIR: options.folder })
      },
      stdio: ["ignore", "pipe", "pipe"],
      shell: process.platform === "win32"
    })
    let late = false
    const timer = setTimeout(() => {
      late = true
      child.kill("SIGTERM")
      setTimeout(() => child.kill("SIGKILL"), 5_000).unref()
    }, options.timeout_ms)
    let bytes = 0
    let tail = ""
    const keep = (chunk: Buffer) => {
      bytes += chunk.length
      tail = (tail + chunk.toString()).slice(-tail_max)
      if (bytes - chunk.length > output_bytes_max) return
      if (options.live === true) process.stdout.write(chunk)
      else chunks.push(chunk.toString())
      if (bytes > output_bytes_max) {
        chunks.push("\n... the rest is left out; run one file: npm test -- test/some/path\n")
      }
    }
    child.stdout.on("data", keep)
    child.stderr.on("data", keep)
    let done = false
    const end = (ok: boolean, how: string, note = "") => {
      if (done) return
      done = true
      clearTimeout(timer)
      const stopped = `it was stopped after ${seconds(options.timeout_ms)}`
      settle({
        ok: ok && !late,
        how: late ? stopped : how,
        output: chunks.join("") + note + (late ? `${stopped}\n` : ""),
        tail,
        ms: performance.now() - began
      })
    }
    child.on("error", ({ message }) =>
      end(false, `it did not start: ${message}`, `${program} did not start: ${message}\n`)
    )
    child.on("close", (code, signal) => end(code === 0, `it ended with ${code ?? signal}`))
  })

const typescriptFiles = (): number =>
  folders.reduce((count, folder) => {
    try {
      return (
        count +
        readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).filter((name) =>
          name.endsWith(".ts")
        ).length
      )
    } catch {
      return count
    }
  }, 0)

/** The first error of what a program printed at its end, without colours; nothing where it says none. */
const causeIn = (tail: string): string => {
  // oxlint-disable-next-line no-control-regex -- colours begin with an escape
  const lines = tail.replace(/\u001b\[[\d;]*m/g, "").split("\n")
  const cause =
    lines.find((line) => /^\s*(?:\w*Error|FATAL ERROR|Error)\b.*:/.test(line)) ??
    lines.find((line) => /\b(?:error|panic|out of memory|killed)\b/i.test(line))
  return cause === undefined ? "" : `: ${cause.trim().slice(0, 500)}`
}

interface Check {
  readonly name: string
  readonly program: string
  readonly args: ReadonlyArray<string>
  readonly env?: NodeJS.ProcessEnv
  /** What is wrong with an output that the program itself calls good. */
  readonly doubt?: (output: string) => string | undefined
}

/** Tools that look at no file at all report success: each is asked how many it saw. */
const sawAtLeast = (pattern: RegExp, atLeast: number) => (output: string) => {
  const seen = Number(pattern.exec(output)?.[1] ?? 0)
  return seen >= atLeast ? undefined : `it looked at ${seen} files; there are at least ${atLeast}`
}

/** The compiler with Effect's diagnostics in it. */
const compiler = (): string => {
  const asked = join(root, "node_modules", ".bin", "effect-tsgo")
  const { stdout } = spawnSync(asked, ["get-exe-path"], { cwd: root, encoding: "utf8" })
  const found = stdout?.trim() ?? ""
  return found === "" ? "the compiler of effect-tsgo" : found
}

const checks = (): ReadonlyArray<Check> => {
  const files = typescriptFiles()
  // What it finds in a file whose text has not changed, for the second look too.
  const kept = ["--cache", "--cache-location", "node_modules/.cache/troupe-test/knip"]
  return [
    {
      // One look at each file for both: the compiler of effect-tsgo is tsc with those in it. The tests have the other cores,
      // and several checkers each work out again what they share.
      name: "types and Effect diagnostics",
      program: compiler(),
      args: ["--noEmit", "--pretty", "false", "--diagnostics", "--checkers", "1"],
      env: compiler_env,
      doubt: (output) =>
        sawAtLeast(/^Files: +(\d+)/m, files)(output) ??
        (/: (?:warning|error) TS\d+:/.test(output) ? "it found errors or warnings" : undefined)
    },
    {
      name: "lint",
      program: "oxlint",
      args: ["--config", ".config/oxlint.json", "--deny-warnings", ...folders],
      doubt: sawAtLeast(/on (\d+) files/, files)
    },
    {
      name: "format",
      program: "oxfmt",
      args: ["--config", ".config/oxfmt.json", "--check", "."],
      doubt: sawAtLeast(/on (\d+) files/, files)
    },
    { name: "dead code", program: "knip", args: ["--config", ".config/knip.json", ...kept] },
    {
      name: "what only tests reach",
      program: "knip",
      args: ["--production", "--config", ".config/knip.json", ...kept]
    }
  ]
}

const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`

const lines_max = 120
const shorten = (output: string): string => {
  const lines = output.trimEnd().split("\n")
  return lines.length <= lines_max
    ? lines.join("\n")
    : `${lines.slice(0, lines_max).join("\n")}\n... ${lines.length - lines_max} lines more`
}

/** Runs the checks one after another, beside the tests; the names of those that failed. */
const runChecks = async (): Promise<{
  readonly passed: number
  readonly failed: Array<string>
}> => {
  const all = checks()
  const failed: Array<string> = []
  for (const check of all) {
    const { args, env, program } = check
    const ran = await run(program, args, { timeout_ms: check_ms_max, ...(env && { env }) })
    const doubt = ran.ok ? check.doubt?.(ran.output) : undefined
    const ok = ran.ok && doubt === undefined
    console.log(`== ${check.name}: ${ok ? "ok" : "FAILED"} (${seconds(ran.ms)})`)
    if (!ok) {
      failed.push(check.name)
      console.log(shorten(ran.output + (doubt === undefined ? "" : `\n${doubt}`)))
    }
  }
  return { passed: all.length - failed.length, failed }
}

const Assertion = Schema.Struct({
  fullName: Schema.String,
  /** "passed", "failed", or why it was left out. */
  status: Schema.String,
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

interface Tested {
  readonly passed: number
  readonly failed: ReadonlyArray<string>
  readonly skipped: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
  /** The files that took longest, one line each. */
  readonly slowest: ReadonlyArray<string>
}

const slowest_files = 10

const slowest = ({ testResults }: typeof Report.Type): ReadonlyArray<string> =>
  testResults
    .map(({ endTime, name, startTime }) => ({ name, ms: endTime - startTime }))
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, slowest_files)
    .map(({ ms, name }) => `${seconds(ms).padStart(8)}  ${placeOf(name)}`)

const placeOf = (file: string): string =>
  file.startsWith(root) ? file.slice(resolve(root).length + 1) : file

const runTests = async (form: Form, files: ReadonlyArray<string>): Promise<Tested> => {
  const folder = Scratch.make(form)
  const file = join(folder, "report.json")
  console.log("== tests")
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
    { timeout_ms: run_ms_max[form] - (performance.now() - began), live: true, form, folder }
  )
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
      else if (test.status === "failed") failed.push(`${at}: ${test.fullName}`)
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

const print = (heading: string, lines: ReadonlyArray<string>) => {
  if (lines.length === 0) return
  console.log(`\n${heading}`)
  for (const line of lines.slice(0, lines_max)) console.log(`  ${line}`)
  if (lines.length > lines_max) console.log(`  ... ${lines.length - lines_max} more`)
}

/** Gives the exit code. */
const test = async (form: Form, paths: ReadonlyArray<string>): Promise<number> => {
  // Tests wait for clocks and processes: the checks take the time that they leave.
  const [checked, tested] = await Promise.all([
    paths.length === 0 ? runChecks() : { passed: 0, failed: [] },
    runTests(form, paths)
  ])
  const failed = [...checked.failed.map((name) => `check: ${name}`), ...tested.failed]
  print("Not shown here, and why:", tested.notes)
  print("Skipped:", tested.skipped)
  if (paths.length === 0) print("The slowest files:", tested.slowest)
  if (paths.length === 0) print("Left to npm run test:full:", Long.left)
  print("Failed:", failed)
  console.log(`\n${seconds(performance.now() - began)}, checks and tests together:`)
  console.log(
    `${checked.passed + tested.passed} passed, ${failed.length} failed` +
      (tested.skipped.length === 0 ? "" : `, ${tested.skipped.length} skipped`)
  )
  return failed.length === 0 ? 0 : 1
}

const command = Command.make(
  "test",
  {
    full: toggle("full", "the long forms of long tests, and nothing else"),
    files: Argument.String("file").pipe(
      Argument.withMetavar("FILE"),
      Argument.withDescription("test files, or folders of them; without one everything runs"),
      Argument.variadic()
    )
  },
  ({ files, full }) =>
    Effect.promise(async () => {
      process.exitCode = full ? await test("full", Long.files) : await test("short", files)
    })
).pipe(
  Command.withDescription("Runs every check of the house. In a clone: npm test -- [files] [flags]")
)

await Effect.runPromise(runCommandLine(command))
