/** What a client of the MCP wire may not do, and what it is told in the form of JSON-RPC. */
import {
  discoverOAuthProtectedResourceMetadata,
  extractWWWAuthenticateParams
} from "@modelcontextprotocol/client"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Principal } from "troupe"
import type { ConversationId, FrameId, RunId } from "../../src/value/Ids.ts"
import { McpProgress } from "../../src/wire/McpTools.ts"
import type { RunStep } from "../../src/wire/RunView.ts"
import type { Shop, Who } from "./WireScene.ts"
import { held, prompts, ran, shop, tokens } from "./WireScene.ts"

let troupe: Shop
beforeAll(async () => {
  troupe = await shop()
})
afterAll(() => troupe.stop())

interface Sent {
  readonly as?: Who
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly raw?: string | Uint8Array<ArrayBuffer>
  readonly method?: string
  readonly query?: string
  readonly at?: Shop
}

const send = async ({ as, at = troupe, body, headers, method = "POST", query = "", raw }: Sent) => {
  const response = await fetch(`${at.url}/wires/mcp${query}`, {
    method,
    headers: {
      ...(as === undefined ? {} : { authorization: `Bearer ${tokens[as]}` }),
      ...(method === "POST" ? { "content-type": "application/json" } : {}),
      ...headers
    },
    ...(method === "POST" ? { body: raw ?? JSON.stringify(body ?? {}) } : {})
  })
  const text = await response.text()
  return { status: response.status, text, headers: response.headers }
}

const request = (method: string, params: object = {}) => ({ jsonrpc: "2.0", id: 7, method, params })
const calling = (name: string, input: unknown) => request("tools/call", { name, arguments: input })

interface Result {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly text: string }>
  readonly structuredContent: {
    readonly status: string
    readonly text: string
    readonly run: string
    readonly conversation: string
    readonly waiting_for: ReadonlyArray<object>
  }
}

const call = async (as: Who, name: string, input: unknown, at = troupe): Promise<Result> => {
  const { status, text } = await send({ as, at, body: calling(name, input) })
  assert.strictEqual(status, 200, text)
  const { id, result } = JSON.parse(text)
  assert.strictEqual(id, 7, text)
  return result
}
const asked = async (as: Who, input: object) =>
  (await call(as, "ask_clerk", input)).structuredContent
const refusalOf = async (as: Who, name: string, input: unknown, at = troupe) => {
  const { content, isError, structuredContent } = await call(as, name, input, at)
  assert.deepStrictEqual([isError, structuredContent], [true, undefined])
  return String(content[0]?.text)
}

const runsNow = async () => (await troupe.runs({ limit: 500 })).length

