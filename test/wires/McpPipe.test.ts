/** `troupe mcp serve`: the official client begins it as a process, which speaks for its token. */
import { assert, describe, it } from "vitest"
import { join } from "node:path"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { flags } from "../process/Bundle.ts"
import { shop, tokens } from "./WireScene.ts"

const root = join(import.meta.dirname, "../..")
const begun = (url: string, token: string) =>
  new StdioClientTransport({
    command: process.execPath,
    args: [...flags, "-C", "troupe-source", "scripts/troupe.ts", "mcp", "serve"],
    cwd: root,
    env: { PATH: process.env["PATH"] ?? "", TROUPE_URL: url, TROUPE_TOKEN: token }
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
        await client.connect(begun(String(troupe.url), tokens.carl))
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
