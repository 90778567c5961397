/**
 * Finds out how many files this process may still open, by trying: Node does not tell its limit.
 */
import { closeSync, openSync } from "node:fs"

const isLimit = (error: unknown): boolean =>
  error instanceof Error && "code" in error && (error.code === "EMFILE" || error.code === "ENFILE")

/** The number of files that can be opened now, at most `max`, which is how many it tries. */
export const openable = (max: number): number => {
  const opened: Array<number> = []
  try {
    while (opened.length < max) opened.push(openSync(process.execPath, "r"))
    return max
  } catch (error) {
    // Another error says nothing about the limit.
    return isLimit(error) ? opened.length : max
  } finally {
    for (const file of opened) closeSync(file)
  }
}
