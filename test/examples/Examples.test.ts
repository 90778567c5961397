/** Every example runs as the READMEs print it, against the sources as the package, and prints what its last comment says. */
import { execFile } from "node:child_process"
import { promisify } from "node:util"
import { assert, beforeAll, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { flags } from "../process/Bundle.ts"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as EmptyPglite from "../sql/EmptyPglite.ts"
import { blocksOf, comparisons, examples, readmes, root } from "./Readmes.ts"

const execute = promisify(execFile)

const names = examples.map(({ name }) => name)

/**
 * One process runs them one after another, and ends by itself: starting one costs far more than an example does. A line for
 * each, of what it printed and how it failed, without the log. The one with a directory finds a database in it: making one takes
 * ten seconds.
 */
const all = (database: string) => `
  import promises from "node:fs/promises"
  import { syncBuiltinESMExports } from "node:module"
  import { format } from "node:util"
  const { cp, mkdtemp } = promises
  promises.mkdtemp = async (prefix) => {
    const path = await mkdtemp(prefix)
    if (prefix.endsWith("troupe-approval-")) await cp(${JSON.stringify(database)}, path, { recursive: true })
    return path
  }
  syncBuiltinESMExports()
  // Whoever calls a server of an example with a token reads the events of a conversation there, until they end.
  let streams = new Map()
  const own = globalThis.fetch
  const read = async (api, headers) => {
    const call = (path, body) => own(api + path, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) })
    const found = (await (await call("/v1/conversations?limit=1")).json()).items
    const id = found[0]?.id ?? (await (await call("/v1/messages", { agent: "shop", text: "Hi" })).json()).conversation_id
    const reader = (await call("/v1/conversations/" + id + "/events")).body.getReader()
    await reader.read()
    const rest = async () => { while (!(await reader.read()).done); return "ended" }
    streams.set(api, rest().catch((error) => "broken: " + error))
  }
  globalThis.fetch = async (input, init) => {
    const answer = await own(input, init)
    const [before, path] = String(input.url ?? input).split("/v1/")
    const api = before.replace(/\\/wires$/, "")
    const sent = new Headers(init?.headers ?? input.headers)
    const headers = { authorization: sent.get("authorization"), "content-type": "application/json" }
    if (sent.has("on-behalf-of")) headers["on-behalf-of"] = sent.get("on-behalf-of")
    if (path === undefined || !answer.ok || headers.authorization === null || streams.has(api)) return answer
    streams.set(api, "never began")
    await read(api, headers)
    return answer
  }
  const isLog = (text) => /^\\[[\\d:.]+\\] [A-Z]+ \\(#\\d+\\)/.test(text)
  for (const name of ${JSON.stringify(names)}) {
    const texts = []
    console.log = (...args) => texts.push(format(...args))
    const error = await import("./test/examples/" + name + ".ts").then(() => undefined, (error) => error.stack ?? String(error))
    const late = new Promise((done) => setTimeout(done, 60_000, "open").unref())
    const ends = await Promise.all(Array.from(streams.values(), (end) => Promise.race([end, late])))
    streams = new Map()
    const printed = texts.filter((text) => !isLog(text)).map((text) => text + "\\n").join("")
    process.stdout.write(JSON.stringify([name, { error, printed, ends }]) + "\\n")
  }`

interface Ran {
  readonly error?: string
  readonly printed: string
  /** How event streams ended that were open on its servers when it stopped. */
  readonly ends: ReadonlyArray<string>
}

let ran: ReadonlyMap<string, Ran>
/** Why the process did not end well: an example that fails may leave something open. */
let failure: Error | undefined

beforeAll(async () => {
  const database = await Effect.runPromise(Effect.scoped(EmptyPglite.template))
  const env = { ...process.env, DATABASE_URL: await Effect.runPromise(EmbeddedPostgres.migrated) }
  const args = [...flags, "-C", "troupe-source", "--input-type=module", "--eval", all(database)]
  const ended = await execute(process.execPath, args, { cwd: root, env, timeout: 300_000 }).catch(
    (error: Error & { readonly stdout: string }) => (failure = error) && error
  )
  const lines = ended.stdout.split("\n").filter((line) => line !== "")
  ran = new Map(lines.map((line) => JSON.parse(line) as [string, Ran]))
}, 330_000)

/** It printed what it says, whatever blanks its lines end with. */
const assertPrinted = (name: string): void => {
  const of = ran.get(name)
  if (of === undefined) throw failure ?? new Error(`there is no example ${name}`)
  assert.isUndefined(of.error)
  const { output } = examples.find((example) => example.name === name)!
  assert.strictEqual(of.printed.replaceAll(/ +$/gm, ""), output)
}

/** The blocks of a page that are in an example. */
const blocksIn = (path: string, name: string, language: string): ReadonlyArray<string> => {
  const { text } = [...readmes, ...comparisons].find((page) => page.path === path)!
  const { code } = examples.find((example) => example.name === name)!
  return blocksOf(text, language).filter((block) => code.includes(block))
}

describe("the examples", () => {
  it("leave nothing open that keeps their process", () => {
    assert.isUndefined(failure)
    assert.deepStrictEqual([...ran.keys()], names)
  })

  it("stop their servers although event streams are open there, and end these", () => {
    assert.deepStrictEqual(
      [...ran].flatMap(([name, { ends }]) => (ends.length === 0 ? [] : [[name, ...ends]])),
      [
        "browser",
        "deciding",
        "express",
        "fastify",
        "http",
        "merging",
        "onbehalf",
        "responses",
        "router",
        "serving"
      ].map((name) => [name, "ended"])
    )
  })

  it("say what they print, but for one that is a module for a start", () => {
    const silent = examples.filter(({ output }) => output === "")
    assert.deepStrictEqual(
      silent.map(({ name }) => name),
      ["application"]
    )
    assert.include(silent[0]!.code, "export const agents")
  })
})

/** What an example shows, and the pages that print it, each with as many blocks as it has of it. */
const shown: Readonly<Record<string, readonly [shows: string, pages?: Record<string, number>]>> = {
  agui: ["is approved with other arguments by a client of AG-UI", { "layers/http/README.md": 1 }],
  answers: ["prints the members of a typed answer", { "layers/compose/README.md": 1 }],
  application: ["has the options of a start", { "layers/compose/README.md": 1 }],
  approval: ["is answered in the next process", { "layers/compose/README.md": 1 }],
  asking: ["is answered twice in one conversation, and shown the first message with the second"],
  browser: ["is approved by a client of the API", { "layers/http/README.md": 1 }],
  budgets: ["refuses a customer's fourth call of a day, and shows what is left"],
  authorizing: ["asks nobody for as many calls as were authorised, and then asks"],
  channels: ["refuses a request that Slack has not signed", { "layers/channel/README.md": 1 }],
  client: ["AG-56 waits for its client's result and goes on", { "layers/calls/README.md": 1 }],
  console: ["approves by a form of the console", { "layers/console/README.md": 1 }],
  openid: ["leads to a provider", { "layers/console/README.md": 1 }],
  context: ["keeps the secret out of the journal", { "layers/compose/README.md": 1 }],
  conversations: [
    "edits a message of an imported history, and lists it",
    { "layers/compose/README.md": 1 }
  ],
  deciding: ["is decided over HTTP once, and the second decision is refused"],
  dryrun: ["counts what a policy would have asked"],
  effects: ["decides in a program", { "layers/compose/README.md": 1 }],
  embedding: ["asks before it pays", { "README.md": 1 }],
  peer: ["is approved by another agent's client", { "layers/http/README.md": 1 }],
  erasing: ["erases what a customer said and was told, and keeps the run's events"],
  events: ["takes an event once and tells who is bound", { "layers/channel/README.md": 2 }],
  express: ["takes a message in Express", { "layers/http/README.md": 1 }],
  fastify: ["takes a message in Fastify"],
  features: ["reads by the methods of a feature", { "layers/compose/README.md": 1 }],
  fixture: ["runs as it was recorded, and diverges where a result has changed"],
  forking: ["pays nothing again, and nothing else", { "src/replay/README.md": 1 }],
  fromaisdk: ["streams, asks and goes on", { "test/examples/coming-from-ai-sdk.md": 1 }],
  fromlanggraph: ["runs what was changed", { "test/examples/coming-from-langgraph.md": 1 }],
  frommastra: ["asks within a graph", { "test/examples/coming-from-mastra.md": 1 }],
  fromopenai: ["asks after a handoff", { "test/examples/coming-from-openai-agents.md": 1 }],
  graph: ["orders what is missing, asked directly and by an agent"],
  guards: ["refuses by a moderation model, and hides by patterns"],
  handoff: ["shows who answers", { "layers/compose/README.md": 1 }],
  hono: ["takes a message in Hono", { "layers/http/README.md": 1 }],
  http: ["answers a message with a token", { "layers/http/README.md": 1 }],
  invoice: ["gives its customer a file, and no other"],
  limits: ["stops the run that has spent more than it may, and says what it cost"],
  mcp: ["reads a file through the official server", { "layers/mcp/README.md": 1 }],
  mcpserver: ["asks an agent as a tool", { "layers/http/README.md": 1 }],
  meanwhile: ["answers beside the run that waits", { "layers/runtime/README.md": 1 }],
  memory: ["tells others of its workspace what is true now", { "layers/memory/README.md": 1 }],
  merging: ["answers beside an API of its own", { "layers/http/README.md": 1 }],
  models: ["answers from the second model", { "layers/model/README.md": 1 }],
  nextjs: ["takes a message in a route of Next.js"],
  onbehalf: ["names the backend and its user", { "src/permission/README.md": 1 }],
  openapi: ["reads at once and refunds after the approval", { "layers/calls/README.md": 1 }],
  // Both pictures have the same bytes.
  bulk: ["cancels the runs that it counted", { "layers/compose/README.md": 1 }],
  pictures: ["shows those of the message and of a result", { "layers/compose/README.md": 1 }],
  platform: ["AG-34 AG-64 sends its one request after approval", { "layers/calls/README.md": 1 }],
  policy: ["allows, denies and asks by the sender", { "src/permission/README.md": 1 }],
  providertools: ["offers those that the policy allows", { "layers/model/README.md": 1 }],
  responses: ["is approved by a client of the Responses API", { "layers/http/README.md": 1 }],
  resuming: ["goes on behind a cursor", { "layers/compose/README.md": 1 }],
  roles: ["asks as one role and decides as another", { "src/permission/README.md": 1 }],
  router: ["answers under a path, with links that lead there", { "layers/http/README.md": 1 }],
  semstreams: ["asks, and runs what was approved", { "layers/semstreams/README.md": 1 }],
  serving: ["answers on its port and for Web requests", { "layers/http/README.md": 1 }],
  settling: ["pays once, and an operator says that it did"],
  specialists: ["is answered by a specialist within the run"],
  spending: ["ST-12 journals what a tool's model cost", { "src/cost/README.md": 1 }],
  sse: ["gives the client the text of the answer", { "layers/compose/README.md": 1 }],
  streaming: ["prints the text and how the run ended", { "layers/compose/README.md": 1 }],
  telemetry: ["sends a run's traces and metrics", { "layers/telemetry/README.md": 1 }],
  tool: ["asks, pays and costs", { "src/tool/README.md": 1, "src/cost/README.md": 1 }],
  toolkit: ["orders when a person agreed", { "layers/compose/README.md": 2 }],
  uimessages: ["asks its customer in a chat of the AI SDK", { "layers/http/README.md": 1 }],
  virtualtime: ["decides by rules and after an hour", { "layers/compose/README.md": 1 }],
  watching: ["decides on the question that it sees", { "layers/compose/README.md": 1 }],
  webhook: ["tells receivers of runs and of its own events", { "layers/channel/README.md": 2 }],
  worker: ["runs the body where the worker is"],
  writing: ["keeps a note by the methods of its own feature", { "layers/compose/README.md": 1 }]
}

describe("an example", () => {
  for (const { name } of examples) {
    const [shows, pages = {}] = shown[name] ?? ["is named in this test"]
    it(`${name}: ${shows}`, () => {
      assert.property(shown, name)
      assertPrinted(name)
      for (const [path, blocks] of Object.entries(pages)) {
        assert.lengthOf(blocksIn(path, name, "ts"), blocks, path)
      }
    })
  }

  it("graph: is printed as YAML", () => {
    assert.lengthOf(blocksIn("src/graph/README.md", "graph", "yaml"), 1)
  })

  it.each([
    ["README.md", "embedding"],
    ["layers/http/README.md", "serving"],
    ["layers/http/README.md", "http"]
  ])("is printed whole in %s: %s", (path, name) => {
    const { code } = examples.find((example) => example.name === name)!
    assert.deepStrictEqual(blocksIn(path, name, "ts"), [code])
    if (path === "README.md") assert.isAtMost(code.trim().split("\n").length, 31)
  })
})
