/**
 * The health check of the image: fails if the service does not answer three times in a row. With `--end SCRIPT` it then ends the
 * process of that script as `kill -9` does: Docker starts a container again that has ended, and none that is unhealthy. That needs
 * an init process (`init: true`), because the first process of a container cannot be ended from within.
 */
import { readdirSync, readFileSync } from "node:fs"

const tries = 3
const answer_ms = 5_000
const url = `http://127.0.0.1:${process.env["TROUPE_PORT"]}/health`

const answers = () =>
  fetch(url, { signal: AbortSignal.timeout(answer_ms) }).then(
    ({ ok }) => ok,
    () => false
  )

/** Only the process of the script itself has it as the argument after the program. */
const runs = (pid, script) => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0")[1] === script
  } catch {
    return false
  }
}

const end = (script) => {
  for (const name of readdirSync("/proc")) {
    if (/^\d+$/.test(name) && runs(name, script)) process.kill(Number(name), "SIGKILL")
  }
}

let isUp = await answers()
for (let n = 1; n < tries && !isUp; n++) isUp = await answers()
if (!isUp) {
  process.stderr.write(`${url} does not answer\n`)
  const [flag, script] = process.argv.slice(2)
  if (flag === "--end" && script !== undefined) end(script)
  process.exitCode = 1
}
