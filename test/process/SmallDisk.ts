/** A small file system of its own in memory, which a test can fill. */
import { execFileSync } from "node:child_process"
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync, statfsSync, writeSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import type { Scope } from "effect"
import { publicDirectory } from "../sql/PostgresPrograms.ts"

export interface SmallDisk {
  readonly path: string
  /** Leaves so many bytes free. */
  readonly fill: (left: number) => void
  /** Gives back what `fill` took. */
  readonly free: () => void
}

/** A disk of so many MB until the scope closes; undefined where this user may not mount a file system. */
export const small = (mega: number): Effect.Effect<SmallDisk | undefined, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const path = mkdtempSync(join(publicDirectory(), "troupe-small-"))
      try {
        const options = ["-t", "tmpfs", "-o", `size=${mega}m`, "tmpfs", path]
        execFileSync("mount", options, { stdio: "pipe" })
        chmodSync(path, 0o755)
        return { path, isMounted: true }
      } catch {
        return { path, isMounted: false }
      }
    }),
    ({ isMounted, path }) =>
      Effect.sync(() => {
        if (isMounted) execFileSync("umount", ["-l", path])
        rmSync(path, { recursive: true, force: true })
      })
  ).pipe(Effect.map(({ isMounted, path }) => (isMounted ? diskAt(path) : undefined)))

const chunk_bytes = 8 * 2 ** 20

const diskAt = (path: string): SmallDisk => {
  const other = join(path, "other")
  return {
    path,
    fill: (left) => {
      const free = () => {
        const { bavail, bsize } = statfsSync(path)
        return bavail * bsize
      }
      const file = openSync(other, "a")
      try {
        for (let more = free() - left; more > 0; more = free() - left) {
          writeSync(file, Buffer.alloc(Math.min(more, chunk_bytes)))
        }
      } catch (error) {
        // Somebody else took the rest.
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error
      } finally {
        closeSync(file)
      }
    },
    free: () => rmSync(other, { force: true })
  }
}
