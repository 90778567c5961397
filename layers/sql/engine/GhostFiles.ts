/**
 * Files that PGlite takes for existing and that are not on the disk. Its file system notes a new file before it makes it; where
 * the process may open no more files, the note stays, and each later statement that needs the file fails because it exists
 * (58P02), for as long as the process lives. The file is made then, empty, as it would have been.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

const refused = /^could not create file "([\w/.]+)": File exists$/

/** Makes the file that this failure of a statement names, unless it is there. The next statement finds it. */
export const makeGhost = (data: string, cause: unknown): void => {
  if (!(cause instanceof Error) || !("code" in cause) || cause.code !== "58P02") return
  const [, path] = refused.exec(cause.message) ?? []
  if (path === undefined || path.includes("..")) return
  try {
    writeFileSync(join(data, path), "", { flag: "wx", mode: 0o600 })
  } catch {
    // It is there, or cannot be made yet: the statement fails as before.
  }
}
