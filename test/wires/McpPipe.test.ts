/** `troupe mcp serve`: the official client begins it as a process, which speaks for its token. */
import { assert, describe, it } from "vitest"
import { join } from "node:path"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { flags } from "../process/Bundle.ts"
import { declaring, with_tasks } from "./McpTaskHost.ts"
import { shop, tokens } from "./WireScene.ts"

const root = join(import.meta.dirname, "../..")
const begun = (url: string, token: string) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [...flags, "-C", "troupe-source", "scripts/troupe.ts", "mcp", "serve"],
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", TROUPE_URL: url, TROUPE_TOKEN: token }
  })

/** The result of a request that the client does not know. */
const sentOver = (transport: StdioClientTransport, method: string, params: object) =>
  new Promise<object>((resolve) => {
    const own = transport.onmessage
    const onmessage: typeof own = (message) =>
      "id" in message && message.id === method && "result" in message
        ? resolve(message.result)
        : own?.(message)
    Object.assign(transport, { onmessage })
    void transport.send({
      jsonrpc: "2.0",
      id: method,
      method,
      params: declaring({ ...params }, with_tasks)
    })
  })

describe("troupe mcp serve", () => {
  it.each(["2025-11-25", "2026-07-28"])(
    "asks agents over stdio in %s, and says why it cannot",
    async (version) => {
      const troupe = await shop()
      const options =
        version === "2025-11-25"
          ? {}
          : { versionNegotiation: { mode: { pin: version as "2026-07-28" } } }
      const client = new Client({ name: "host", version: "1" }, options)
      const stranger = new Client({ name: "host", version: "1" }, options)
      try {
        const transport = begun(String(troupe.url), tokens.carl)
        await client.connect(transport)
        const { tools } = await client.listTools()
        assert.deepStrictEqual(
          tools.map(({ name }) => name),
          ["ask_clerk", "run_result"]
        )
        const asks = ["hello", "good bye"].map((message) =>
          client.callTool({ name: "ask_clerk", arguments: { message } })
        )
        const answers = await Promise.all(asks)
        assert.deepStrictEqual(
          answers.map(({ structuredContent }) => (structuredContent as { text: string }).text),
          ["You said: hello", "You said: good bye"]
        )
        if (version === "2026-07-28") {
          const [run] = await troupe.runs({ limit: 1 })
          const read = await sentOver(transport, "tasks/get", { taskId: run!.id })
          assert.deepInclude(read, { taskId: run!.id, status: "completed" })
        }
        const refused = await stranger
          .connect(begun(String(troupe.url), "unknown-unknown-unknown"))
          .then(() => "", String)
        // In the newest revision the client keeps the reason to itself.
        const reason =
          version === "2025-11-25" ? "token that this service knows" : "negotiation failed"
        assert.include(refused, reason)
        await troupe.stop()
        const away = await client
          .listTools({}, { cacheMode: "refresh" } as never)
          .then(() => "", String)
        assert.include(away, "cannot be reached")
      } finally {
        await client.close()
        await stranger.close()
        await troupe.stop()
      }
    },
    60_000
  )
})
