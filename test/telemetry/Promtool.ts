/**
 * What Prometheus' own checker says, where it is installed (Debian: `apt-get install prometheus`). Elsewhere the reason why nothing
 * was checked is printed.
 */
import { spawnSync } from "node:child_process"

/** The complaints of `promtool check`; none where it is not there. */
export const complaintsOf = (args: ReadonlyArray<string>, input = ""): string => {
  const { error, status, stderr } = spawnSync("promtool", ["check", ...args], {
    input,
    encoding: "utf8"
  })
  if (error !== undefined) console.info(`not checked by promtool: ${error.message}`)
  return error !== undefined || status === 0 ? "" : `ended with ${status}: ${stderr}`
}
