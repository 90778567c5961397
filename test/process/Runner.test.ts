import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"

const runner = fileURLToPath(new URL("../checks/test.ts", import.meta.url))

/** What the runner of the tests says at its end, where `fault` is done to the process of vitest as it begins. */
const endOf = (fault: string) => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-runner-"))
  const file = path.join(folder, "fault.cjs")
  fs.writeFileSync(file, `if (/vitest/.test(process.argv[1] ?? "")) {\n${fault}\n}\n`)
  const { VITEST: _, ...env } = process.env
  const { status, stdout } = spawnSync(process.execPath, [runner, "test/no/such.test.ts"], {
    encoding: "utf8",
    env: { ...env, NODE_OPTIONS: `--require ${file}` }
  })
  fs.rmSync(folder, { recursive: true, force: true })
  return { status, end: stdout.slice(stdout.lastIndexOf("Failed:")) }
}

describe("the runner of the tests", () => {
  it("says what ended vitest before it ran a test", () => {
    const { end, status } = endOf(`setTimeout(() => { throw new Error("planted EACCES") })`)
    assert.strictEqual(status, 1)
    assert.include(end, "vitest ran no test; it ended with 1: Error: planted EACCES")
    assert.include(end, "0 passed, 1 failed")
  })

  it("says which signal killed vitest", () => {
    const { end, status } = endOf(`process.kill(process.pid, "SIGKILL")`)
    assert.strictEqual(status, 1)
    assert.include(end, "vitest ran no test; it ended with SIGKILL")
  })

  it("says that there is no such test", () => {
    const { end, status } = endOf("")
    assert.strictEqual(status, 1)
    assert.match(end, /vitest ran no test; it ended with 1/)
  })
})
