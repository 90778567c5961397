/**
 * PGlite for tests: in memory, a new and empty database each time. Making one costs seconds of CPU time, loading its dump
 * a third of one: the dump is made once, and kept between runs under the digest of what it was made by.
 */
import { createHash } from "node:crypto"
import {
  existsSync,
  mkdirSync,
  openAsBlob,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { join } from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Layer } from "effect"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"

const root = join(import.meta.dirname, "../..")
const kept = join(root, "node_modules/.cache/troupe-test")

const dump = async (): Promise<Blob> => {
  const lock = readFileSync(join(root, "package-lock.json"))
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 16)
  const name = `empty-${digest}.tar`
  const path = join(kept, name)
  if (!existsSync(path)) {
    const pg = await PGlite.create()
    const made = await pg.dumpDataDir("none")
    await pg.close()
    mkdirSync(kept, { recursive: true })
    for (const old of readdirSync(kept)) {
      if (old.startsWith("empty-") && !old.startsWith(name))
        rmSync(join(kept, old), { force: true })
    }
    // Of several processes that make one at the same time the last wins, and all are the same.
    const own = `${path}.${process.pid}`
    writeFileSync(own, Buffer.from(await made.arrayBuffer()))
    renameSync(own, path)
  }
  return openAsBlob(path)
}

export const layer = Layer.unwrap(
  Effect.map(Effect.promise(dump), (load) => Pglite.layer({ load }))
)
