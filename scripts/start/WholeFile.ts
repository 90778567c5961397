/** Files that other processes may read at any moment: under its name each has all of its text, or is not there. */
import { linkSync, renameSync, rmSync, writeFileSync } from "node:fs"

const withPart = <A>(file: string, text: string, mode: number, use: (part: string) => A): A => {
  const part = `${file}.${process.pid}.part`
  try {
    writeFileSync(part, text, { mode })
    return use(part)
  } finally {
    rmSync(part, { force: true })
  }
}

/** Writes the file, in place of the one that is there. Throws what the file system throws. */
export const replace = (file: string, text: string, mode = 0o644): void =>
  withPart(file, text, mode, (part) => renameSync(part, file))

/**
 * Makes the file. Of several processes the first makes it; the others throw EEXIST. Some file systems, exFAT for one, have no
 * hard links: there another process may find the file before its text.
 */
export const make = (file: string, text: string, mode = 0o644): void =>
  withPart(file, text, mode, (part) => {
    try {
      linkSync(part, file)
    } catch {
      // Each system refuses with a code of its own. Whatever it was, an exclusive write makes the file or says why it cannot.
      writeFileSync(file, text, { mode, flag: "wx" })
    }
  })
