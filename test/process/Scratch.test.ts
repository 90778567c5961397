/** Where a run of the tests keeps its files. */
import { spawnSync } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, assert, beforeEach, describe, it } from "vitest"

const script = new URL("../checks/Scratch.ts", import.meta.url).href

/** Makes the folder in a process of its own; its path, and whether it was there while that process lived. */
const made = (form: "short" | "full", env: NodeJS.ProcessEnv): { path: string; was: boolean } => {
  const code = `
    import { existsSync } from "node:fs"
    import { make } from ${JSON.stringify(script)}
    const path = make(${JSON.stringify(form)})
    console.log(JSON.stringify({ path, was: existsSync(path) }))`
  const { stderr, stdout } = spawnSync(process.execPath, ["--input-type=module", "--eval", code], {
    encoding: "utf8",
    env
  })
  assert.notStrictEqual(stdout, "", stderr)
  return JSON.parse(stdout) as { path: string; was: boolean }
}

describe("the folder of a run of the tests", () => {
  let place: string
  beforeEach(() => {
    place = mkdtempSync(join(tmpdir(), "troupe-scratch-"))
  })
  afterEach(() => rmSync(place, { recursive: true, force: true }))

  it("is where TMPDIR says, and is gone with the run", () => {
    for (const form of ["short", "full"] as const) {
      const { path, was } = made(form, { ...process.env, TMPDIR: place })
      assert.isTrue(path.startsWith(`${place}/troupe-test-`), path)
      assert.isTrue(was)
      assert.isFalse(existsSync(path))
    }
  })

  it("removes what runs left that were killed, and nothing of those that go on", () => {
    const { pid } = spawnSync(process.execPath, ["--version"])
    const [dead, alive, other] = [
      `troupe-test-${pid}-x`,
      `troupe-test-${process.pid}-x`,
      "troupe-x"
    ]
    for (const name of [dead, alive, other]) mkdirSync(join(place, name))
    made("full", { ...process.env, TMPDIR: place })
    assert.deepStrictEqual(
      [dead, alive, other].map((name) => existsSync(join(place, name))),
      [false, true, true]
    )
  })

  it("is no place in memory for the long forms, which write more than fits there", () => {
    const { TMPDIR: _, ...env } = process.env
    const { path, was } = made("full", env)
    assert.isTrue(was)
    assert.isFalse(path.startsWith("/dev/shm/"), path)
    assert.isTrue(statSync(join(path, "..")).isDirectory())
  })
})
