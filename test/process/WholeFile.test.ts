/** Files that other processes read while a service starts: its address and its token. */
import fs, {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync
} from "node:fs"
import { syncBuiltinESMExports } from "node:module"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import * as Environment from "../../scripts/start/Environment.ts"
import * as WholeFile from "../../scripts/start/WholeFile.ts"
import * as Homes from "./Homes.ts"

it.live("a file that is replaced is read whole, the old one or the new one", () =>
  Effect.gen(function* () {
    const home = yield* Homes.temporary
    const file = join(home, "url")
    writeFileSync(file, "old\n")
    const opened = openSync(file, "r")
    WholeFile.replace(file, "new\n")
    assert.strictEqual(readFileSync(opened, "utf8"), "old\n")
    closeSync(opened)
    assert.strictEqual(readFileSync(file, "utf8"), "new\n")
    assert.deepStrictEqual(readdirSync(home), ["url"])
  })
)

it.live("a file that another process made first keeps its text, even an empty one", () =>
  Effect.gen(function* () {
    const home = yield* Homes.temporary
    for (const text of ["first\n", ""]) {
      const file = join(home, `token-${text.length}`)
      writeFileSync(file, text)
      assert.throws(() => WholeFile.make(file, "second\n"), /EEXIST/)
      assert.strictEqual(readFileSync(file, "utf8"), text)
    }
    assert.deepStrictEqual(readdirSync(home).sort(), ["token-0", "token-6"])
  })
)

/** Until the scope closes, every link of this process is refused, as by a file system that has none. */
const refuseLinks = (code: string) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const { linkSync } = fs
      fs.linkSync = () => {
        throw Object.assign(new Error(`${code}: link`), { code })
      }
      syncBuiltinESMExports()
      return linkSync
    }),
    (linkSync) =>
      Effect.sync(() => {
        fs.linkSync = linkSync
        syncBuiltinESMExports()
      })
  )

// Linux, macOS, FUSE, and Windows, in turn.
for (const code of ["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EISDIR"]) {
  it.live(`a file system without hard links, where a link is ${code}, holds a data directory`, () =>
    Effect.gen(function* () {
      yield* refuseLinks(code)
      const data = join(yield* Homes.temporary, "data")
      const first = yield* Environment.prepareDirectory(data)
      assert.isTrue(first.isNew)
      assert.strictEqual(readFileSync(first.file, "utf8"), `${first.token}\n`)
      assert.strictEqual(statSync(first.file).mode & 0o777, 0o600)
      assert.deepStrictEqual(readdirSync(data), ["token"])
      assert.throws(() => WholeFile.make(first.file, "second\n"), /EEXIST/)
      const second = yield* Environment.prepareDirectory(data)
      assert.deepStrictEqual(second, { ...first, isNew: false })
    })
  )
}
