import { execFileSync } from "node:child_process"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { assert, it } from "@effect/vitest"
import { brought, programs } from "./PostgresPrograms.ts"

it("PostgreSQL's programs run wherever they lie, also below a directory of mode 0700", () => {
  const { native, version } = brought()
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "troupe-private-"))
  fs.chmodSync(home, 0o700)
  const link = path.join(home, "native")
  fs.symlinkSync(native, link)
  const found = programs({ native: link, version })
  // Root hands over to another user, who cannot enter; whoever runs them as himself can.
  const isRoot = os.userInfo().uid === 0
  assert.strictEqual(found.initdb.startsWith(home), !isRoot)
  for (const program of [found.initdb, found.postgres]) {
    const said = execFileSync(program, ["--version"], { ...found.as, cwd: "/", encoding: "utf8" })
    assert.match(said, /PostgreSQL/)
  }
  // Made once: the next run finds it.
  const made = fs.statSync(found.initdb).ino
  assert.strictEqual(fs.statSync(programs({ native: link, version }).initdb).ino, made)
  fs.rmSync(home, { recursive: true, force: true })
})
