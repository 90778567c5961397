/**
 * PGlite for tests: in memory, a new and empty database each time. Making one costs seconds of CPU time, loading its dump
 * a third of one: the dump is made once.
 */
import { createHash } from "node:crypto"
import { openAsBlob, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { PGlite } from "@electric-sql/pglite"
import { Effect, Layer } from "effect"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import { kept } from "./Kept.ts"

const dumped = async (path: string): Promise<void> => {
  const pg = await PGlite.create()
  const dump = await pg.dumpDataDir("none")
  await pg.close()
  writeFileSync(path, Buffer.from(await dump.arrayBuffer()))
}

const dump = Effect.suspend(() => {
  const lock = readFileSync(join(import.meta.dirname, "../../package-lock.json"))
  const digest = createHash("sha256").update(lock).digest("hex").slice(0, 16)
  return kept("empty", digest, (path) => Effect.promise(() => dumped(path)))
})

export const layer = Layer.unwrap(
  Effect.map(
    Effect.flatMap(dump, (path) => Effect.promise(() => openAsBlob(path))),
    (load) => Pglite.layer({ load })
  )
)
