import { Schema } from "effect"
import { AgentSpec, tool } from "troupe"
import { start } from "troupe/embed"
import { call, scripted, text } from "troupe/testing"
import { remote, startWorker } from "troupe/worker"

const scan = {
  namespace: "files",
  name: "scan",
  description: "Looks for viruses.",
  side_effects: "read",
  input: Schema.Struct({ file: Schema.String }),
  output: Schema.String
} as const
const guard = AgentSpec.make({ name: "guard", instructions: "Check files.", tools: ["scan"] })
const store = { postgres: process.env["DATABASE_URL"] ?? "postgres://localhost/shop" }

// The runtime has the declaration.
const troupe = await start({
  agents: [guard],
  tools: [remote(scan)],
  model: scripted([call("scan", { file: "a.zip" }), text("It is clean.")]),
  store
})
// The body is in another process, on the same server: here it is in this one.
const worker = await startWorker({
  tools: [tool(scan, ({ file }) => `${file} is clean`)],
  provider: "scanner",
  store
})
const { run, text: answer } = await troupe.ask({ agent: "guard", text: "Is a.zip clean?" })
for await (const item of troupe.watch(run)) {
  const event = item._tag === "Event" ? item.entry.event : undefined
  if (event?._tag === "CallSettled") console.log(event.outcome)
}
console.log(answer)
for (const { available, name } of await troupe.workerTools()) console.log(name, available)
await worker.stop()
await troupe.stop()

// Output:
// { _tag: 'Value', json: '"a.zip is clean"' }
// It is clean.
// scan true
