/**
 * Where a run of the tests keeps its files: in memory where Linux has room there. A hundred new databases wait for a disk
 * longer than the tests take that ask them.
 */
import { chmodSync, mkdtempSync, readdirSync, rmSync, statfsSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

/** Files in memory, where Linux has them. */
const memory = "/dev/shm"
/** A run writes 1.2 GB at most at one time. */
const file_bytes_min = 4 * 1024 ** 3
/** What the run itself needs comes on top. */
const memory_bytes_min = 8 * 1024 ** 3
/** Names say whose they are: `troupe-test-PID-...`. */
const owned = /^troupe-test-(\d+)-/

const lives = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

const hasRoom = (): boolean => {
  if (process.platform !== "linux" || process.env["TMPDIR"] !== undefined) return false
  try {
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize >= file_bytes_min && process.availableMemory() >= memory_bytes_min
  } catch {
    return false
  }
}

const remove = (path: string): void => {
  try {
    rmSync(path, { recursive: true, force: true, maxRetries: 3 })
  } catch {
    // Somebody else's, or still written to: the next run looks again.
  }
}

/** Removes what runs left that were killed. */
const sweep = (folder: string): void => {
  for (const name of readdirSync(folder)) {
    const pid = Number(owned.exec(name)?.[1])
    if (pid > 0 && !lives(pid)) remove(join(folder, name))
  }
}

/**
 * A folder that is removed when this process ends; every user may pass through, as the server of PostgreSQL has its own.
 * The long forms write more than fits in memory.
 */
export const make = (form: "short" | "full"): string => {
  const place = form === "short" && hasRoom() ? memory : tmpdir()
  sweep(place)
  const folder = mkdtempSync(join(place, `troupe-test-${process.pid}-`))
  chmodSync(folder, 0o755)
  process.once("exit", () => remove(folder))
  return folder
}
