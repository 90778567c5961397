/** Real programs of this machine: what they see, what they print, and that nothing of them is left. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import type { Scope } from "effect"
import type { Options } from "../../layers/builtin/CommandHandler.ts"
import * as CommandTool from "../../layers/builtin/CommandHandler.ts"
import { failure, use } from "./Bodies.ts"
import { family, gone, idsIn, isAlive } from "./Processes.ts"

const place: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.sync(() => realpathSync(mkdtempSync(join(tmpdir(), "troupe-command-")))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true }))
)

const running = (options: Options, args: object) =>
  use(CommandTool.tools(options), "run_command", args)

const node = process.execPath
const script = (
  options: Partial<Options> & Pick<Options, "root">,
  code: string,
  more: object = {}
) => running({ programs: [node], ...options }, { program: "node", args: ["-e", code], ...more })

describe("run_command", () => {
  it.live("gives exit code and output, and passes arguments without a shell", () =>
    Effect.gen(function* () {
      const root = yield* place
      const odd = ["$HOME", "`id`", "; rm -rf x", "*", "a b", '"', "$(id)", "| cat", "-n", ""]
      const echoed = yield* script({ root }, "console.log(JSON.stringify(process.argv.slice(1)))", {
        args: ["-e", "console.log(JSON.stringify(process.argv.slice(1)))", "--", ...odd]
      })
      assert.deepStrictEqual(JSON.parse(String(echoed["stdout"])), odd)
      const failed = yield* script({ root }, "console.error('no'); process.exit(3)")
      assert.deepStrictEqual(failed, {
        exit_code: 3,
        signal: null,
        stdout: "",
        stderr: "no\n",
        truncated: false,
        timed_out: false
      })
      const read = yield* script({ root }, "process.stdin.pipe(process.stdout)", { stdin: "né" })
      assert.strictEqual(read["stdout"], "né")
      const ignored = yield* script({ root }, "", { stdin: "x".repeat(1_000_000) })
      assert.strictEqual(ignored["exit_code"], 0)
      const killed = yield* script({ root }, "process.kill(process.pid, 'SIGKILL')")
      assert.deepInclude(killed, { exit_code: null, signal: "SIGKILL", timed_out: false })
    }).pipe(Effect.scoped)
  )

  it.live("shows a program nothing of this service's environment, and its own directory", () =>
    Effect.gen(function* () {
      const root = yield* place
      mkdirSync(join(root, "sub"))
      process.env["TROUPE_CANARY"] = "canary"
      const code = "console.log(JSON.stringify([process.env, process.cwd()]))"
      const seen = yield* script({ root, env: { EXTRA: "1" } }, code, { cwd: "sub" })
      delete process.env["TROUPE_CANARY"]
      assert.deepStrictEqual(JSON.parse(String(seen["stdout"])), [
        { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: root, LANG: "C.UTF-8", EXTRA: "1" },
        join(root, "sub")
      ])
    }).pipe(Effect.scoped)
  )

  it.live("runs no program that was not named, and nowhere but below its root", () =>
    Effect.gen(function* () {
      const root = yield* place
      symlinkSync("/", join(root, "up"))
      const tools = CommandTool.tools({ root, programs: [node] })
      for (const program of ["sh", node, "./node", "../node", "Node", "node ", "node\n", "nod"]) {
        const error = yield* failure(tools, "run_command", { program })
        assert.deepInclude(error, { _tag: "ToolPolicyError", reason: "PROGRAM_NOT_ALLOWED" })
        assert.include(error.message, "node")
      }
      for (const [cwd, reason] of [
        ["..", "PATH_PATH"],
        ["/", "PATH_PATH"],
        ["up", "PATH_LINK"],
        ["up/etc", "PATH_LINK"],
        ["none", "PATH_NOT_FOUND"]
      ] as const) {
        const error = yield* failure(tools, "run_command", { program: "node", cwd })
        assert.strictEqual(error.reason, reason, cwd)
      }
      const long = Array.from({ length: 200 }, () => "x".repeat(8_000))
      const many = yield* Effect.result(
        use(
          CommandTool.tools({ root, programs: [node], env: { BIG: "x".repeat(200_000) } }),
          "run_command",
          {
            program: "node",
            args: long
          }
        )
      )
      assert.strictEqual(many._tag, "Failure")
      if (many._tag === "Failure") {
        assert.deepInclude(many.failure, { _tag: "ToolUserError", reason: "ARGUMENTS_TOO_LONG" })
      }
    }).pipe(Effect.scoped)
  )

  it.live("keeps the beginning of a long output, up to a whole character", () =>
    Effect.gen(function* () {
      const root = yield* place
      const options = { root, output_bytes_max: 10 }
      const long = yield* script(options, "process.stdout.write('€'.repeat(500000))")
      assert.deepInclude(long, { stdout: "€€€", truncated: true, exit_code: 0 })
      const exact = yield* script(options, "process.stdout.write('0123456789')")
      assert.deepInclude(exact, { stdout: "0123456789", truncated: false })
      const binary = yield* script(options, "process.stderr.write(Buffer.from([65, 255]))")
      assert.strictEqual(binary["stderr"], "A\ufffd")
    }).pipe(Effect.scoped)
  )

  it.live("kills a program and all that it started when its time is over", () =>
    Effect.gen(function* () {
      const root = yield* place
      const ended = yield* script({ root, timeout_ms: 1_500 }, family(join(root, "ids")))
      assert.deepInclude(ended, { timed_out: true, exit_code: null, signal: "SIGKILL" })
      const ids = yield* idsIn(join(root, "ids"))
      yield* gone(ids)
    }).pipe(Effect.scoped)
  )

  it.live(
    "kills them when the call is interrupted, and when the program ends before its children",
    () =>
      Effect.gen(function* () {
        const root = yield* place
        const fiber = yield* Effect.forkChild(script({ root }, family(join(root, "ids"))))
        const ids = yield* idsIn(join(root, "ids"))
        assert.deepStrictEqual(ids.filter(isAlive), ids)
        yield* Fiber.interrupt(fiber)
        yield* gone(ids)
        const left = yield* script(
          { root },
          `${family(join(root, "more"))}; setTimeout(() => process.exit(0), 300)`
        )
        assert.deepInclude(left, { exit_code: 0, timed_out: false })
        yield* gone(yield* idsIn(join(root, "more")))
      }).pipe(Effect.scoped)
  )

  it.live(
    "asks a person unless its programs only read, and refuses options that cannot be right",
    () =>
      Effect.gen(function* () {
        const root = yield* place
        const [asks] = yield* CommandTool.tools({ root, programs: ["env"] })
        assert.deepInclude(asks?.spec, {
          side_effects: "external",
          category: "mutate",
          capabilities: ["process.run"]
        })
        const [reads] = yield* CommandTool.tools({ root, programs: ["env"], side_effects: "read" })
        assert.strictEqual(reads?.spec.category, "read")
        for (const [options, field] of [
          [{ root, programs: [] }, "programs"],
          [{ root, programs: ["no-such-program"] }, "programs"],
          [{ root, programs: ["./env"] }, "programs"],
          [{ root, programs: ["env", "/usr/bin/env"] }, "programs"],
          [{ root, programs: [root] }, "programs"],
          [{ root: join(root, "none"), programs: ["env"] }, "root"],
          [{ root, programs: ["env"], env: { "A=B": "x" } }, "env"],
          [{ root, programs: ["env"], timeout_ms: 0 }, "timeout_ms"],
          [{ root, programs: ["env"], output_bytes_max: 2_000_000 }, "output_bytes_max"]
        ] as const) {
          const error = yield* Effect.flip(CommandTool.tools(options))
          assert.deepInclude(error, { _tag: "MisdeclaredTool", tool: "run_command", field })
        }
        const misspelt = { root, programs: ["env"], environment: {} }
        const error = yield* Effect.flip(CommandTool.tools(misspelt))
        assert.deepInclude(error, { tool: "run_command", field: "environment" })
      }).pipe(Effect.scoped)
  )
})
