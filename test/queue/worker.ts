/**
 * A worker in a process of its own. Arguments: a PostgreSQL url, a file that its bodies write a line to when they begin,
 * and `hang` or `end`: what a body does then. Prints a line when it has started.
 */
import { appendFileSync } from "node:fs"
import { startWorker } from "../../layers/compose/NodeToolWorker.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Declared from "./Declared.ts"

const [, , url, file, how] = process.argv

const body = (_: unknown, { key }: { readonly key: string | undefined }): Promise<string> => {
  appendFileSync(file!, `${how} ${key ?? "-"}\n`)
  return how === "hang" ? new Promise(() => setInterval(() => {}, 1_000)) : Promise.resolve("done")
}

await startWorker({
  tools: Declared.all.map((declared) => tool(declared, body)),
  store: { postgres: url! },
  config: { ack_wait_ms: 600, sweep_ms: 100 }
})
process.stdout.write("started\n")
