/** An MCP host whose service is stopped and begun anew over the same database: it goes on with its client, its run and its keys. */
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { assert, it } from "@effect/vitest"
import { Principal } from "troupe"
import { declaring, posted, with_tasks } from "./McpTaskHost.ts"
import { held, ran, shop, tokens } from "./WireScene.ts"

const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })

/** A port that nobody has. */
const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

it("goes on with a question, a key and a task behind a stop, in the same client, which is told at a stop", async () => {
  ran.length = 0
  const directory = mkdtempSync(join(tmpdir(), "troupe-mcp-"))
  const port = await freePort()
  const open = () =>
    shop({ store: { directory }, http: { port, settings: { wires: ["mcp"] } } } as never)
  const client = new Client({ name: "host", version: "1" })
  const call = async (name: string, input: Record<string, unknown>) => {
    const { structuredContent } = await client.callTool({ name, arguments: input })
    return structuredContent as Record<"status" | "text" | "run", string> & {
      readonly waiting_for: ReadonlyArray<{ readonly approval: string }>
    }
  }
  let troupe = await open()
  try {
    const url = new URL(`${troupe.url}/wires/mcp`)
    const requestInit = { headers: { authorization: `Bearer ${tokens.ada}` } }
    await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
    const message = { message: "refund 1003", idempotency_key: "7" }
    const asked = await call("ask_clerk", message)
    assert.strictEqual(asked.status, "awaiting_approval")
    const said = { name: "ask_clerk", arguments: { message: "refund 1004" } }
    const asking = { method: "tools/call", params: declaring(said, with_tasks) }
    const { taskId } = (await posted(troupe, "ada", asking)).result
    const taskNow = async (method = "tasks/get") =>
      (await posted(troupe, "ada", { method, params: declaring({ taskId }, with_tasks) })).result
    const task = await taskNow()
    assert.strictEqual(task.status, "working")
    // Who waits while the service stops is answered with what there is.
    const { promise, resolve } = Promise.withResolvers<void>()
    held.promise = promise
    const waiting = call("ask_clerk", { message: "hold 1" })
    while ((await troupe.runs({ limit: 5 })).length < 3) await new Promise(setImmediate)
    const stopped = troupe.stop()
    const cut = await waiting
    assert.strictEqual(cut.status, "processing")
    resolve()
    await stopped

    troupe = await open()
    assert.deepStrictEqual(await taskNow(), task)
    await taskNow("tasks/cancel")
    await troupe.result(taskId)
    assert.strictEqual((await taskNow()).status, "cancelled")
    const { approval } = asked.waiting_for[0]!
    assert.strictEqual((await call("ask_clerk", message)).run, asked.run)
    await troupe.decide(approval, { decision: "approve" }, olga)
    const done = await call("run_result", { run: asked.run })
    assert.deepStrictEqual([done.status, done.text], ["complete", "Done with refund 1003."])
    assert.strictEqual((await call("run_result", { run: cut.run })).status, "complete")
    assert.deepStrictEqual(ran, ["refund 1003"])
  } finally {
    await client.close()
    await troupe.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}, 60_000)
