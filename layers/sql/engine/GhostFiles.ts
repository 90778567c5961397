/**
 * Repairs a fault of PGlite with files that it wrongly believes to exist. Its file system records a new file before it creates
 * it. Where the process may open no more files, only the record remains, and each later statement that needs the file fails
 * because it exists (58P02), until the process ends. Creating the empty file repairs this.
 */
import { writeFileSync } from "node:fs"
import { join } from "node:path"

const refused = /^could not create file "([\w/.]+)": File exists$/

/** Creates the empty file that this failure of a statement names, unless it exists. The next statement then finds it. */
export const makeGhost = (data: string, cause: unknown): void => {
  if (!(cause instanceof Error) || !("code" in cause) || cause.code !== "58P02") return
  const [, path] = refused.exec(cause.message) ?? []
  if (path === undefined || path.includes("..")) return
  try {
    writeFileSync(join(data, path), "", { flag: "wx", mode: 0o600 })
  } catch {
    // The file exists, or cannot be created yet: the statement fails as before.
  }
}
