/** What a call of MCP 2026-07-28 asks of its client while its run waits for people, and what no response of a client does. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Principal } from "troupe"
import type { Abilities } from "./McpTaskHost.ts"
import { declaring, posted, taskSession, with_tasks } from "./McpTaskHost.ts"
import type { Shop, Who } from "./WireScene.ts"
import { ran, shop, tokens } from "./WireScene.ts"

const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
const with_urls = { elicitation: { url: {} } }
const approval_url = "https://desk.example/decide/{id}"
let troupe: Shop
beforeAll(async () => {
  troupe = await shop({ approval_url } as never)
})
afterAll(() => troupe.stop())

interface Options {
  readonly as?: Who
  readonly tool?: string
  readonly abilities?: Abilities
  readonly at?: Shop
  readonly again?: object
}
const call = async (
  input: object,
  { abilities = with_urls, again, as = "olga", at = troupe, tool = "ask_clerk" }: Options = {}
) => {
  const params = { name: tool, arguments: input, ...again }
  return posted(at, as, { method: "tools/call", params: declaring(params, abilities) })
}
const runsNow = async () => (await troupe.runs({ limit: 500 })).length

/** A call that asks its client, and its question. */
const asking = async (message: string, as: Who = "olga") => {
  const { result } = await call({ message }, { as })
  assert.strictEqual(result.resultType, "input_required", JSON.stringify(result))
  const [approval = ""] = Object.keys(result.inputRequests)
  return { approval, requestState: result.requestState as string, result }
}
const opening = (approval: string, action = "accept") => ({
  inputResponses: { [approval]: { action } }
})

for (const kind of ["in memory", "on PGlite"] as const) {
  describe(`the official client with a call that waits, ${kind}`, () => {
    const directory = mkdtempSync(join(tmpdir(), "troupe-mcp-"))
    let own: Shop
    beforeAll(async () => {
      own = await shop({
        approval_url,
        ...(kind === "on PGlite" && { store: { directory } })
      } as never)
    })
    afterAll(async () => {
      await own.stop()
      rmSync(directory, { recursive: true, force: true })
    })

    const using = async (
      handle: (params: Record<string, unknown>) => Promise<{ action: "accept" | "decline" }>,
      message: string
    ) => {
      const client = new Client(
        { name: "host", version: "1" },
        {
          capabilities: { elicitation: { url: {} } },
          versionNegotiation: { mode: { pin: "2026-07-28" } }
        }
      )
      client.setRequestHandler("elicitation/create", ({ params }) => handle(params as never))
      const requestInit = { headers: { authorization: `Bearer ${tokens.olga}` } }
      const url = new URL(`${own.url}/wires/mcp`)
      await client.connect(new StreamableHTTPClientTransport(url, { requestInit }))
      try {
        const result = await client.callTool({ name: "ask_clerk", arguments: { message } })
        return result.structuredContent as Record<string, string>
      } finally {
        await client.close()
      }
    }

    it("opens the page where a person decides, and goes on with the same run", async () => {
      ran.length = 0
      const before = (await own.runs({ limit: 500 })).length
      const opened: Array<unknown> = []
      const done = await using(async (params) => {
        opened.push(params)
        const [question] = await own.approvals()
        await own.decide(question!.id, { decision: "approve" }, olga)
        return { action: "accept" }
      }, "twice 1003")
      assert.deepInclude(done, { status: "complete", text: "Done with twice 1003." })
      assert.deepStrictEqual(ran, ["refund 1003-1", "refund 1003-2"])
      assert.strictEqual((await own.runs({ limit: 500 })).length, before + 1)
      // The second question was another one, and was asked, too.
      const questions = await own.approvals({ run_id: done["run"]!, status: "decided" })
      assert.sameDeepMembers(
        opened,
        questions.map(({ id, payload: { args_summary } }) => ({
          mode: "url",
          message: `Pays back: ${args_summary}`,
          url: `https://desk.example/decide/${id}`
        }))
      )
    })

    it("is told where to decide if its user does not go there", async () => {
      ran.length = 0
      const told = await using(async () => ({ action: "decline" }), "refund 1004")
      assert.strictEqual(told["status"], "awaiting_approval")
      assert.strictEqual((await own.approvals({ run_id: told["run"]! })).length, 1)
      assert.deepStrictEqual(ran, [])
    })
  })
}