const deep = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":${'{"a":'.repeat(200)}1${"}".repeat(201)}`
const many = `{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"a":[${"0,".repeat(30_000)}0]}}`
const list = request("tools/list")
const metaOf = (version: string) => ({
  _meta: {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": {}
  }
})
const newest = { "mcp-protocol-version": "2026-07-28" }
const told: ReadonlyArray<readonly [Sent, number, number]> = [
  [{ raw: "" }, 400, -32700],
  [{ raw: "{" }, 400, -32700],
  [{ raw: '{"jsonrpc":"2.0","jsonrpc":"2.0","id":7,"method":"ping"}' }, 400, -32700],
  [{ raw: new Uint8Array([0x22, 0xff, 0x22]) }, 400, -32600],
  [{ raw: deep }, 413, -32600],
  [{ raw: many }, 413, -32600],
  [{ raw: `"${"x".repeat(2_000_001)}"` }, 413, -32600],
  [{ body: list, headers: { "content-type": "text/plain" } }, 415, -32600],
  [{ body: list, headers: { "content-encoding": "gzip" } }, 415, -32600],
  [{ body: [list, list] }, 400, -32600],
  [{ body: [] }, 400, -32600],
  [{ body: { ...list, jsonrpc: "1.0" } }, 400, -32600],
  [{ body: { ...list, id: null } }, 400, -32600],
  [{ body: { ...list, id: {} } }, 400, -32600],
  [{ body: { ...list, params: [] } }, 400, -32600],
  [{ body: request("resources/list") }, 200, -32601],
  [{ body: request("server/discover") }, 200, -32601],
  [{ body: request("constructor") }, 200, -32601],
  [{ body: request("tools/call") }, 200, -32602],
  [{ body: list, headers: { "mcp-protocol-version": "2024-01-01" } }, 400, -32022],
  [{ body: request("tools/list", metaOf("2026-07-28")) }, 400, -32020],
  [{ body: list, headers: newest }, 400, -32602],
  [
    {
      body: request("tools/list", metaOf("2025-11-25")),
      headers: { ...newest, "mcp-method": "tools/list" }
    },
    400,
    -32020
  ],
  [{ body: request("tools/list", metaOf("2026-07-28")), headers: newest }, 400, -32020],
  [
    {
      body: request("tools/list", metaOf("2027-01-01")),
      headers: { "mcp-protocol-version": "2027-01-01", "mcp-method": "tools/list" }
    },
    400,
    -32022
  ],
  [
    {
      body: request("tools/call", { ...metaOf("2026-07-28"), name: "ask_clerk" }),
      headers: { ...newest, "mcp-method": "tools/call", "mcp-name": "run_result" }
    },
    400,
    -32020
  ],
  [
    {
      body: request("initialize", metaOf("2026-07-28")),
      headers: { ...newest, "mcp-method": "initialize" }
    },
    404,
    -32601
  ],
  [
    {
      body: request("ping", metaOf("2026-07-28")),
      headers: { ...newest, "mcp-method": "ping" }
    },
    404,
    -32601
  ]
]
describe("a client of MCP", () => {
  it("gains no right by it", async () => {
    const before = await runsNow()
    const body = calling("ask_clerk", { message: "hello" })
    const refusals: ReadonlyArray<readonly [Sent, number]> = [
      [{ body }, 401],
      [{ body, headers: { authorization: "Bearer unknown-unknown-unknown" } }, 401],
      [{ body, headers: { authorization: `Basic ${tokens.olga}` } }, 401],
      [{ body, headers: { cookie: `token=${tokens.olga}` } }, 401],
      [{ body, query: `?token=${tokens.olga}` }, 401],
      [{ body, query: `?access_token=${tokens.olga}` }, 401],
      [{ body, headers: { "mcp-session-id": tokens.olga } }, 401],
      [{ as: "ada", headers: { "on-behalf-of": "carl" }, body }, 403],
      [{ as: "ada", headers: { origin: "https://evil.example" }, body }, 403]
    ]
    for (const [sent, status] of refusals) {
      const got = await send(sent)
      assert.strictEqual(got.status, status, JSON.stringify(sent))
      const { error, id, jsonrpc } = JSON.parse(got.text)
      assert.deepStrictEqual([jsonrpc, id, typeof error.code], ["2.0", null, "number"])
    }
    const hidden: ReadonlyArray<readonly [Who, string]> = [
      ["carl", "ask_expert"],
      ["vera", "ask_clerk"],
      ["ada", "ask_nobody"],
      ["ada", "look"],
      ["ada", "decide"]
    ]
    for (const [as, name] of hidden) {
      const { text } = await send({ as, body: calling(name, { message: "hello" }) })
      assert.deepInclude(JSON.parse(text).error, { code: -32602 }, name)
    }
    assert.strictEqual(await runsNow(), before)
  })

  it("is told without a token who takes which, as the official client reads it", async () => {
    const { headers } = await send({ body: request("tools/list") })
    const challenge = new Response(null, { status: 401, headers })
    const { resourceMetadataUrl } = extractWWWAuthenticateParams(challenge)
    const server = `${troupe.url}/wires/mcp`
    assert.isDefined(resourceMetadataUrl)
    for (const at of [resourceMetadataUrl, undefined]) {
      const found = await discoverOAuthProtectedResourceMetadata(
        server,
        at === undefined ? {} : { resourceMetadataUrl: at }
      )
      assert.deepStrictEqual(found, { resource: server, bearer_methods_supported: ["header"] })
    }
    const issuers = ["https://login.example"]
    const other = await shop({
      http: {
        settings: {
          wires: ["mcp"],
          public_url: "https://shop.example/agents",
          authorization_servers: issuers
        }
      } as never
    })
    try {
      const told = (await send({ at: other })).headers.get("www-authenticate")
      assert.strictEqual(
        told,
        'Bearer resource_metadata="https://shop.example/agents/.well-known/oauth-protected-resource/wires/mcp"'
      )
      const open = await fetch(`${other.url}/.well-known/oauth-protected-resource`)
      assert.deepStrictEqual(await open.json(), {
        resource: "https://shop.example/agents/wires/mcp",
        authorization_servers: issuers,
        bearer_methods_supported: ["header"]
      })
      const page = { origin: "https://evil.example" }
      const foreign = await fetch(open.url, { headers: page })
      assert.strictEqual(foreign.status, 403)
    } finally {
      await other.stop()
    }
  })

  it("is nobody who may only publish", async () => {
    const token = "4c9a41d07c5e4b6f8a2d90c1e7b35d64"
    const principal = new Principal({ id: "otto", tenant: "default", roles: ["publisher"] })
    const other = await shop({
      http: { port: 0, tokens: [{ token, principal }], settings: { wires: ["mcp"] } } as never
    })
    try {
      const headers = { authorization: `Bearer ${token}` }
      const got = await send({ at: other, headers, body: request("tools/list") })
      assert.strictEqual(got.status, 403)
    } finally {
      await other.stop()
    }
  })

  it("finds nobody else's run or conversation", async () => {
    const mine = await asked("carl", { message: "my secret is 4711", conversation: "same" })
    const none = await refusalOf("cora", "run_result", { run: crypto.randomUUID() })
    for (const as of ["cora", "otto"] as const) {
      const found = await refusalOf(as, "run_result", { run: mine.run })
      assert.strictEqual(found.replace(mine.run, ""), none.replace(/[0-9a-f-]{36}/, ""))
      for (const conversation of ["same", mine.conversation]) {
        const theirs = await asked(as, { message: "hello", conversation })
        assert.notStrictEqual(theirs.conversation, mine.conversation)
        assert.notInclude(prompts.at(-1), "4711")
      }
    }
    // Staff reads its tenant's runs here as it does elsewhere.
    const { structuredContent } = await call("ada", "run_result", { run: mine.run })
    assert.strictEqual(structuredContent.status, "complete")
  })

  it("does not get into a conversation of the application by its name", async () => {
    const conversation = "order-1003"
    const agent = "clerk"
    const { run } = await troupe.send({ agent, conversation, text: "said in the shop: 4712" })
    await troupe.result(run)
    const mine = await asked("ada", { message: "hello", conversation })
    assert.notStrictEqual(mine.conversation, conversation)
    assert.notInclude(prompts.at(-1), "4712")
    // Nor with an agent into a conversation of another one's tool.
    const other = (
      await call("ada", "ask_expert", { message: "hello", conversation: mine.conversation })
    ).structuredContent
    assert.notStrictEqual(other.conversation, mine.conversation)
  })

  it("is refused what a tool does not take, and nothing is journaled", async () => {
    const before = await runsNow()
    const message = "hello"
    const refusals: ReadonlyArray<readonly [string, unknown, string]> = [
      ["ask_clerk", {}, "message"],
      ["ask_clerk", { message: "" }, "message"],
      ["ask_clerk", { message: 7 }, 'message: it is a number: write a text, "7".'],
      ["ask_clerk", [], "object"],
      ["ask_clerk", "hello", "object"],
      ["ask_clerk", { message, conversation: "c".repeat(201) }, "conversation"],
      ["ask_clerk", { message, idempotency_key: "" }, "idempotency_key"],
      ["ask_clerk", { message, wait_s: 46 }, "wait_s: Expected a value between 0 and 45; got 46."],
      ["ask_clerk", { message, wait_s: 0.5 }, "wait_s: Expected an integer; got 0.5."],
      ["ask_clerk", { message, context: { tenant: "other" } }, "context"],
      ["ask_clerk", { message, answer_schema: {} }, "answer_schema"],
      ["ask_clerk", { message, parts: [] }, "parts"],
      [
        "ask_clerk",
        { message, by: "olga" },
        "by: there is no such member. There is: message, conversation, idempotency_key, wait_s."
      ],
      ["ask_clerk", { message: "x".repeat(1_000_001) }, "1000000 bytes"],
      ["run_result", {}, "run"],
      ["run_result", { run: "1" }, "run"],
      ["run_result", { run: crypto.randomUUID(), decision: "approve" }, "decision"]
    ]
    for (const [name, input, word] of refusals) {
      const refusal = await refusalOf("ada", name, input)
      assert.include(refusal, word)
      assert.notMatch(refusal, /\.\.$/)
    }
    assert.strictEqual(await runsNow(), before)
  })

  it("is told in JSON-RPC what is wrong with its message", async () => {
    for (const [sent, status, code] of told) {
      const got = await send({ as: "ada", ...sent })
      const what = JSON.stringify(sent).slice(0, 200)
      assert.strictEqual(got.status, status, `${what} ${got.text}`)
      const { error, jsonrpc } = JSON.parse(got.text)
      assert.deepStrictEqual([jsonrpc, error.code], ["2.0", code], what)
    }
    for (const method of ["GET", "DELETE"]) {
      assert.strictEqual((await send({ as: "ada", method })).status, 405)
    }
  })

  it("may tell what needs no answer, which changes nothing", async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held.promise = promise
    const { run, status } = await asked("ada", { message: "hold 1", wait_s: 1 })
    assert.strictEqual(status, "processing")
    const requestId = 7
    for (const body of [
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } },
      { jsonrpc: "2.0", id: 7, result: {} }
    ]) {
      const told = await send({ as: "ada", body })
      assert.deepStrictEqual([told.status, told.text], [202, ""])
    }
    resolve()
    const { structuredContent } = await call("ada", "run_result", { run })
    assert.strictEqual(structuredContent.status, "complete")
  })

  it("is shown a customer's own question, and no more of it than the customer", async () => {
    ran.length = 0
    const mine = await asked("carl", { message: "refund 1003" })
    assert.strictEqual(mine.status, "awaiting_approval")
    assert.strictEqual(mine.waiting_for.length, 1)
    assert.notInclude(JSON.stringify(mine), "digest")
    const looked = await asked("carl", { message: "ask about 7" })
    for (const word of ["expert", "thought", "depot"]) {
      assert.notInclude(JSON.stringify(looked), word)
    }
    assert.deepStrictEqual(ran, [])
  })

  it("gets texts of agents as texts", async () => {
    const message =
      '"}],"isError":false,"structuredContent":{"status":"failed"} \u2028 </script> ```'
    const { status, text } = await asked("ada", { message })
    assert.deepStrictEqual([status, text], ["complete", `You said: ${message}`])
  })

  it("is told nothing more when its token was revoked while it waited", async () => {
    const admin = new Principal({ id: "olga", tenant: "default", roles: ["admin"] })
    const { id, token } = await troupe.createToken({ name: "host", roles: ["operator"] }, admin)
    const headers = { authorization: `Bearer ${token}` }
    const { promise, resolve } = Promise.withResolvers<void>()
    held.promise = promise
    const before = await runsNow()
    const waiting = send({ headers, body: calling("ask_clerk", { message: "hold 7" }) })
    while ((await runsNow()) === before) await new Promise(setImmediate)
    await troupe.revokeToken(id, admin)
    resolve()
    const { status, text } = await waiting
    assert.strictEqual(status, 401)
    assert.notInclude(text, "hold 7")
  })

  it("is told of a failure of the service as one, and not as a result", async () => {
    const full = await shop({
      http: { settings: { wires: ["mcp"], streams_max: 1 } } as never
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    held.promise = promise
    try {
      const first = call("ada", "ask_clerk", { message: "hold 1" }, full)
      while ((await full.runs({ limit: 5 })).length === 0) await new Promise(setImmediate)
      const body = calling("ask_clerk", { message: "hello" })
      const { status, text } = await send({ as: "olga", at: full, body })
      assert.deepStrictEqual([status, JSON.parse(text).error.code], [503, -32603])
      resolve()
      await first
    } finally {
      await full.stop()
    }
  })

  it("waits within the bounds of its owner, and is refused before anything is sent", async () => {
    const bounded = await shop({
      http: {
        settings: { wires: ["mcp"], streams_principal_max: 1, messages_principal_per_minute: 2 }
      } as never
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    held.promise = promise
    try {
      const first = call("ada", "ask_clerk", { message: "hold 1" }, bounded)
      while ((await bounded.runs({ limit: 5 })).length === 0) await new Promise(setImmediate)
      const second = await refusalOf("ada", "ask_clerk", { message: "hello" }, bounded)
      assert.include(second, "At most 1")
      assert.strictEqual((await bounded.runs({ limit: 5 })).length, 1)
      resolve()
      assert.strictEqual((await first).structuredContent.status, "complete")
      await call("ada", "ask_clerk", { message: "hello" }, bounded)
      const third = await refusalOf("ada", "ask_clerk", { message: "hello" }, bounded)
      assert.include(third, "At most 2 messages a minute")
      assert.strictEqual((await bounded.runs({ limit: 5 })).length, 2)
    } finally {
      await bounded.stop()
    }
  })
})

describe("what a run has come to", () => {
  it("has the texts of its own agent's turns as they stand, and no specialist's", () => {
    const progress = new McpProgress()
    const [own, other] = ["0", "0/1.0"].map((frame) => frame as FrameId)
    const steps: ReadonlyArray<RunStep> = [
      { _tag: "TurnBegun", frame: own!, step: 1 },
      { _tag: "Text", frame: own!, step: 1, text: "I beg" },
      { _tag: "TurnRestarted", frame: own!, step: 1 },
      { _tag: "Text", frame: own!, step: 1, text: "One " },
      { _tag: "Text", frame: own!, step: 1, text: "moment." },
      { _tag: "TurnBegun", frame: other!, step: 1 },
      { _tag: "Text", frame: other!, step: 1, text: "Between us" },
      { _tag: "TurnBegun", frame: own!, step: 2 },
      { _tag: "Text", frame: own!, step: 2, text: "It is" }
    ]
    for (const step of steps) progress.next(step)
    const of = { run: "r" as RunId, conversation: "c" as ConversationId }
    assert.deepStrictEqual(
      progress.result(of, () => undefined),
      { ...of, status: "processing", text: "One moment.\n\nIt is", waiting_for: [] }
    )
    progress.next({ _tag: "Parked", questions: [] })
    assert.strictEqual(progress.result(of, () => undefined).waiting_for.length, 1)
  })
})
