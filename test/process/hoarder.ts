/**
 * A service that opens all the files that its process may, when it is told to. Argument: its store, as JSON. Answers by IPC:
 * `take`, `give back`, `ready` (the status and text of `/ready`), `send` (the run, or the tag of the refusal), `status` of a run.
 */
import { closeSync, openSync } from "node:fs"
import { layer, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import { AgentSpec } from "../../src/index.ts"

const store = JSON.parse(process.argv[2] ?? "") as { readonly directory: string }
const troupe = await start({
  agents: [AgentSpec.make({ name: "shop", instructions: "Help." })],
  model: layer(() => text("hello")),
  store,
  http: { tokens: [] }
})
const taken: Array<number> = []

const takeAll = (): string => {
  try {
    for (;;) taken.push(openSync(process.execPath, "r"))
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? ""
  }
}

const answers: Readonly<Record<string, (run: string) => unknown>> = {
  take: takeAll,
  "give back": () => {
    for (const file of taken.splice(0)) closeSync(file)
  },
  ready: async () => {
    const response = await troupe.handler(new Request("http://localhost/ready"))
    return `${response.status} ${await response.text()}`
  },
  send: async () => {
    try {
      return (await troupe.send({ agent: "shop", text: "hello" })).run
    } catch (error) {
      return `refused: ${(error as { readonly _tag?: string })._tag}`
    }
  },
  status: async (run) => (await troupe.result(run)).status
}

process.on("message", ({ id, op, run }: { id: number; op: string; run: string }) => {
  void Promise.resolve(answers[op]?.(run)).then((answer) =>
    process.send?.({ id, answer: answer ?? null })
  )
})
process.send?.({ notice: "ready" })