describe("a call that asks its client", () => {
  it("is one that waits for a decision of its caller, and whose client opens pages", async () => {
    const { approval, requestState, result } = await asking("refund 1005")
    assert.deepStrictEqual(Object.keys(result).toSorted(), [
      "_meta",
      "inputRequests",
      "requestState",
      "resultType"
    ])
    const [question] = await troupe.approvals({ run_id: requestState })
    assert.strictEqual(question?.id, approval)
    for (const abilities of [
      {},
      { elicitation: {} },
      { elicitation: { form: {} } },
      { elicitation: { url: true } },
      { url: {} }
    ]) {
      const { result } = await call({ message: "refund 1006" }, { abilities })
      assert.strictEqual(result.structuredContent.status, "awaiting_approval")
      assert.notProperty(result, "requestState")
    }
    // Who may not decide is told who has to be asked.
    const told = await call({ message: "refund 1006" }, { as: "ada" })
    assert.strictEqual(told.result.structuredContent.status, "awaiting_approval")
    assert.isString((await asking("refund 1007", "carl")).approval)
  })

  it("is not asked where nobody has said where people decide", async () => {
    const other = await shop()
    try {
      const { result } = await call({ message: "refund 1008" }, { at: other })
      assert.strictEqual(result.structuredContent.status, "awaiting_approval")
    } finally {
      await other.stop()
    }
  })

  it("sends no second message, and nothing that it responds decides", async () => {
    ran.length = 0
    const input = { message: "refund 1009" }
    const { approval, requestState } = await asking(input.message)
    const before = await runsNow()
    const content = { approved: true, approve: true, decision: "approve" }
    const responses = [
      { [approval]: { action: "accept", content } },
      { [approval]: { action: "accept" }, other: { action: "accept", content } },
      { [approval]: { action: "decline", content } },
      { [approval]: { action: "cancel" } }
    ]
    for (const inputResponses of responses) {
      const again = { inputResponses, requestState }
      const { result } = await call({ ...input, wait_s: 0 }, { again })
      assert.deepInclude(result.structuredContent, {
        status: "awaiting_approval",
        run: requestState
      })
    }
    // What was not responded to is asked again.
    for (const again of [{ requestState }, { requestState, inputResponses: {} }]) {
      const { result } = await call(input, { again })
      assert.deepInclude(result, { resultType: "input_required", requestState })
    }
    assert.deepStrictEqual([ran, await runsNow()], [[], before])
    // The answer comes when somebody has decided.
    const waiting = call(input, { again: { requestState, ...opening(approval) } })
    await troupe.decide(approval, { decision: "deny", reason: "no" }, olga)
    const { result } = await waiting
    assert.deepInclude(result.structuredContent, { status: "complete", run: requestState })
    assert.deepStrictEqual([ran, await runsNow()], [[], before])
  })

  it("waits for the page that was opened, and asks for the next one at once", async () => {
    const input = { message: "twice 1010" }
    const { approval, requestState } = await asking(input.message)
    const waiting = call(input, { again: { requestState, ...opening(approval) } })
    await troupe.decide(approval, { decision: "approve" }, olga)
    const { result } = await waiting
    assert.strictEqual(result.resultType, "input_required")
    const [next, ...more] = Object.keys(result.inputRequests)
    assert.deepStrictEqual([next === approval, more], [false, []])
    // One that is open already is not asked alone.
    const again = { requestState, ...opening(next!) }
    const idle = await call({ ...input, wait_s: 0 }, { again })
    assert.strictEqual(idle.result.structuredContent.status, "awaiting_approval")
  })
})

