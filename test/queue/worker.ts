/**
 * A worker in a process of its own. Arguments: a PostgreSQL URL; a file that each body appends a line to when it begins;
 * `hang` or `end`, for what a body does then; and what the `reconcile` of `asked` finds. Prints a line when it has started.
 */
import { appendFileSync } from "node:fs"
import { Effect } from "effect"
import { startWorker } from "../../layers/compose/entries/NodeToolWorker.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import * as Declared from "./Declared.ts"

const [, , url, file, how, found] = process.argv

const body = (_: unknown, { key }: { readonly key: string | undefined }): Promise<string> => {
  appendFileSync(file!, `${how} ${key ?? "-"}\n`)
  return how === "hang" ? new Promise(() => setInterval(() => {}, 1_000)) : Promise.resolve("done")
}

const asked = tool(
  {
    ...Declared.asked,
    timeout_ms: 1_500,
    reconcile: (_, { key }) => {
      appendFileSync(file!, `asked ${key ?? "-"}\n`)
      return Effect.succeed(
        found === "happened"
          ? ({ _tag: "Happened", result: "found" } as const)
          : ({ _tag: found === "not" ? "NotHappened" : "Unknown" } as const)
      )
    }
  },
  body
)

await startWorker({
  tools: [...Declared.all.map((declared) => tool(declared, body)), asked],
  store: { postgres: url! },
  provider: "shop",
  config: { ack_wait_ms: 600, sweep_ms: 100, offer_ms: 900 }
})
process.stdout.write("started\n")
