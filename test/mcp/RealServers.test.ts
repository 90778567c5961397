/**
 * Servers of the npm registry, and three of our own for what none of these does by itself, behind one `start`.
 */
import { assert, it } from "@effect/vitest"
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { McpServer, McpStdioServer } from "../../src/mcp/McpServer.ts"
import * as H from "../runtime/Harness.ts"
import * as S from "./Servers.ts"
import { at, reply, small } from "./SmallServer.ts"

interface Real {
  readonly namespace: string
  readonly version: string
  readonly args?: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly tools?: McpStdioServer["tools"]
  /** A tool of it, what it is given, and what its outcome has to say. */
  readonly says?: readonly [tool: string, given: Json, outcome: RegExp]
}

const official = "@modelcontextprotocol/server"
const stdio = ["--stdio"]

/** By the names of their packages. Without `says`, its tools need a network or a key. */
const real: Readonly<Record<string, Real>> = {
  [`${official}-sequential-thinking`]: {
    namespace: "thinking",
    version: "2026.8.31",
    says: [
      "sequentialthinking",
      { thought: "a", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 },
      /thoughtHistoryLength/
    ]
  },
  [`${official}-budget-allocator`]: {
    namespace: "budget",
    version: "2.0.3",
    args: stdio,
    says: ["get-budget-data", {}, /categories/]
  },
  [`${official}-scenario-modeler`]: {
    namespace: "scenario",
    version: "2.0.3",
    args: stdio,
    says: ["get-scenario-data", {}, /templates/]
  },
  [`${official}-cohort-heatmap`]: {
    namespace: "cohort",
    version: "2.0.3",
    args: stdio,
    says: ["get-cohort-data", { metric: "retention", periodType: "monthly" }, /cohorts/]
  },
  [`${official}-customer-segmentation`]: {
    namespace: "customers",
    version: "2.0.3",
    args: stdio,
    says: ["get-customer-data", {}, /customers/]
  },
  [`${official}-system-monitor`]: {
    namespace: "monitor",
    version: "2.0.3",
    args: stdio,
    says: ["get-system-info", {}, /hostname/]
  },
  [`${official}-basic-vanillajs`]: {
    namespace: "clock",
    version: "2.0.3",
    args: stdio,
    says: ["get-time", {}, /\d{4}-\d\d-\d\dT/]
  },
  [`${official}-postgres`]: {
    namespace: "postgres",
    version: "0.6.2",
    args: ["postgres://nobody@127.0.0.1:9/none"],
    tools: { query: { side_effects: "read" } },
    says: ["query", { sql: "SELECT 1" }, /Failed.*ECONNREFUSED/]
  },
  [`${official}-github`]: { namespace: "github", version: "2025.4.8" },
  "@antv/mcp-server-chart": { namespace: "chart", version: "0.9.10" },
  "@upstash/context7-mcp": { namespace: "context7", version: "4.1.1" },
  "@playwright/mcp": { namespace: "browser", version: "0.0.83" },
  "@notionhq/notion-mcp-server": { namespace: "notion", version: "2.5.2" },
  "@cyanheads/git-mcp-server": { namespace: "git", version: "2.15.3" },
  "tavily-mcp": { namespace: "tavily", version: "0.2.22", env: { TAVILY_API_KEY: "none" } }
}

/** The servers of the registry, installed into the folder. */
const installed = (folder: string): ReadonlyArray<McpStdioServer> => {
  writeFileSync(join(folder, "package.json"), "{}")
  const wanted = Object.entries(real).map(([name, { version }]) => `${name}@${version}`)
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"]
  execFileSync("npm", ["install", ...flags, ...wanted], { cwd: folder, stdio: "inherit" })
  return Object.entries(real).map(([name, { args = [], env, namespace, tools = {} }]) => {
    const path = join(folder, "node_modules", name)
    const { bin } = JSON.parse(readFileSync(join(path, "package.json"), "utf8")) as {
      readonly bin: Readonly<Record<string, string>>
    }
    return {
      namespace,
      transport: "stdio",
      program: process.execPath,
      args: [join(path, Object.values(bin)[0]!), ...args],
      inherit: ["HOME", "PATH"],
      connect_timeout_ms: 120_000,
      tools,
      ...(env === undefined ? undefined : { env })
    }
  })
}

