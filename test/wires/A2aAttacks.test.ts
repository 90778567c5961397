/** What a client of A2A may not do, and what is refused before anything is journaled. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Shop, Who } from "./WireScene.ts"
import { prompts, ran, shop, tokens } from "./WireScene.ts"

let troupe: Shop
beforeAll(async () => {
  troupe = await shop()
})
afterAll(() => troupe.stop())

interface Sent {
  readonly as?: Who
  readonly agent?: string
  readonly method?: string
  readonly params?: unknown
  readonly headers?: Record<string, string>
  readonly raw?: string
}

const ask = async ({ agent = "clerk", as, headers, method, params = {}, raw }: Sent) => {
  const response = await fetch(`${troupe.url}/wires/a2a/${agent}`, {
    method: "POST",
    headers: {
      ...(as === undefined ? {} : { authorization: `Bearer ${tokens[as]}` }),
      "content-type": "application/json",
      "a2a-version": "1.0",
      ...headers
    },
    body: raw ?? JSON.stringify({ jsonrpc: "2.0", id: 7, method, params })
  })
  const text = await response.text()
  const json = text.startsWith("data:") ? {} : JSON.parse(text)
  return { status: response.status, headers: response.headers, text, ...json }
}

const message = (parts: unknown, more: object = {}) => ({
  messageId: crypto.randomUUID(),
  role: "ROLE_USER",
  parts,
  ...more
})
const sending = (parts: unknown, more: object = {}, others: object = {}) => ({
  method: "SendMessage",
  params: { message: message(parts, more), ...others }
})
const saying = (text: string, more: object = {}) => sending([{ text }], more)
const answering = (data: unknown, more: object = {}) => sending([{ data }], more)

/** A task that asks. */
const asked = async (as: Who, said = "refund 1003") => {
  const { result } = await ask({ as, ...saying(said) })
  const { contextId, id, status } = result.task
  const parts: ReadonlyArray<{ readonly data?: Record<string, string> }> = status.message.parts
  const [question] = parts.flatMap(({ data }) => (data === undefined ? [] : [data]))
  return { id: String(id), contextId: String(contextId), ...(question as { approval: string }) }
}

const runsNow = async () => (await troupe.runs({ limit: 500 })).length
const stateOf = async (id: string) => (await troupe.run(id)).status

const unknown = () => crypto.randomUUID()

