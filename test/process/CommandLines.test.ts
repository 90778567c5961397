/** What the commands of a clone print where their command line asks for help, or cannot be read. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, assert, describe, it } from "vitest"

const root = join(import.meta.dirname, "../..")
const cwd = mkdtempSync(join(tmpdir(), "troupe-lines-"))
afterAll(() => rmSync(cwd, { recursive: true }))

const run = (script: string, flag: string) => {
  const env = { ...process.env, TROUPE_DATA: "", TROUPE_PORT: "0" }
  const args = ["-C", "troupe-source", join(root, script), flag]
  return spawnSync(process.execPath, args, { cwd, env, encoding: "utf8", timeout: 25_000 })
}

it("test/conformance/main.ts takes an empty text for no directory: all would pass, because nothing is there", () => {
  const { status, stderr } = run("test/conformance/main.ts", "--vectors=")
  assert.strictEqual(status, 2, stderr)
  assert.include(stderr.split("\n")[0], "--vectors. Expected: a directory")
})

describe("the command line of", () => {
  for (const [script, option] of [
    ["scripts/start.ts", "TROUPE_PORT"],
    ["test/conformance/main.ts", "--vectors"],
    ["test/checks/check.ts", "--changed"],
    ["test/release/release.ts", "--dry-run"],
    ["test/checks/test.ts", "--full"]
  ] as const) {
    it(`${script} has help with its options, and does nothing else`, () => {
      const { status, stderr, stdout } = run(script, "--help")
      assert.strictEqual(status, 0, stderr)
      assert.include(stdout, option)
      assert.notMatch(stdout, /Troupe is up|RUN /)
      assert.deepStrictEqual(readdirSync(cwd), [])
    })

    it(`${script} ends with 2 at an unknown flag, which it names in its first line`, () => {
      const { status, stderr, stdout } = run(script, "--bogus")
      assert.strictEqual(status, 2, stdout)
      assert.match(stderr, /^Unrecognized flag: --bogus/)
      assert.notMatch(stderr, /\n\s+at /)
      assert.strictEqual(stdout, "")
      assert.deepStrictEqual(readdirSync(cwd), [])
    })
  }
})
