/** A service that runs each program of its arguments, text of JavaScript, in a process group of its own, until it is killed. */
import { Effect } from "effect"
import * as ProcessGroup from "../../layers/builtin/ProcessGroup.ts"

const running = process.argv.slice(2).map((code) =>
  ProcessGroup.run({
    file: process.execPath,
    name: "node",
    args: ["-e", code],
    cwd: "/",
    env: {},
    stdin: "",
    timeout_ms: 120_000,
    output_bytes_max: 1_000
  })
)
await Effect.runPromise(Effect.all(running, { concurrency: "unbounded" }))
