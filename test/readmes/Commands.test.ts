/** The commands with `curl` in the README of the API, run as they stand there, against a service at another port. */
import { execFile } from "node:child_process"
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { start } from "../../layers/compose/entries/Embed.ts"
import { scripted, text } from "../../layers/compose/entries/Testing.ts"
import { agent } from "../../src/index.ts"
import { blocksOf, root } from "../examples/Readmes.ts"

const TOKEN = "7b0a3c5e9d1f48e2a6c4b8d0f2e4a6c8"
const olga = { id: "olga", tenant: "default", roles: ["operator"] } as const
const blocks = blocksOf(readFileSync(join(root, "layers/http/README.md"), "utf8"), "sh")

let troupe: Awaited<ReturnType<typeof start>>
const directory = mkdtempSync(join(tmpdir(), "troupe-curl-"))
beforeAll(async () => {
  copyFileSync(join(root, "layers/console/run.png"), join(directory, "receipt.png"))
  troupe = await start({
    agents: [agent({ name: "shop", instructions: "Help customers." })],
    model: scripted(() => text("Good morning.")),
    http: { port: 0, tokens: [{ token: TOKEN, principal: olga }], settings: { wires: ["mcp"] } }
  })
})
afterAll(async () => {
  await troupe.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** What a block prints, an answer a line. */
const printed = async (block: string): Promise<ReadonlyArray<string>> => {
  const here = block.replaceAll("localhost:8080", String(troupe.url).replace("http://", ""))
  // Quiet, a line for each answer, and fails where one is refused.
  const script = `curl() { command curl -sS --fail-with-body -w '\\n' "$@"; }\n${here}`
  const env = { ...process.env, TOKEN }
  const options = { cwd: directory, env, timeout: 60_000 }
  const { stdout } = await promisify(execFile)("bash", ["-euc", script], options)
  return stdout.trim().split("\n")
}

/** The names of members in a text that may leave some out. */
const namesIn = (json: string) => [...json.matchAll(/"(\w+)":/g)].map(([, name]) => name!)

describe("the commands of the README of the API", () => {
  it("are answered, each of them", async () => {
    assert.isAtLeast(blocks.length, 3)
    for (const block of blocks) {
      const answers = await printed(block)
      assert.lengthOf(answers, block.match(/^curl /gm)!.length, block)
      for (const answer of answers) assert.isObject(JSON.parse(answer), block)
    }
  })

  it("of MCP are answered as is said there, in both revisions", async () => {
    const block = blocks.find((each) => each.includes("/wires/mcp"))!
    const [older = "", newest = ""] = await printed(block)
    const said = namesIn(/^# (.*)$/m.exec(block)![1]!)
    assert.includeMembers(namesIn(newest), said)
    assert.includeMembers(
      namesIn(older),
      said.filter((name) => name !== "resultType")
    )
    for (const answer of [older, newest]) {
      const { status, text } = JSON.parse(answer).result.structuredContent
      assert.deepStrictEqual([status, text], ["complete", "Good morning."])
    }
  })
})
