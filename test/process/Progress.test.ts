/** What long work says of itself on a terminal, and elsewhere. */
import { spawn } from "node:child_process"
import { copyFileSync, existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { during, Progress } from "../../scripts/command/Progress.ts"
import { countFiles } from "../checks/Tests.ts"
import { inLongForm } from "../InLongForm.ts"
import * as Homes from "./Homes.ts"

const erase = "\r\u001b[2K"

const made = (isTTY: boolean, options: { unit?: string; total?: number }, columns = 80) => {
  const written: Array<string> = []
  let time = 0
  const out = { isTTY, columns, write: (text: string) => written.push(text) }
  const progress = new Progress("exporting", { ...options, out, now: () => time })
  return { out, progress, written, pass: (ms: number) => (time += ms) }
}

describe("progress of long work", () => {
  it("is one line of a terminal, rewritten at most ten times a second and removed at the end", () => {
    const { pass, progress, written } = made(true, { unit: "runs", total: 40 })
    pass(2_000)
    progress.at(3)
    progress.at(4)
    pass(99)
    progress.at(5)
    pass(1)
    progress.at(30, "the last ones")
    progress.clear()
    progress.clear()
    assert.deepStrictEqual(written, [
      `${erase}exporting: 3 of 40 runs, 1.5 a second, 2 s`,
      `${erase}exporting: 30 of 40 runs, 14 a second, 2 s, the last ones`,
      erase
    ])
  })

  it("is no longer than the terminal is wide", () => {
    const { pass, progress, written } = made(true, { unit: "runs" }, 20)
    pass(1_000)
    progress.at(1)
    assert.deepStrictEqual(written, [`${erase}exporting: 1 runs, `])
  })

  it("is a line every five seconds elsewhere, and nothing of work that is soon over", () => {
    const { pass, progress, written } = made(false, { unit: "runs" })
    for (let done = 1; done <= 12; done++) {
      pass(1_000)
      progress.at(done)
      progress.clear()
      if (done === 4) assert.deepStrictEqual(written, [])
    }
    assert.deepStrictEqual(written, [
      "exporting: 5 runs, 1.0 a second, 5 s\n",
      "exporting: 10 runs, 1.0 a second, 10 s\n"
    ])
  })

  it("says the time alone where nothing is counted", () => {
    const { pass, progress, written } = made(false, {})
    pass(5_000)
    progress.tick()
    assert.deepStrictEqual(written, ["exporting: 5 s\n"])
  })
})

describe("progress of an Effect", () => {
  it.live("is said every second, and its line is removed when it fails, too", () =>
    Effect.gen(function* () {
      const written: Array<string> = []
      const out = { isTTY: true, columns: 80, write: (text: string) => written.push(text) }
      const work = Effect.andThen(Effect.sleep(1_300), Effect.fail("gone"))
      assert.strictEqual(yield* Effect.flip(during("erasing", { out }, () => work)), "gone")
      assert.deepStrictEqual(written, [`${erase}erasing: 1 s`, erase])
    })
  )
})

describe("progress of the tests", () => {
  const printed = [
    " \u001b[32m✓\u001b[39m together test/run/A.test.ts (3 tests) 5ms\n   ✓ a slow te",
    "st 400ms\n ❯ together test/run/B.test.ts (1 test | 1 failed)\n",
    " ✓ together test/run/C.test.ts (1 test) 5ms\n"
  ]

  it("is one line on a terminal for the files that passed, below what failed", () => {
    const { out, pass, progress, written } = made(true, { unit: "files" })
    const show = countFiles(progress, out)
    for (const text of printed) {
      pass(1_000)
      show(text)
    }
    assert.deepStrictEqual(written, [
      `${erase}exporting: 1 files, 1.0 a second, 1 s, test/run/A.test.ts`,
      erase,
      " ❯ together test/run/B.test.ts (1 test | 1 failed)\n",
      `${erase}exporting: 2 files, 0.7 a second, 3 s, test/run/C.test.ts`
    ])
  })

  it("is vitest's own line for each file elsewhere", () => {
    const { out, progress, written } = made(false, { unit: "files" })
    printed.forEach(countFiles(progress, out))
    assert.deepStrictEqual(written, printed)
  })
})

/** An npm that brings three packages, two seconds apart. */
const npm = `
import { mkdirSync, writeFileSync } from "node:fs"
for (const name of ["a", "b", "c"]) {
  await new Promise((on) => setTimeout(on, 2_000))
  mkdirSync("node_modules/" + name, { recursive: true })
  writeFileSync("node_modules/" + name + "/package.json", "{}")
}
writeFileSync("node_modules/.package-lock.json", process.argv.join(" "))
`

const clone = Effect.map(Homes.temporary, (root) => {
  mkdirSync(join(root, "scripts"))
  copyFileSync("scripts/install.mjs", join(root, "scripts/install.mjs"))
  writeFileSync(join(root, "package.json"), "{}")
  const packages = { "": {}, "node_modules/a": {}, "node_modules/b": {}, "node_modules/c": {} }
  writeFileSync(join(root, "package-lock.json"), JSON.stringify({ packages }, undefined, 2))
  writeFileSync(join(root, "npm-cli.cjs"), `import(${JSON.stringify(join(root, "npm.mjs"))})`)
  writeFileSync(join(root, "npm.mjs"), npm)
  return root
})

const installed = (root: string, program: string, args: ReadonlyArray<string>) =>
  Effect.callback<string>((resume) => {
    const env = { ...process.env, npm_execpath: join(root, "npm-cli.cjs") }
    const child = spawn(program, args, { cwd: root, env })
    let text = ""
    child.stdout.on("data", (chunk) => (text += String(chunk)))
    child.stderr.on("data", (chunk) => (text += String(chunk)))
    child.on("close", (code) => resume(Effect.succeed(`${text}ended with ${code}`)))
  })

inLongForm(
  "a first install says every five seconds how far it is where there is no terminal, and a second one nothing",
  () =>
    Effect.gen(function* () {
      const root = yield* clone
      const install = installed(root, process.execPath, ["scripts/install.mjs"])
      assert.match(
        yield* install,
        /^Installing dependencies \(once\) \.\.\.\n(?:installing: [1-3] of 3 packages, \d\.\d a second, \d+ s\n)+ended with 0$/
      )
      assert.strictEqual(yield* install, "ended with 0")
    })
)

/** A pseudo terminal, of util-linux. */
const script = "/usr/bin/script"
const onTerminal = existsSync(script) ? inLongForm : it.live.skip
onTerminal("a first install has one line of a terminal, which is removed at the end", () =>
  Effect.gen(function* () {
    const root = yield* clone
    const command = `${process.execPath} scripts/install.mjs`
    const text = yield* installed(root, script, ["-qec", command, "/dev/null"])
    // Once a second of about six.
    const lines = text.split(`${erase}installing: `).slice(1)
    assert.isAtLeast(lines.length, 4, JSON.stringify(text))
    for (const line of lines) assert.match(line, /^[0-3] of 3 packages, \d\.\d a second, \d+ s/)
    assert.isTrue(text.endsWith(`${erase}ended with 0`), JSON.stringify(text))
  })
)
