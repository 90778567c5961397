/**
 * The conformance suite of the Model Context Protocol against agents as tools, in both revisions that it has requirements for: each
 * check passes but those that `McpConformanceGaps.ts` gives a reason for, and one of these that passes fails here too.
 */
import { execFile } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { createServer, request } from "node:http"
import type { Server } from "node:http"
import { createRequire } from "node:module"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { fixtures, translated } from "./McpFixtures.ts"
import { failing, gaps } from "./McpConformanceGaps.ts"
import type { Shop } from "./WireScene.ts"
import { shop, tokens } from "./WireScene.ts"

const require = createRequire(import.meta.url)
const suite = require.resolve("@modelcontextprotocol/conformance/dist/index.js")
let troupe: Shop
let front: Server
let folder: string

/**
 * The suite sends no token, and calls tools of its own: what stands before the service adds a token to each request, and names the
 * tool that asks an agent in place of some of them.
 */
const inFrontOf = (to: URL): Server =>
  createServer(async (asked, answer) => {
    const { method = "GET" } = asked
    const { body, headers } = translated(await text(asked), asked.headers)
    const sent = request({
      hostname: to.hostname,
      port: to.port,
      path: "/wires/mcp",
      method,
      headers: {
        ...headers,
        authorization: `Bearer ${tokens.olga}`,
        "content-length": Buffer.byteLength(body)
      }
    })
    sent.on("response", (got) => {
      answer.writeHead(got.statusCode!, got.headers)
      got.pipe(answer)
    })
    sent.on("error", () => answer.destroy())
    sent.end(body)
  })

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "troupe-conformance-"))
  troupe = await shop(fixtures)
  front = inFrontOf(new URL(troupe.url!))
  await new Promise<void>((done) => front.listen(0, "127.0.0.1", done))
})
afterAll(async () => {
  front.closeAllConnections()
  front.close()
  await troupe.stop()
  rmSync(folder, { recursive: true, force: true })
})

interface Check {
  readonly id: string
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "INFO" | "SKIPPED"
  readonly errorMessage?: string
}

/** The checks of each scenario. */
const results = async (revision: string): Promise<ReadonlyMap<string, ReadonlyArray<Check>>> => {
  const { port } = front.address() as AddressInfo
  const at = join(folder, revision)
  const args = ["server", "--url", `http://127.0.0.1:${port}/mcp`, "--requirements", revision]
  // It ends with 1 where a check fails; what it found is in its files.
  await new Promise((done) => execFile(process.execPath, [suite, ...args, "-o", at], done))
  return new Map(
    readdirSync(at).map((name) => {
      const [, scenario = name] = /^server-(.*)-\d{4}-\d\d-\d\dT[\d-]+Z$/.exec(name) ?? []
      return [scenario, JSON.parse(readFileSync(join(at, name, "checks.json"), "utf8"))]
    })
  )
}

/** How a check fails where what it needs is not there. A fault of the server would say something else. */
const absent =
  /There is no such (?:tool|method)|^Not testable: server |^Tool '\w+' not found|^Prerequisite failed|^Expected InputRequiredResult/

describe("agents as tools", () => {
  const revisions = ["2025-11-25", "2026-07-28"] as const

  it.concurrent.each(revisions)(
    "meet the requirements of %s but for what they do not have",
    async (revision) => {
      const found = await results(revision)
      assert.isAtLeast(found.size, 33)
      const failed = [...found].flatMap(([scenario, checks]) =>
        checks.flatMap(({ errorMessage = "", id, status }) =>
          status === "FAILURE" ? [{ check: `${scenario}:${id}`, errorMessage }] : []
        )
      )
      const expected = failing(gaps[revision])
      assert.deepStrictEqual(failed.map(({ check }) => check).toSorted(), expected.toSorted())
      const isOfTasks = (check: string) => check.startsWith("tasks-")
      assert.deepStrictEqual(
        failed.filter(({ check, errorMessage }) => !isOfTasks(check) && !absent.test(errorMessage)),
        []
      )
      // The messages of the server were judged by the schema of the revision, in each scenario that sends some.
      const judged = [...found.values()].flat().filter(({ id }) => id === "wire-schema-valid")
      assert.isAtLeast(judged.length, 25)
    },
    60_000
  )
})
