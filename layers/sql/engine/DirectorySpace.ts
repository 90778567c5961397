/**
 * Checks the free space on the disk of a data directory, and whether its files can be opened.
 */
import { access, constants, statfs } from "node:fs/promises"
import { Effect } from "effect"
import { StoreError } from "../../../services/StoreError.ts"
import type { StoreSpace } from "../../../services/StoreSpace.ts"
import { openable } from "./OpenFiles.ts"

const mega = 2 ** 20
/** The least free bytes: two log files, one that is being begun and one for the growth of the tables meanwhile. */
const free_bytes_min = 32 * mega
/** The least number of files that can still be opened: a statement may need a table, its indexes and a log file at once. */
const files_min = 16

const refused = (message: string) => new StoreError({ message })

export const directorySpace = (directory: string): StoreSpace => ({
  check: Effect.gen(function* () {
    if (openable(files_min) < files_min) {
      return yield* refused("this process may open no more files (ulimit -n)")
    }
    const { bavail, bsize } = yield* Effect.tryPromise({
      try: async () => {
        await access(directory, constants.W_OK)
        return await statfs(directory)
      },
      catch: () => refused("the directory of the store cannot be written")
    })
    const free = bavail * bsize
    if (free < free_bytes_min) {
      return yield* refused(`the disk of the store has ${Math.floor(free / mega)} MB left`)
    }
  })
})