/** Servers that do what a person may have to wait for: slow, away, without sessions, with prices. */
const special = Effect.gen(function* () {
  const session = { id: "0", status: 404 }
  const forgetful = yield* small(
    (_, response, message) => {
      session.id = String(Number(session.id) + 1)
      reply(response, message["id"], { content: [{ type: "text", text: `in ${session.id}` }] })
    },
    { session }
  )
  const money = { type: "number", multipleOf: 0.01 }
  const prices = yield* small(
    (_, response, message) => {
      const { arguments: args } = message["params"] as { readonly arguments: { amount: number } }
      reply(response, message["id"], {
        content: [{ type: "text", text: `paid ${args.amount}` }],
        structuredContent: { charged: args.amount }
      })
    },
    {
      tool: {
        name: "pay",
        inputSchema: { type: "object", properties: { amount: money }, required: ["amount"] },
        outputSchema: { type: "object", properties: { charged: money }, required: ["charged"] }
      }
    }
  )
  const servers: ReadonlyArray<McpServer> = [
    { ...S.misbehaving("plain", "", { env: { SLOW_MS: "5000" } }), namespace: "slow" },
    { namespace: "away", transport: "http", url: "http://127.0.0.1:9/mcp" },
    at(forgetful.port, { namespace: "forgetful" }),
    at(prices.port, { namespace: "prices" })
  ]
  return servers
})

it.live(
  "servers of the registry, slow, away, forgetful and with prices: each is there, and answers",
  () =>
    Effect.gen(function* () {
      const folder = yield* S.directory
      mkdirSync(join(folder, "notes"))
      writeFileSync(join(folder, "notes", "a.txt"), "buy bread")
      const own = [
        S.everything(),
        S.filesystem(join(folder, "notes")),
        S.memory(join(folder, "graph.jsonl"))
      ]
      const servers = [...installed(folder), ...own, ...(yield* special)]
      const calls: Array<readonly [key: string, given: Json, outcome: RegExp]> = [
        ...Object.values(real).flatMap(({ namespace, says }) =>
          says === undefined ? [] : [[`${namespace}.${says[0]}@1`, says[1], says[2]] as const]
        ),
        ["everything.echo@1", { message: "hi" }, /Echo: hi/],
        ["files.read_text_file@1", { path: join(folder, "notes", "a.txt") }, /buy bread/],
        ["memory.read_graph@1", {}, /entities/],
        ["slow.look@1", { n: 1 }, /n\W+1\W/],
        ["slow.die@1", {}, /MCP_CONNECTION_LOST/],
        ["slow.look@1", { n: 2 }, /n\W+2\W/],
        ["away.look@1", {}, /MCP_SERVER_DOWN/],
        ["forgetful.look@1", {}, /in 1/],
        ["forgetful.look@1", {}, /in 2/],
        ["prices.pay@1", { amount: 19.99 }, /19\.99/],
        ["prices.pay@1", { amount: 4.35 }, /4\.35/],
        ["prices.pay@1", { amount: 4.355 }, /INPUT_SCHEMA/]
      ]
      const agent = (key: string) => key.replaceAll(/[^a-z0-9]/gi, "_")
      const keys = [...new Set(calls.map(([key]) => key))]
      const service = yield* Effect.acquireRelease(
        Effect.promise(() =>
          start({
            agents: keys.map((key) =>
              AgentSpec.make({ name: agent(key), instructions: "Test.", tools: [key] })
            ),
            policy: Policy.make({ mode: "allow" }),
            mcp: S.allowed(...servers),
            model: ScriptedModelGateway.layer(({ tools, transcript }) => {
              const last = transcript.at(-1)
              return last?.role === "user"
                ? call(tools[0]!.name, JSON.parse(last.text) as Json)
                : text(last?.role === "tool" ? JSON.stringify(last.outcome) : "")
            })
          })
        ),
        (made) => Effect.promise(() => made.stop())
      )
      const status = yield* Effect.promise(() => service.mcpServers())
      const without = status.filter(
        ({ restarts, state, tools }) =>
          state !== "connected" || restarts > 0 || !tools.some((each) => each.state === "available")
      )
      assert.deepStrictEqual(
        without.map(({ message, server }) => [server, message !== ""]),
        [["away", true]]
      )
      for (const [key, given, outcome] of calls) {
        const message = { agent: agent(key), text: JSON.stringify(given) }
        const answer = yield* Effect.promise(() => service.ask(message, H.alice))
        const said = answer.status === "complete" ? answer.text : JSON.stringify(answer)
        assert.match(String(said).slice(0, 5_000), outcome, key)
      }
    }).pipe(Effect.scoped),
  900_000
)
