/**
 * `run_command` over the programs that an operator names. What is run is the file that a name meant at start.
 */
import { constants } from "node:fs"
import * as fs from "node:fs/promises"
import { basename, delimiter, isAbsolute, join } from "node:path"
import { Effect } from "effect"
import { command_capability, CommandTools } from "../../src/builtin/CommandTool.ts"
import { ToolPolicyError, ToolTerminalError, ToolUserError } from "../../src/error/ToolError.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { govern } from "../../src/tool/GovernedTool.ts"
import { misdeclared, strayOption } from "../../src/tool/MisdeclaredTool.ts"
import { didYouMean } from "../../src/value/Nearest.ts"
import { errorOf } from "./PathFailure.ts"
import * as ProcessGroup from "./ProcessGroup.ts"
import * as RootedDirectory from "./RootedDirectory.ts"

export interface Options {
  /** The absolute path of the directory that programs run in. They are not kept inside it: name programs that you trust. */
  readonly root: string
  /** Names, looked up in `path` once at start, or absolute paths, known by their last part. No shell belongs here. */
  readonly programs: ReadonlyArray<string>
  /** Where programs are looked up, and their `PATH`. Absent = /usr/local/bin:/usr/bin:/bin. */
  readonly path?: string
  /** Variables that programs see beside PATH, HOME (the root) and LANG. Nothing of this service's own is added. */
  readonly env?: Readonly<Record<string, string>>
  /** Absent = 60,000; at most 3,500,000. */
  readonly timeout_ms?: number
  /** Of each output. Absent = 12,000, so that the model's copy holds both; at most 1,000,000. */
  readonly output_bytes_max?: number
  /** `read` where no program changes anything, which asks nobody. Absent = `external`. */
  readonly side_effects?: "read" | "external"
}

const tool_name = "run_command"
const path_default = "/usr/local/bin:/usr/bin:/bin"

/** The executable file of a name, if there is one. */
const lookedUp = async (program: string, path: string): Promise<string | undefined> => {
  const places = isAbsolute(program)
    ? [program]
    : path.split(delimiter).map((directory) => join(directory, program))
  for (const place of places) {
    const found = await fs
      .access(place, constants.X_OK)
      .then(() => fs.stat(place))
      .catch(() => undefined)
    if (found?.isFile() === true) return place
  }
  return undefined
}

const programsOf = Effect.fnUntraced(function* (programs: ReadonlyArray<string>, path: string) {
  const files = new Map<string, string>()
  for (const program of programs) {
    const name = basename(program)
    const isName = program === name || isAbsolute(program)
    const file = isName ? yield* Effect.promise(() => lookedUp(program, path)) : undefined
    if (file === undefined || name === "" || files.has(name)) {
      return yield* misdeclared(
        tool_name,
        "programs",
        files.has(name)
          ? `${JSON.stringify(name)} is named twice`
          : `${JSON.stringify(program)} is no executable file that can be found`,
        "Write names that the path has, or absolute paths"
      )
    }
    files.set(name, file)
  }
  return files
})

const inBounds = (n: number, most: number): boolean =>
  Number.isSafeInteger(n) && n >= 1 && n <= most

const option_names: Readonly<Record<keyof Options, true>> = {
  root: true,
  programs: true,
  path: true,
  env: true,
  timeout_ms: true,
  output_bytes_max: true,
  side_effects: true
}

const checked = Effect.fnUntraced(function* (options: Options) {
  const stray = strayOption(tool_name, options, option_names)
  if (stray !== undefined) return yield* stray
  const { env = {}, output_bytes_max = 12_000, path = path_default, timeout_ms = 60_000 } = options
  for (const [field, given, most] of [
    ["timeout_ms", timeout_ms, 3_500_000],
    ["output_bytes_max", output_bytes_max, 1_000_000]
  ] as const) {
    if (inBounds(given, most)) continue
    return yield* misdeclared(tool_name, field, `${given} is out of bounds`, `Write 1 to ${most}`)
  }
  if (options.programs.length === 0) {
    return yield* misdeclared(
      tool_name,
      "programs",
      "names no program",
      "Name those that may be run, or leave the tool out"
    )
  }
  const bad = Object.entries(env).find(
    ([name, value]) => !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) || value.includes("\0")
  )
  if (bad !== undefined) {
    return yield* misdeclared(
      tool_name,
      "env",
      `${JSON.stringify(bad[0])} is no variable`,
      "Write names of letters, digits and _, and values without NUL"
    )
  }
  const files = yield* programsOf(options.programs, path)
  return { files, env, output_bytes_max, path, timeout_ms }
})

const notStarted = (code: string): ToolError =>
  code === "E2BIG"
    ? new ToolUserError({
        kind: "invalid_args",
        reason: "ARGUMENTS_TOO_LONG",
        message: "the arguments are too long for a program; give a part of them by stdin"
      })
    : new ToolTerminalError({
        kind: "external",
        reason: "NOT_STARTED",
        message: "the program could not be started"
      })

/** For a registry. Needs the capability `process.run`. Fails at start where the options cannot be right. */
export const tools = (
  options: Options
): Effect.Effect<ReadonlyArray<GovernedTool>, MisdeclaredTool> =>
  Effect.gen(function* () {
    const { env, files, output_bytes_max, path, timeout_ms } = yield* checked(options)
    const directory = yield* RootedDirectory.make(tool_name, options.root)
    const surroundings = { PATH: path, HOME: directory.root, LANG: "C.UTF-8", ...env }
    return yield* govern(
      CommandTools,
      {
        run_command: {
          namespace: "process",
          side_effects: options.side_effects ?? "external",
          capabilities: command_capability,
          text_result: true,
          rule_arguments: ["program", "args"],
          // The program's own timeout comes first, and its end is a result.
          timeout_ms: timeout_ms + 5_000,
          effect_description: "Runs a program on the machine of this service."
        }
      },
      {
        run_command: Effect.fnUntraced(function* ({ args = [], cwd = ".", program, stdin }) {
          const file = files.get(program)
          if (file === undefined) {
            return yield* new ToolPolicyError({
              kind: "permission",
              reason: "PROGRAM_NOT_ALLOWED",
              message: `${JSON.stringify(program)} may not be run; allowed are: ${[...files.keys()].join(", ")}.${didYouMean(program, files.keys())}`
            })
          }
          const where = yield* Effect.mapError(directory.open(cwd), errorOf)
          const command: ProcessGroup.Command = {
            file,
            name: program,
            args,
            cwd: where.at,
            env: surroundings,
            stdin,
            timeout_ms,
            output_bytes_max
          }
          return yield* Effect.mapError(ProcessGroup.run(command), notStarted)
        }, Effect.scoped)
      }
    )
  })
