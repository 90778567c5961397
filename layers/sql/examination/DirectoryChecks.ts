/**
 * Checks the disk of a data directory. This works even while another process has the directory locked.
 */
import { accessSync, constants, existsSync, statfsSync, statSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { marker } from "../engine/ErasedBytes.ts"
import type { Finding } from "../../../src/value/Finding.ts"
import { fault, ok, unknown, warning } from "../../../src/value/Finding.ts"

const mega = 2 ** 20
/**
 * Free bytes below which there is a fault: a checkpoint, and the log between two of them, need space, and a store with less soon
 * stops.
 */
const scarce_bytes = 256 * mega
const low_bytes = 1_024 * mega

const sized = (bytes: number): string => `${Math.floor(bytes / mega)} MB`

const space = (directory: string): Finding => {
  const { bavail, bsize } = statfsSync(directory)
  const free = bavail * bsize
  const said = `${sized(free)} are free on the disk of ${directory}`
  if (free < scarce_bytes) return fault("space", said)
  return free < low_bytes ? warning("space", said) : ok("space", said)
}

const access = (directory: string): Finding => {
  try {
    accessSync(directory, constants.R_OK | constants.W_OK | constants.X_OK)
  } catch {
    return fault("access", `${directory} cannot be written by this user`)
  }
  return (statSync(directory).mode & 0o077) === 0
    ? ok("access", `${directory} is its user's alone`)
    : warning("access", `other users of this machine can open ${directory}: chmod 700 it`)
}

const looked = (check: string, look: () => Finding): Finding => {
  try {
    return look()
  } catch (error) {
    const why = error instanceof Error && "code" in error ? String(error.code) : String(error)
    return unknown(check, `it cannot be looked at: ${why}`)
  }
}

export const examine = (directory: string): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.sync(() => [
    looked("access", () => access(directory)),
    looked("space", () => space(directory)),
    ...(existsSync(join(directory, marker))
      ? [
          warning(
            "erasure",
            "files of the database have bytes of what was erased: the next process that opens it rewrites them when the disk has space"
          )
        ]
      : [])
  ])
