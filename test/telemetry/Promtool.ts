/** What Prometheus' own checker says, where it is installed (Debian: `apt-get install prometheus`). */
import { spawnSync } from "node:child_process"

const promtool = (args: ReadonlyArray<string>, input = "") =>
  spawnSync("promtool", args, { input, encoding: "utf8" })

const { error } = promtool(["--version"])

/** Why nothing is checked here; absent = it is there. */
export const notes: Array<string> =
  error === undefined ? [] : [`metrics and alerts are not checked by promtool: ${error.message}`]

/** The complaints of `promtool check`; none where it is not there. */
export const complaintsOf = (args: ReadonlyArray<string>, input?: string): string => {
  if (error !== undefined) return ""
  const { status, stderr } = promtool(["check", ...args], input)
  return status === 0 ? "" : `ended with ${status}: ${stderr}`
}
