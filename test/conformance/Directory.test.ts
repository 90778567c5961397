/** How drivers read the directory in TROUPE_VECTORS. */
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const vitest = path.join(root, "node_modules/vitest/vitest.mjs")

/** Runs one driver over a directory with these files. */
const driven = (files: Readonly<Record<string, string>>) => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-vectors-"))
  for (const [name, text] of Object.entries(files)) {
    fs.writeFileSync(path.join(directory, name), text)
  }
  const { VITEST: _, ...env } = process.env
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    [vitest, "run", "--config", "test/vitest.config.ts", "test/conformance/consumer_name"],
    { cwd: root, encoding: "utf8", env: { ...env, TROUPE_VECTORS: directory, NO_COLOR: "1" } }
  )
  fs.rmSync(directory, { recursive: true, force: true })
  return { status, said: stdout + stderr }
}

const cases = (...list: ReadonlyArray<unknown>) => JSON.stringify({ cases: list })

describe("the directory of vectors", () => {
  it("fails without a vector file", () => {
    const { said, status } = driven({})
    assert.strictEqual(status, 1)
    assert.include(said, "TROUPE_VECTORS holds no vector file")
  })

  it("fails at a file without cases, and at one that is not JSON", () => {
    const empty = driven({ "consumer_name.json": cases() })
    assert.strictEqual(empty.status, 1)
    assert.include(empty.said, "holds no cases")
    assert.strictEqual(driven({ "consumer_name.json": "{" }).status, 1)
  })

  it("reports an absent file, and fails at a case of an unknown shape", () => {
    const absent = driven({ "other.json": cases({ id: "a", input: "a", expect: "b" }) })
    assert.strictEqual(absent.status, 0)
    assert.include(absent.said, "consumer_name.json is absent")
    const unknown = driven({ "consumer_name.json": cases({ id: "a", input: 7, expect: "b" }) })
    assert.strictEqual(unknown.status, 1)
    assert.include(unknown.said, "unknown shape")
  })
})
