/** Files that other processes read while a service starts: its address and its token. */
import { closeSync, openSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
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