describe("a state", () => {
  it("that is not of the same call, by the same person, is refused and reveals nothing", async () => {
    const input = { message: "refund 1011" }
    const { approval, requestState } = await asking(input.message)
    const { requestState: other } = await asking("refund 1012")
    const { requestState: theirs } = await asking("refund 1011", "carl")
    const before = await runsNow()
    const wrong: ReadonlyArray<readonly [string, unknown, object?, Options?]> = [
      ["tampered", `${requestState}x`],
      ["tampered", requestState.replace(/.$/, (last) => (last === "0" ? "1" : "0"))],
      ["made up", crypto.randomUUID()],
      ["empty", ""],
      ["no text", 7],
      ["no text", null],
      ["a list", [requestState]],
      ["of another call", other],
      ["of another message", requestState, { message: "refund 1012" }],
      ["of another conversation", requestState, { ...input, conversation: "other" }],
      ["of another key", requestState, { ...input, idempotency_key: "other" }],
      ["of another agent", requestState, input, { tool: "ask_expert" }],
      ["of a customer", theirs],
      ["of another operator", requestState, input, { as: "ada" }],
      ["of another tenant", requestState, input, { as: "otto" }],
      ["of staff", requestState, input, { as: "carl" }],
      ["of another customer", theirs, input, { as: "cora" }]
    ]
    const again = opening(approval)
    for (const [what, state, given = input, options] of wrong) {
      const { error, status } = await call(given, {
        ...options,
        again: { ...again, requestState: state }
      })
      assert.deepStrictEqual([status, error?.code], [200, -32602], what)
      assert.strictEqual(error.message, "The requestState is not that of this call.", what)
    }
    assert.strictEqual(await runsNow(), before)
  })

  it("is asked for with responses, which have to be responses", async () => {
    const input = { message: "refund 1013" }
    const { approval, requestState } = await asking(input.message)
    const before = await runsNow()
    const many = Array.from({ length: 21 }, (_, at) => [`q${at}`, { action: "accept" }])
    const wrong = [
      opening(approval),
      { inputResponses: {} },
      { requestState, inputResponses: null },
      { requestState, inputResponses: [] },
      { requestState, inputResponses: "yes" },
      { requestState, inputResponses: { [approval]: "accept" } },
      { requestState, inputResponses: { [approval]: { action: "approve" } } },
      { requestState, inputResponses: { [approval]: {} } },
      { requestState, inputResponses: Object.fromEntries(many) }
    ]
    for (const again of wrong) {
      const { error } = await call(input, { again })
      assert.strictEqual(error?.code, -32602, JSON.stringify(again))
    }
    for (const again of [{ requestState }, opening(approval)]) {
      const { error } = await call({ run: requestState }, { again, tool: "run_result" })
      assert.strictEqual(error?.code, -32602)
    }
    assert.strictEqual(await runsNow(), before)
    // `run_result` asks nobody.
    const { result } = await call({ run: requestState }, { tool: "run_result" })
    assert.strictEqual(result.structuredContent.status, "awaiting_approval")
  })
})

describe("a task", () => {
  it("asks the official client that opens pages, until somebody has decided", async () => {
    const asked: Array<unknown> = []
    await using host = await taskSession(troupe, "olga", {
      abilities: with_urls,
      onInputRequest: async ({ params }) => {
        asked.push(params)
        const [question] = await troupe.approvals({ order: "newest" })
        await troupe.decide(question!.id, { decision: "approve" }, olga)
        return { action: "accept" } as never
      }
    })
    const execution = await host.session.callTool("ask_clerk", { message: "refund 1014" })
    const { lastTask, outcome } = await execution.settle()
    assert.strictEqual(outcome.status, "completed")
    const [question] = await troupe.approvals({ run_id: lastTask!.taskId, status: "decided" })
    assert.deepStrictEqual(asked, [
      {
        mode: "url",
        message: `Pays back: ${question!.payload.args_summary}`,
        url: `https://desk.example/decide/${question!.id}`
      }
    ])
  })

  it("needs input of a client that opens pages, and of nobody else", async () => {
    const abilities = { ...with_tasks, ...with_urls }
    const { result } = await call({ message: "refund 1015", wait_s: 45 }, { abilities })
    const { status, taskId } = result
    assert.deepStrictEqual([result.resultType, status], ["task", "input_required"])
    assert.notProperty(result, "inputRequests")
    assert.notProperty(result, "requestState")
    const read = async (as: Who, abilities: Abilities) =>
      (await posted(troupe, as, { method: "tasks/get", params: declaring({ taskId }, abilities) }))
        .result
    const [approval = ""] = Object.keys((await read("olga", abilities)).inputRequests)
    const update = { taskId, inputResponses: { [approval]: { action: "accept" } } }
    await posted(troupe, "olga", { method: "tasks/update", params: declaring(update, abilities) })
    assert.property((await read("olga", abilities)).inputRequests, approval)
    for (const [as, abilities] of [
      ["olga", with_tasks],
      // Who may not decide is not asked to.
      ["ada", { ...with_tasks, ...with_urls }]
    ] as const) {
      const told = await read(as, abilities)
      assert.deepStrictEqual([told.status, told.inputRequests], ["working", undefined], as)
    }
  })
})
