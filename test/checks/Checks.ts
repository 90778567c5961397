/**
 * The checks beside the tests: types, Effect diagnostics, lint, format and dead code.
 */
import { spawnSync } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { compiler_env } from "./CompilerEnv.ts"
import { root, run, seconds } from "./Program.ts"

const folders = ["src", "services", "layers", "test", "scripts"]

/** Half a minute of CPU time for the longest check, on a machine that has a tenth of a core left for it. */
const check_ms_max = 480_000

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

// What is found in a file whose text has not changed, for the second look too.
const kept = "node_modules/.cache/troupe-test"
const knip = ["--config", ".config/knip.json", "--cache", "--cache-location", `${kept}/knip`]

/** Several checkers each work out again what they share: one costs least, two are done sooner on cores that are free. */
const types = (files: number, checkers: 1 | 2): Check => ({
  // One look at each file for both: the compiler of effect-tsgo is tsc with those in it.
  name: "types and Effect diagnostics",
  program: compiler(),
  args: ["--noEmit", "--pretty", "false", "--diagnostics", "--checkers", `${checkers}`],
  env: compiler_env,
  doubt: (output) =>
    sawAtLeast(/^Files: +(\d+)/m, files)(output) ??
    (/: (?:warning|error) TS\d+:/.test(output) ? "it found errors or warnings" : undefined)
})

const texts = (files: number): ReadonlyArray<Check> => [
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
  }
]

const deadCode: ReadonlyArray<Check> = [
  { name: "dead code", program: "knip", args: knip },
  { name: "what only tests reach", program: "knip", args: ["--production", ...knip] }
]

export const allChecks = (): ReadonlyArray<Check> => {
  const files = typescriptFiles()
  return [types(files, 1), ...texts(files), ...deadCode]
}

/** Those that take seconds: of types what follows from what has changed since the last time, and no dead code. */
export const quickChecks = (): ReadonlyArray<Check> => {
  const files = typescriptFiles()
  const all = types(files, 2)
  const args = [...all.args, "--incremental", "--tsBuildInfoFile", `${kept}/types`]
  return [{ ...all, args }, ...texts(files)]
}

const lines_max = 120
const shorten = (output: string): string => {
  const lines = output.trimEnd().split("\n")
  return lines.length <= lines_max
    ? lines.join("\n")
    : `${lines.slice(0, lines_max).join("\n")}\n... ${lines.length - lines_max} lines more`
}

interface Checked {
  readonly passed: number
  readonly failed: ReadonlyArray<string>
}

/** Runs the checks one after another, beside the tests; the names of those that failed. */
export const runChecks = async (all: ReadonlyArray<Check>): Promise<Checked> => {
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
