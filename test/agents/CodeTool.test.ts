/** Scripts of a configuration in processes of their own. */
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger, Redacted } from "effect"
import type { Options } from "../../layers/builtin/CodeTool.ts"
import * as CodeTool from "../../layers/builtin/CodeTool.ts"
import type { ToolError } from "../../src/error/ToolError.ts"
import { runBody } from "../calls/Platform.ts"
import { inLongForm } from "../InLongForm.ts"
import { isFull } from "../Long.ts"

const code = (script: string, more: object = {}, options: Partial<Options> = {}) =>
  Effect.map(
    CodeTool.tools({ tools: [{ type: "code", name: "run", script, ...more }], ...options }),
    ([tool]) => tool
  )

const failure = Effect.fnUntraced(function* (script: string, options: Partial<Options> = {}) {
  const error = yield* Effect.flip(runBody(yield* code(script, {}, options), {}))
  return error as ToolError
})

describe("a code tool", () => {
  it.live("AG-56 has only its named secrets in its environment, and shows none of them", () =>
    Effect.gen(function* () {
      // A shell would change the second, and drop the third.
      const secrets = {
        TOKEN: Redacted.make("hidden-token"),
        IFS: "hidden-ifs",
        "my-key": "hidden-key",
        OTHER: "hidden-other"
      }
      const script =
        "export default (args) => ({ env: Object.entries(process.env).map(([k, v]) => [k, [...v].join('.')]), args, said: `a ${process.env.TOKEN}` })"
      const tool = yield* code(script, { secrets: ["TOKEN", "IFS", "my-key"] }, { secrets })
      const value = yield* runBody(tool, { city: "Paris" })
      const spread = (text: string) => [...text].join(".")
      const env = [
        ["TOKEN", spread("hidden-token")],
        ["IFS", spread("hidden-ifs")],
        ["my-key", spread("hidden-key")]
      ]
      assert.deepInclude(value, { env, args: { city: "Paris" } })
      assert.notInclude(JSON.stringify(value), "hidden")
    })
  )

  it.live("AG-56 is refused at start where a secret of it is empty", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        code("export default () => 1", { secrets: ["EMPTY"] }, { secrets: { EMPTY: "" } })
      )
      assert.include(error.message, 'the secret "EMPTY" has no value')
    })
  )

  it.live("AG-56 reads no file of this machine and starts no process", () =>
    Effect.gen(function* () {
      const file = JSON.stringify(join(tmpdir(), "troupe-code"))
      const script = `export default async () => {
        const codes = []
        for (const attempt of [
          async () => (await import("node:fs")).readFileSync("/etc/hostname"),
          async () => (await import("node:fs")).writeFileSync(${file}, ""),
          async () => (await import("node:child_process")).execSync("true"),
          async () => new (await import("node:sqlite")).DatabaseSync(${file}),
          async () => new (process.getBuiltinModule("node:sqlite").DatabaseSync)(${file}),
          async () => (await import("node:os")).setPriority(process.ppid, 19)
        ]) {
          try { await attempt(); codes.push("done") } catch (error) { codes.push(error.code ?? error.name) }
        }
        return codes
      }`
      const value = yield* runBody(yield* code(script), {})
      assert.deepStrictEqual(value, [
        ...Array(3).fill("ERR_ACCESS_DENIED"),
        "ERR_UNKNOWN_BUILTIN_MODULE",
        "TypeError",
        "TypeError"
      ])
    })
  )

  if (process.platform !== "linux") {
    console.log(
      "skipped: only Linux bounds the data of a process, so the bound of buffers is not tested"
    )
  }
  if (isFull) {
    it.live.skipIf(process.platform !== "linux")("AG-56 has 1 GB for its data, buffers too", () =>
      Effect.gen(function* () {
        const filled = (bytes: number) =>
          `export default () => Array.from({ length: 4 }, () => Buffer.allocUnsafeSlow(${bytes})).length`
        assert.strictEqual(yield* runBody(yield* code(filled(25e6)), {}), 4)
        assert.strictEqual((yield* failure(filled(250e6))).reason, "CODE_FAILED")
      })
    )
  }

  inLongForm("AG-56 has 256 MB for its objects, and 4,000,000 bytes for its result", () =>
    Effect.gen(function* () {
      const tool = yield* code(
        'import v8 from "node:v8"; export default () => v8.getHeapStatistics().heap_size_limit'
      )
      // The limit of the old objects, and what the young ones take beside them.
      assert.isBelow(Number(yield* runBody(tool, {})), 400e6)
      const { reason } = yield* failure('export default () => "x".repeat(4_000_000)')
      assert.strictEqual(reason, "CODE_OUTPUT")
      const fits = yield* code('export default () => "x".repeat(3_999_900)')
      assert.strictEqual(String(yield* runBody(fits, {})).length, 3_999_900)
    })
  )

  it.live(
    "fails without the text of what it threw, unless it says that the arguments are wrong",
    () =>
      Effect.gen(function* () {
        const thrown = yield* failure('export default () => { throw new Error("secret") }')
        // To a failure of this kind the runtime adds that the call may have taken effect.
        assert.deepInclude(thrown, { reason: "CODE_FAILED", kind: "internal" })
        assert.notInclude(thrown.message, "secret")
        const refused = yield* failure(
          'export default () => { throw Object.assign(new Error("no such city"), { name: "ToolUserError" }) }'
        )
        assert.deepInclude(refused, { _tag: "ToolUserError", message: "no such city" })
        for (const script of [
          "export default 1",
          "process.exit(0); export default 1",
          "export default () => process.kill(process.ppid, 0)",
          "import { kill } from 'node:process'; export default () => kill(process.ppid, 0)",
          "export default () => process._debugProcess(process.ppid)"
        ]) {
          assert.strictEqual((yield* failure(script)).reason, "CODE_FAILED", script)
        }
        const waits = "setInterval(() => {}, 9)"
        const [late, left] = yield* Effect.all(
          [
            failure(`export default () => new Promise(() => ${waits})`, { timeout_ms: 500 }),
            Effect.flatMap(code(`export default () => { ${waits}; return 7 }`), (tool) =>
              runBody(tool, {})
            )
          ],
          { concurrency: "unbounded" }
        )
        // What it has returned counts, whatever it has left open.
        assert.strictEqual(left, 7)
        assert.deepInclude(late, { _tag: "ToolTransientError", reason: "CODE_TIMEOUT" })
      })
  )

  it.live(
    "AG-56 is refused at start where its script is no module or exports nothing to call",
    () =>
      Effect.gen(function* () {
        const cases: ReadonlyArray<readonly [script: string, part: string]> = [
          ["no script", "no module: Unexpected identifier"],
          ["export default () => {", "no module: Unexpected end of input"],
          ["", "exports no default"],
          ["export const a = 1", "exports no default"],
          ["process.exit(0)", "exports no default"]
        ]
        for (const [script, part] of cases) {
          const error = yield* Effect.flip(code(script))
          assert.strictEqual(error._tag, "ToolConfigRefused")
          assert.include(String(error.message), part)
        }
        // No script has run: this one would have ended the process that reads it.
        yield* code("process.exit(1); export default () => 1")
        yield* code("const f = () => 1; export { f as default }")
      })
  )

  it.live(
    "is another tool with another script, so that no decision about the one holds for it",
    () =>
      Effect.gen(function* () {
        const one = yield* code("export default () => 1", { description: "Counts." })
        const again = yield* code("export default () => 1", { description: "Counts." })
        const other = yield* code("export default () => 2")
        const secret = yield* code(
          "export default () => 1",
          { secrets: ["TOKEN"] },
          { secrets: { TOKEN: "hidden-token" } }
        )
        const versions = [one, other, secret].map((tool) => tool?.spec.version)
        assert.strictEqual(again?.spec.version, one?.spec.version)
        assert.strictEqual(new Set(versions).size, 3)
        assert.strictEqual(
          one?.spec.effect_description,
          "Runs a script in a process of its own, without secrets. Counts."
        )
        assert.strictEqual(
          secret?.spec.effect_description,
          "Runs a script in a process of its own, with the secrets TOKEN."
        )
      })
  )

  it.live(
    "tells operators where it threw and how its process ended, and nothing that it wrote",
    () =>
      Effect.gen(function* () {
        const script = "export default () => {\n  throw new Error(`inner ${process.env.TOKEN}`)\n}"
        const secrets = { TOKEN: "hidden-token" }
        const tool = yield* code(script, { secrets: ["TOKEN"] }, { secrets })
        const lines: Array<string> = []
        const logger = Logger.make((entry) => void lines.push(Logger.formatJson.log(entry)))
        yield* Effect.exit(runBody(tool, {})).pipe(Effect.provide(Logger.layer([logger])))
        assert.lengthOf(lines, 1)
        assert.include(lines[0]!, '"at":"2:9"')
        assert.include(lines[0]!, '"exit_code":1')
        assert.notInclude(lines[0]!, "inner")
        assert.include(lines[0]!, '"tool":"run"')
        assert.notInclude(lines[0]!, "hidden-token")
      })
  )

  it.effect(
    "AG-56 is refused at start with a secret that has no value or would change the process",
    () =>
      Effect.gen(function* () {
        const script = "export default () => 1"
        for (const [more, options] of [
          [{ secrets: ["TOKEN"] }, {}],
          [{ secrets: ["TOKEN"] }, { secrets: { TOKEN: "a\0b" } }],
          [{ secrets: ["NODE_OPTIONS"] }, { secrets: { NODE_OPTIONS: "--inspect" } }],
          [{ runtime: "python" }, {}]
        ] as const) {
          const refused = yield* Effect.flip(code(script, more, options))
          assert.strictEqual(refused._tag, "ToolConfigRefused")
        }
        const tool = yield* code(script)
        assert.strictEqual(tool?.spec.category, "mutate")
      })
  )
})
