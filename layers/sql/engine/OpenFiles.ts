/** How many files this process may still open, which is found by a trial: Node does not tell its limit. */
import { closeSync, openSync } from "node:fs"

const isLimit = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE")

/** How many more may be opened at this moment, of `max` that are tried. */
export const openable = (max: number): number => {
  const opened: Array<number> = []
  try {
    while (opened.length < max) opened.push(openSync(process.execPath, "r"))
    return max
  } catch (error) {
    // What else is in the way says nothing of a limit.
    return isLimit(error) ? opened.length : max
  } finally {
    for (const file of opened) closeSync(file)
  }
}
