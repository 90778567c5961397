/**
 * Tools whose body is a script of the operator's configuration. Each call runs it in a process of its own, whose environment
 * is the secrets that the tool names, and which reads no file and starts no process.
 *
 * ```ts
 * const tools = CodeTool.tools({
 *   tools: [{ type: "code", name: "rate", script: "export default ({ a }) => a * 2" }],
 *   secrets: {}
 * })
 * ```
 */
import { createHash, randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { tmpdir } from "node:os"
import { Array as Arr, Context, Effect, Option, Redacted, Result, Schema } from "effect"
import { canonical } from "../../src/value/Canonical.ts"
import type { CodeTool, ToolConfig, ToolConfigRefused } from "../../src/call/ToolConfig.ts"
import { decodeToolConfig, refuseConfig } from "../../src/call/ToolConfig.ts"
import { cutText } from "../../src/value/CutText.ts"
import { bounds_carried, readJson } from "../../src/value/BoundedJson.ts"
import { ToolTerminalError, ToolTransientError, ToolUserError } from "../../src/error/ToolError.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { declaredSpec } from "../../src/tool/DeclaredSpec.ts"
import type { GovernedTool, MisdeclaredTool } from "../../src/tool/GovernedTool.ts"
import { bindTool } from "../../src/tool/GovernedTool.ts"
import { redacted, secretForms, withoutSecrets } from "../../src/error/KnownSecrets.ts"
import * as ProcessGroup from "./ProcessGroup.ts"

export interface Options {
  /** Configurations of the type `code`. */
  readonly tools: ReadonlyArray<ToolConfig>
  /** The values of the secrets that tools name, by name. */
  readonly secrets?: Readonly<Record<string, string | Redacted.Redacted>>
  /** Of one call, 1 to 600,000. Absent = 30,000. */
  readonly timeout_ms?: number
}

const timeout_ms_default = 30_000
/** The process is killed first, with a precise error. */
const margin_ms = 1_000
const output_bytes_max = 4_000_000
/** How long work that the script has left behind may go on after its result. */
const left_ms = 1_000
/** Variables by which the process itself would be changed. */
const forbidden = /^(?:NODE_.*|LD_.*|DYLD_.*|PATH|HOME|PWD|OLDPWD|SHLVL|_)$/i

/**
 * What the process runs: the script comes with its arguments, so that no length of a command line bounds it. Secrets come so too:
 * a shell changes some variables (`IFS`) and drops others (`my-key`), and what a process began with is open to its user.
 */
const main = `
import { syncBuiltinESMExports } from "node:module"
import os from "node:os"
process.stdin.setEncoding("utf8")
let text = ""
for await (const part of process.stdin) text += part
const { args, env, mark, script } = JSON.parse(text)
// A shell adds its own.
for (const each of Object.keys(process.env)) delete process.env[each]
Object.assign(process.env, env)
// By these a script would signal, or slow down, other processes of its user.
delete process._kill
delete process._debugProcess
delete os.setPriority
syncBuiltinESMExports()
const exit = process.exit.bind(process)
const later = setTimeout
// What the script leaves open, such as a timer or a connection, would keep the process.
const end = (member, value) =>
  process.stdout.write("\\n" + mark + JSON.stringify({ [member]: value ?? null }), () =>
    later(exit, ${left_ms}, 0).unref()
  )
try {
  const module = await import("data:text/javascript;base64," + Buffer.from(script).toString("base64"))
  end("value", await module.default(args))
} catch (error) {
  if (error?.name !== "ToolUserError") throw error
  end("problem", String(error.message))
}
`
const nodeArgs = (text: string, ...flags: ReadonlyArray<string>): ReadonlyArray<string> => [
  "--permission",
  // Its files are not covered by the permissions of Node 24.
  "--no-experimental-sqlite",
  "--no-warnings",
  "--max-old-space-size=256",
  ...flags,
  "--input-type=module",
  "--eval",
  text
]

const shell = "/bin/sh"
/**
 * Of all data of the process, in kB, where the system enforces it: V8 reserves about half of it before the script begins. A lower
 * limit that is already set stays. No memory is written to disk when the process dies of it.
 */
const limited = `ulimit -d 1048576; ulimit -c 0; exec "$0" "$@"`
const isLimited = process.platform === "linux" && existsSync(shell)

/** How Node is started with its arguments. */
const programOf = (args: ReadonlyArray<string>): Pick<ProcessGroup.Command, "args" | "file"> =>
  isLimited
    ? { file: shell, args: ["-c", limited, process.execPath, ...args] }
    : { file: process.execPath, args }

const run_program = programOf(nodeArgs(main))

/** Reads scripts as modules and runs none of them: what is wrong with each, or null. */
const check = `
import { SourceTextModule } from "node:vm"
process.stdin.setEncoding("utf8")
let text = ""
for await (const part of process.stdin) text += part
const faultOf = (script) => {
  try {
    new SourceTextModule(script)
    return null
  } catch (error) {
    return String(error.message)
  }
}
process.stdout.write(JSON.stringify(JSON.parse(text).map(faultOf)))
`
const check_program = programOf(nodeArgs(check, "--experimental-vm-modules"))
const check_timeout_ms = 30_000

const Faults = Schema.fromJsonString(Schema.Array(Schema.NullOr(Schema.String)))
const decodeFaults = Schema.decodeUnknownOption(Faults)

/** A function has to be there to be called; whether it is one shows at the first call. */
const exports_default = /\bexport\b[^]*\bdefault\b/

const decodeEnd = Schema.decodeUnknownOption(
  Schema.Union([Schema.Struct({ value: Schema.Json }), Schema.Struct({ problem: Schema.String })])
)

/** Of code that has run: to a failure of this kind the runtime adds that the call may have taken effect. */
const failed = (reason: string, message: string): ToolError =>
  new ToolTerminalError({ kind: "internal", reason, message })

const unstarted = new ToolTerminalError({
  kind: "external",
  reason: "CODE_UNSTARTED",
  message: "the code could not be started."
})

/** What the script gave. Its own text is read only where it says so: any other may hold secrets. */
const resultOf = (
  { exit_code, stdout, timed_out, truncated }: ProcessGroup.EndedProcess,
  mark: string,
  secrets: ReadonlyArray<string>
): Result.Result<unknown, ToolError> => {
  if (timed_out) {
    const message = "the code did not end in time."
    return Result.fail(new ToolTransientError({ kind: "timeout", reason: "CODE_TIMEOUT", message }))
  }
  if (truncated) return Result.fail(failed("CODE_OUTPUT", "the code's output is too long."))
  const [, marked] = stdout.split(mark)
  const read = marked === undefined ? undefined : readJson(marked, bounds_carried)
  const end =
    exit_code === 0 && read !== undefined && Result.isSuccess(read)
      ? Option.getOrUndefined(decodeEnd(read.success))
      : undefined
  if (end === undefined) return Result.fail(failed("CODE_FAILED", "the code failed."))
  if ("value" in end) return Result.succeed(withoutSecrets(end.value, secrets))
  const message = redacted(end.problem, secrets)
  return Result.fail(new ToolUserError({ kind: "invalid_args", reason: "CODE_REFUSED", message }))
}

/** The environment of a tool: its named secrets, and nothing else. */
const environmentOf = (
  { name, secrets: names = [] }: CodeTool,
  given: NonNullable<Options["secrets"]>
): Result.Result<Readonly<Record<string, string>>, ToolConfigRefused> => {
  const env: Record<string, string> = {}
  for (const each of names) {
    const value = Object.hasOwn(given, each) ? given[each] : undefined
    const text = Redacted.isRedacted(value) ? Redacted.value(value) : value
    // An empty one would be found between any two characters of a result.
    if (text === undefined || text === "" || text.includes("\0") || forbidden.test(each)) {
      const problem = forbidden.test(each)
        ? "would change the process itself"
        : `has ${text?.includes("\0") === true ? "a NUL in its" : "no"} value`
      return Result.fail(refuseConfig("InvalidToolConfig", name, `the secret "${each}" ${problem}`))
    }
    env[each] = text
  }
  return Result.succeed(env)
}

/** What is wrong with each script, in their order; undefined = nothing that shows before it runs. */
const faultsOf = Effect.fnUntraced(function* (scripts: ReadonlyArray<string>) {
  if (scripts.length === 0) return []
  const ended = yield* ProcessGroup.run({
    ...check_program,
    name: "node",
    cwd: tmpdir(),
    env: {},
    stdin: JSON.stringify(scripts),
    timeout_ms: check_timeout_ms,
    output_bytes_max
  }).pipe(Effect.option)
  const unread = scripts.map((): string => "its script could not be read by a process of node")
  const read = Option.flatMap(ended, ({ stdout }) => decodeFaults(stdout))
  return Option.match(read, {
    onNone: () => unread,
    onSome: (faults) =>
      scripts.map((script, at) => {
        const fault = faults[at]
        if (fault === undefined || fault !== null) return `its script is no module: ${fault}`
        return exports_default.test(script) ? undefined : "its script exports no default function"
      })
  })
})

/** Where the script threw, if it did: `line:column`. */
const throwsAt = (stderr: string): string | undefined =>
  /\bdata:text\/javascript;base64,[A-Za-z0-9+/=]*:(\d+:\d+)/.exec(stderr)?.[1]

/** Tells operators what a model is not told: how a process of a tool failed. Never its text, which may hold anything. */
const logFailure = (
  tool: string,
  { exit_code, signal, stderr, timed_out }: ProcessGroup.EndedProcess
) =>
  Effect.annotateLogs(Effect.logWarning("the code of a tool failed"), {
    tool,
    exit_code,
    signal,
    timed_out,
    at: throwsAt(stderr)
  })

const handlerOf =
  (tool: string, script: string, env: Readonly<Record<string, string>>, timeout_ms: number) =>
  (args: unknown) => {
    const mark = randomUUID()
    const hidden = secretForms(Object.values(env))
    return ProcessGroup.run({
      ...run_program,
      name: "node",
      cwd: tmpdir(),
      env: {},
      stdin: JSON.stringify({ args, env, mark, script }),
      timeout_ms,
      output_bytes_max
    }).pipe(
      Effect.mapError((): ToolError => unstarted),
      Effect.flatMap((ended) => {
        const result = Effect.fromResult(resultOf(ended, mark, hidden))
        return Effect.tapError(result, ({ _tag }) =>
          _tag === "ToolUserError" ? Effect.void : logFailure(tool, ended)
        )
      })
    )
  }

const effect_units_max = 1_000

const governed = Effect.fnUntraced(function* (
  config: CodeTool,
  { secrets = {}, timeout_ms = timeout_ms_default }: Options
): Effect.fn.Return<GovernedTool, MisdeclaredTool | ToolConfigRefused> {
  const { description, input_schema, name, needs_approval, permission, runtime, script } = config
  if (runtime !== undefined && runtime !== "node") {
    return yield* refuseConfig("InvalidToolConfig", name, "the one runtime for code is node")
  }
  const env = yield* Effect.fromResult(environmentOf(config, secrets))
  const named = Object.keys(env)
  const bound = canonical({ script, secrets: named })
  const digest = createHash("sha256").update(bound).digest("hex")
  const { input, output, spec } = yield* declaredSpec(
    { name, description, input: undefined, output: undefined, reconcile: false },
    {
      namespace: "code",
      // Another script is another tool: neither a decision nor a lost dispatch holds for it.
      version: `1-${digest.slice(0, 16)}`,
      effect_description: cutText(
        `Runs a script in a process of its own, ${named.length === 0 ? "without secrets" : `with the secrets ${named.join(", ")}`}. ${description ?? ""}`.trim(),
        effect_units_max
      ),
      side_effects: "external",
      input_schema: input_schema ?? { type: "object", properties: {}, additionalProperties: true },
      timeout_ms: timeout_ms + margin_ms,
      ...(permission === undefined ? undefined : { permission }),
      ...(needs_approval === undefined ? undefined : { needs_approval })
    }
  )
  const handler = handlerOf(name, script, env, timeout_ms)
  const made = yield* bindTool<never>(spec, { input, output, handler, services: Context.empty() })
  return { ...made, target: { sha256: digest } }
})

/** For a registry. Fails with the first tool that cannot be right; configurations of other types are refused. */
export const tools = Effect.fnUntraced(function* (
  options: Options
): Effect.fn.Return<ReadonlyArray<GovernedTool>, MisdeclaredTool | ToolConfigRefused> {
  const configs = yield* Effect.forEach(options.tools, (value, at) =>
    Effect.gen(function* () {
      const config = yield* Effect.fromResult(decodeToolConfig(value, `tools.${at}`))
      if ("kind" in config || config.type !== "code") {
        return yield* refuseConfig("InvalidToolConfig", `tools.${at}`, "it is no code")
      }
      return config
    })
  )
  const made = yield* Effect.forEach(configs, (config) => governed(config, options))
  const faults = yield* faultsOf(configs.map(({ script }) => script))
  for (const [{ name }, fault] of Arr.zip(configs, faults)) {
    if (fault !== undefined) return yield* refuseConfig("InvalidToolConfig", name, fault)
  }
  return made
})