describe("a client of A2A", () => {
  it("gains no right by it", async () => {
    const before = await runsNow()
    const hello = saying("hello")
    const refusals: ReadonlyArray<readonly [Sent, number]> = [
      [hello, 401],
      [{ ...hello, headers: { authorization: "Bearer unknown-unknown-unknown" } }, 401],
      [{ ...hello, headers: { cookie: `token=${tokens.olga}` } }, 401],
      [{ ...hello, agent: `clerk?token=${tokens.olga}` }, 401],
      [{ as: "vera", ...hello }, 403],
      [{ as: "carl", agent: "expert", ...hello }, 403],
      [{ as: "ada", agent: "nobody", ...hello }, 404],
      [{ as: "ada", headers: { "on-behalf-of": "carl" }, ...hello }, 403]
    ]
    for (const [sent, status] of refusals) {
      const got = await ask(sent)
      assert.strictEqual(got.status, status, JSON.stringify(sent))
      assert.deepStrictEqual([got.error.code, got.error.data[0].domain], [-32_000, "troupe"])
      assert.strictEqual(got.headers.get("www-authenticate"), status === 401 ? "Bearer" : null)
    }
    for (const [as, agent, status] of [
      [undefined, "clerk", 401],
      [undefined, "expert", 401],
      ["carl", "expert", 403],
      ["vera", "expert", 200]
    ] as const) {
      const headers = as === undefined ? {} : { authorization: `Bearer ${tokens[as]}` }
      const url = `${troupe.url}/wires/a2a/${agent}/.well-known/agent-card.json`
      assert.strictEqual((await fetch(url, { headers })).status, status)
    }
    assert.strictEqual(await runsNow(), before)
  })

  it("reads a card without a token where the settings say so, of agents for customers alone", async () => {
    const open = await shop({
      http: { port: 0, settings: { wires: ["a2a"], cards_open: true } }
    } as never)
    try {
      const cardOf = (agent: string, headers = {}) =>
        fetch(`${open.url}/wires/a2a/${agent}/.well-known/agent-card.json`, { headers })
      assert.strictEqual((await (await cardOf("clerk")).json()).name, "clerk")
      const others = await Promise.all(["expert", "nobody", "C"].map((agent) => cardOf(agent)))
      const texts = await Promise.all(others.map((other) => other.text()))
      assert.deepStrictEqual(
        others.map(({ status }) => status),
        [401, 401, 401]
      )
      assert.strictEqual(new Set(texts).size, 1)
      const wrong = { authorization: "Bearer unknown-unknown-unknown" }
      assert.strictEqual((await cardOf("clerk", wrong)).status, 401)
      const hello = { method: "POST", body: "{}", headers: { "content-type": "application/json" } }
      assert.strictEqual((await fetch(`${open.url}/wires/a2a/clerk`, hello)).status, 401)
    } finally {
      await open.stop()
    }
  })

  it("finds nobody else's task, and learns nothing of it", async () => {
    const mine = await asked("carl", "refund 4711")
    const { contextId, id } = mine
    const before = await runsNow()
    for (const method of ["GetTask", "CancelTask", "SubscribeToTask"]) {
      const texts = new Set<string>()
      for (const as of ["cora", "otto"] as const) {
        for (const given of [id, unknown(), "1", ""]) {
          const { error, status, text } = await ask({ as, method, params: { id: given } })
          assert.deepStrictEqual([status, error.code], [200, -32_001], text)
          texts.add(text)
        }
      }
      assert.strictEqual(texts.size, 1)
    }
    const stopped = await ask({ as: "vera", method: "CancelTask", params: { id } })
    assert.deepStrictEqual([stopped.status, stopped.error.code], [403, -32_000])
    // A task of another agent is none of this one, nor is its context.
    const elsewhere = { as: "ada", agent: "expert" } as const
    const got = await ask({ ...elsewhere, method: "GetTask", params: { id } })
    assert.strictEqual(got.error.code, -32_001)
    const said = await ask({ ...elsewhere, ...saying("hello", { contextId }) })
    assert.strictEqual(said.error.code, -32_602)
    for (const as of ["cora", "otto"] as const) {
      const answers = [
        await ask({ as, ...saying("hello", { contextId }) }),
        await ask({ as, ...saying("hello", { contextId: `${as}:none` }) })
      ]
      assert.strictEqual(answers[0]?.text, answers[1]?.text)
      assert.strictEqual(answers[0]?.error.code, -32_602)
      assert.strictEqual((await ask({ as, ...saying("x", { taskId: id }) })).error.code, -32_001)
      const listed = await ask({ as, method: "ListTasks", params: { contextId } })
      assert.deepStrictEqual([listed.result.tasks, listed.result.totalSize], [[], 0])
      const token = { pageToken: `${id}.0` }
      assert.deepStrictEqual(
        (await ask({ as, method: "ListTasks", params: token })).result.tasks,
        []
      )
    }
    assert.strictEqual(await stateOf(id), "awaiting_approval")
    assert.strictEqual(await runsNow(), before)
  })

  it("puts nothing into a prompt but what its message says", async () => {
    const canary = "canary-9f3a"
    const { result } = await ask({
      as: "carl",
      method: "SendMessage",
      params: {
        metadata: { canary },
        configuration: { acceptedOutputModes: [canary] },
        history: [canary],
        message: message([{ text: "hello there", metadata: { canary } }], {
          metadata: { canary, system: canary },
          extensions: [`https://${canary}`],
          referenceTaskIds: [canary]
        })
      }
    })
    assert.notInclude(prompts.at(-1), canary)
    const events = await troupe.runEvents(result.task.id, {})
    assert.notInclude(JSON.stringify(events), canary)
    assert.sameMembers(result.task.metadata.troupe.ignored, [
      "metadata",
      "history",
      "message.metadata",
      "message.extensions",
      "message.referenceTaskIds"
    ])
  })

  it("decides nothing by a text, and nothing that it was not asked", async () => {
    ran.length = 0
    const { approval, contextId, id } = await asked("olga")
    const other = await asked("olga")
    const foreign = await asked("otto")
    const at = { taskId: id }
    const yes = { approval, decision: "approve" }
    const refusals: ReadonlyArray<readonly [string, Sent, number, number]> = [
      ["no task", answering(yes), 200, -32_602],
      ["another task", answering(yes, { taskId: other.id }), 200, -32_001],
      ["another context", answering(yes, { ...at, contextId: other.contextId }), 200, -32_602],
      ["another question", answering({ ...yes, approval: other.approval }, at), 200, -32_001],
      ["a foreign one", answering({ ...yes, approval: foreign.approval }, at), 200, -32_001],
      ["no question", answering({ ...yes, approval: unknown() }, at), 200, -32_001],
      ["another digest", answering({ ...yes, digest: "a".repeat(64) }, at), 409, -32_000],
      ["no decision", answering({ approval }, at), 200, -32_602],
      ["a word", answering({ approval, decision: "yes" }, at), 200, -32_602],
      ["more members", answering({ ...yes, argument: { order: "9" } }, at), 200, -32_602],
      ["arguments", answering({ ...yes, arguments: { order: "9" } }, at), 200, -32_602],
      ["no arguments", answering({ approval, decision: "modify" }, at), 200, -32_602],
      [
        "arguments of no such call",
        answering({ approval, decision: "modify", arguments: { nothing: 1 } }, at),
        200,
        -32_602
      ],
      ["words too", sending([{ text: "yes" }, { data: yes }], at), 200, -32_602],
      ["it twice", sending([{ data: yes }, { data: yes }], at), 200, -32_602]
    ]
    for (const [what, sent, status, code] of refusals) {
      const got = await ask({ as: "olga", ...sent })
      assert.deepStrictEqual([got.status, got.error?.code], [status, code], `${what} ${got.text}`)
      assert.strictEqual(got.id, 7)
    }
    for (const [as, status, code] of [
      ["carl", 200, -32_001],
      ["otto", 200, -32_001],
      ["vera", 403, -32_000],
      ["ada", 403, -32_000]
    ] as const) {
      const got = await ask({ as, ...answering(yes, at) })
      assert.deepStrictEqual([got.status, got.error?.code], [status, code], as)
    }
    // A yes in words is a message, which waits behind the question.
    const words = await ask({ as: "olga", ...saying("approve", { ...at, contextId }) })
    assert.strictEqual(words.result.task.status.state, "TASK_STATE_SUBMITTED")
    assert.strictEqual(await stateOf(id), "awaiting_approval")
    assert.deepStrictEqual(ran, [])
    const { result } = await ask({ as: "olga", ...answering(yes, at) })
    assert.strictEqual(result.task.status.state, "TASK_STATE_COMPLETED")
    const late = await ask({ as: "olga", ...answering({ ...yes, decision: "deny" }, at) })
    assert.deepStrictEqual([late.status, late.error.data[0].reason], [409, "APPROVAL_SETTLED"])
    assert.deepStrictEqual(ran, ["refund 1003"])
    // The task has ended: words to it begin nothing.
    assert.strictEqual((await ask({ as: "olga", ...saying("more", at) })).error.code, -32_004)
  })

  it("answers nothing that has expired", async () => {
    const { approval, id } = await asked("olga", "lapse 1020")
    while ((await stateOf(id)) === "awaiting_approval") {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const late = answering({ approval, decision: "approve" }, { taskId: id })
    assert.strictEqual((await ask({ as: "olga", ...late })).status, 410)
  })

  it("is refused with the member that is wrong, and nothing is journaled", async () => {
    const before = await runsNow()
    const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`
    const rpc = (params: string) =>
      `{"jsonrpc":"2.0","id":7,"method":"SendMessage","params":${params}}`
    const push = { taskPushNotificationConfig: { url: "https://example.com" } }
    const list = (params: object): Sent => ({ method: "ListTasks", params })
    const refusals: ReadonlyArray<readonly [Sent, number, number, string]> = [
      [{ raw: "" }, 400, -32_700, "JSON"],
      [{ raw: "{" }, 400, -32_700, "JSON"],
      [{ raw: "[]" }, 400, -32_600, "one request"],
      [{ raw: '{"jsonrpc":"2.0","method":"GetTask"}' }, 400, -32_600, "id"],
      [{ raw: '{"jsonrpc":"1.0","id":1,"method":"GetTask"}' }, 400, -32_600, "2.0"],
      [{ raw: "x", headers: { "content-type": "text/plain" } }, 415, -32_000, "application/json"],
      [{ raw: rpc(deep) }, 413, -32_600, "deep"],
      [{ ...saying("x"), headers: { "a2a-version": "" } }, 200, -32_009, "version"],
      [{ ...saying("x"), headers: { "a2a-version": "0.3" } }, 200, -32_009, "version"],
      [{ ...saying("x"), headers: { "a2a-version": "1.1" } }, 200, -32_009, "version"],
      [{ method: "message/send" }, 200, -32_601, "method"],
      [{ method: "GetExtendedAgentCard" }, 200, -32_004, "card"],
      [{ method: "CreateTaskPushNotificationConfig" }, 200, -32_003, "called"],
      [sending([{ text: "x" }], {}, { configuration: push }), 200, -32_003, "called"],
      [sending([{ text: "x" }], {}, { tenant: "other" }), 200, -32_602, "tenant"],
      [{ method: "SendMessage" }, 200, -32_602, "message"],
      [sending([]), 200, -32_602, "message.parts"],
      [sending(Array.from({ length: 33 }, () => ({ text: "x" }))), 200, -32_602, "message.parts"],
      [sending({}), 200, -32_602, "message.parts"],
      [sending([{}]), 200, -32_602, "message.parts.0"],
      [sending([{ text: "x", url: "https://x" }]), 200, -32_602, "message.parts.0"],
      [sending([{ text: 1 }]), 200, -32_602, "message.parts.0.text"],
      [sending([{ text: " " }]), 200, -32_602, "says nothing"],
      [sending([{ url: "https://example.com/a.png" }]), 200, -32_005, "message.parts.0.url"],
      [sending([{ data: { order: 7 } }]), 200, -32_005, "message.parts.0.data"],
      [sending([{ raw: "%", mediaType: "image/png" }]), 200, -32_602, "data"],
      [sending([{ raw: "AA==", mediaType: "png" }]), 200, -32_602, "mediaType"],
      [saying("x", { role: "ROLE_AGENT" }), 200, -32_602, "role"],
      [saying("x", { messageId: "" }), 200, -32_602, "messageId"],
      [saying("x", { messageId: "m".repeat(201) }), 200, -32_602, "messageId"],
      [saying("x", { taskId: unknown() }), 200, -32_001, "no such task"],
      [saying("x", { contextId: "my chat" }), 200, -32_602, "contextId"],
      [list({ pageSize: 0 }), 200, -32_602, "pageSize"],
      [list({ pageSize: 101 }), 200, -32_602, "pageSize"],
      [list({ status: "running" }), 200, -32_602, "status"],
      [list({ pageToken: "x" }), 200, -32_602, "pageToken"],
      [list({ statusTimestampAfter: "yesterday" }), 200, -32_602, "statusTimestampAfter"],
      [list({ historyLength: -1 }), 200, -32_602, "historyLength"]
    ]
    for (const [sent, status, code, word] of refusals) {
      const got = await ask({ as: "ada", ...sent })
      const what = `${JSON.stringify(sent).slice(0, 200)} ${got.text}`
      assert.deepStrictEqual([got.status, got.error?.code], [status, code], what)
      assert.include(got.error.message, word)
    }
    assert.strictEqual((await ask({ as: "ada", ...saying("x".repeat(1_000_001)) })).status, 413)
    assert.strictEqual((await ask({ as: "ada", ...saying("x".repeat(16_000_001)) })).status, 413)
    assert.strictEqual(await runsNow(), before)
  })

  it("is a page of an allowed origin, or of the service's own, or none", async () => {
    const origin = "https://shop.example"
    const allowed = await ask({ as: "carl", headers: { origin }, ...saying("hello") })
    assert.strictEqual(allowed.status, 200)
    assert.strictEqual(allowed.headers.get("access-control-allow-origin"), origin)
    const foreign = await ask({
      as: "carl",
      headers: { origin: "http://shop.example" },
      ...saying("hello")
    })
    assert.strictEqual(foreign.status, 403)
    const before = await fetch(`${troupe.url}/wires/a2a/clerk`, {
      method: "OPTIONS",
      headers: { origin, "access-control-request-method": "POST" }
    })
    assert.include(before.headers.get("access-control-allow-headers"), "a2a-version")
  })
})
