/** Runs as tasks of the Model Context Protocol, as the official client of its extension drives them, and what nobody may do to one. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Principal } from "troupe"
import type { Abilities } from "./McpTaskHost.ts"
import { declaring, posted, taskSession, with_tasks } from "./McpTaskHost.ts"
import type { Shop, Who } from "./WireScene.ts"
import { held, ran, shop, tokens } from "./WireScene.ts"

const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
let troupe: Shop
beforeAll(async () => {
  troupe = await shop({ approval_url: "https://desk.example/decide/{id}" } as never)
})
afterAll(() => troupe.stop())

const send = (
  who: Who,
  method: string,
  params: Readonly<Record<string, unknown>>,
  {
    abilities = with_tasks,
    headers
  }: { abilities?: Abilities; headers?: Record<string, string> } = {}
) => posted(troupe, who, { method, params: declaring(params, abilities) }, headers)

const asked = async (who: Who, message: string, more: object = {}) => {
  const input = { message, wait_s: 0, ...more }
  const { result } = await send(who, "tools/call", { name: "ask_clerk", arguments: input })
  return result
}
const task = async (who: Who, taskId: string) => (await send(who, "tasks/get", { taskId })).result

/** What ends with `let go`. */
const holding = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  held.promise = promise
  return resolve
}

describe("a task of MCP", () => {
  it("is what the official client is given for a call that goes on, and ends with its result", async () => {
    const letGo = holding()
    await using host = await taskSession(troupe, "ada")
    const execution = await host.session.callTool("ask_clerk", { message: "hold 1" })
    assert.strictEqual(execution.kind, "task")
    letGo()
    const { lastTask, outcome } = await execution.settle()
    assert.strictEqual(outcome.status, "completed")
    if (outcome.status !== "completed") return
    const { isError, structuredContent } = outcome.result as never as Record<string, object>
    assert.deepInclude(structuredContent, { status: "complete", text: "Done with hold 1." })
    assert.isUndefined(isError)
    assert.deepInclude(lastTask, { retentionMs: null, status: "completed" })
    // It is the run that `run_result` reads, with the same result.
    const run = lastTask!.taskId
    const read = await send("ada", "tools/call", { name: "run_result", arguments: { run } })
    assert.deepStrictEqual(read.result.structuredContent, structuredContent)
  })

  it("is not made of a call that ends at once, or in the time that it may take", async () => {
    await using host = await taskSession(troupe, "ada")
    const { kind } = await host.session.callTool("ask_clerk", { message: "hello", wait_s: 45 })
    assert.strictEqual(kind, "immediate")
    const done = await asked("ada", "hello", { wait_s: 45 })
    assert.deepStrictEqual(
      [done.resultType, done.structuredContent.status],
      ["complete", "complete"]
    )
  })

  it("is at work until its run ends", async () => {
    const letGo = holding()
    const handle = await asked("ada", "hold 2")
    const { createdAt, lastUpdatedAt, pollIntervalMs, taskId, ...rest } = handle
    assert.deepInclude(rest, { resultType: "task", status: "working", ttlMs: null })
    assert.isAtMost(Date.parse(createdAt), Date.parse(lastUpdatedAt))
    assert.isAbove(pollIntervalMs, 0)
    const now = await task("ada", taskId)
    assert.deepInclude(now, { resultType: "complete", status: "working", taskId })
    assert.notProperty(now, "result")
    letGo()
    await troupe.result(taskId)
    const ended = await task("ada", taskId)
    assert.deepStrictEqual(
      [ended.status, ended.result.structuredContent.text],
      ["completed", "Done with hold 2."]
    )
    assert.isAbove(Date.parse(ended.lastUpdatedAt), Date.parse(ended.createdAt))
  })

  it("that is cancelled is a cancelled run, and only cancelling does that", async () => {
    const letGo = holding()
    const { taskId } = await asked("ada", "hold 3")
    const params = { requestId: 7 }
    const notice = { jsonrpc: "2.0", method: "notifications/cancelled", params }
    await fetch(`${troupe.url}/wires/mcp`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.ada}`, "content-type": "application/json" },
      body: JSON.stringify(notice)
    })
    assert.strictEqual((await task("ada", taskId)).status, "working")
    await using host = await taskSession(troupe, "ada")
    await host.session.cancelTask(taskId)
    letGo()
    assert.strictEqual((await troupe.result(taskId)).status, "cancelled")
    const cancelled = await task("ada", taskId)
    assert.strictEqual(cancelled.status, "cancelled")
    assert.notProperty(cancelled, "result")
    // Once more is no error, and of one that is complete changes nothing.
    const { result } = await send("ada", "tasks/cancel", { taskId })
    assert.deepStrictEqual(Object.keys(result).toSorted(), ["_meta", "resultType"])
    const done = (await asked("ada", "hello", { wait_s: 45 })).structuredContent.run
    await send("ada", "tasks/cancel", { taskId: done })
    assert.strictEqual((await task("ada", done)).status, "completed")
  })

  it("waits for people who decide elsewhere, and says where", async () => {
    ran.length = 0
    const { statusMessage, taskId } = await asked("ada", "refund 1003", { wait_s: 45 })
    assert.match(statusMessage, /^Waits for people: .*1003/)
    const [question] = await troupe.approvals({ run_id: taskId })
    assert.include(statusMessage, `https://desk.example/decide/${question!.id}`)
    // Whatever a client responds decides nothing.
    const yes = { action: "accept", content: { approved: true, decision: "approve" } }
    const { result } = await send("ada", "tasks/update", {
      taskId,
      inputResponses: { [question!.id]: yes, approve: yes }
    })
    assert.deepStrictEqual(Object.keys(result).toSorted(), ["_meta", "resultType"])
    assert.deepInclude(await task("ada", taskId), { status: "working", statusMessage })
    assert.deepStrictEqual(ran, [])
    await troupe.decide(question!.id, { decision: "approve" }, olga)
    await troupe.result(taskId)
    const done = await task("ada", taskId)
    assert.strictEqual(done.result.structuredContent.text, "Done with refund 1003.")
    assert.notProperty(done, "statusMessage")
  })
})

describe("a task of somebody else", () => {
  it("is none, in the same words as one that never was", async () => {
    const letGo = holding()
    const { taskId } = await asked("carl", "hold 4")
    for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
      const more = method === "tasks/update" ? { inputResponses: {} } : {}
      const none = await send("cora", method, { taskId: crypto.randomUUID(), ...more })
      assert.deepInclude(none.error, { code: -32602 })
      for (const who of ["cora", "otto"] as const) {
        assert.deepStrictEqual(await send(who, method, { taskId, ...more }), none)
      }
      for (const other of ["1", "", 7, null, `${taskId}x`, "__proto__"]) {
        const headers = { "mcp-name": String(other) }
        const { error } = await send("carl", method, { taskId: other, ...more }, { headers })
        const isText = typeof other === "string"
        assert.strictEqual(error.code, isText ? -32602 : -32020, `${method} ${other}`)
      }
    }
    // Who may only look does not cancel.
    const { error, id, status } = await send("vera", "tasks/cancel", { taskId })
    assert.deepStrictEqual([status, error.code, id], [403, -32600, 7])
    assert.strictEqual((await task("vera", taskId)).status, "working")
    assert.strictEqual((await task("carl", taskId)).status, "working")
    letGo()
    await troupe.result(taskId)
  })

  it("tells a customer no more than the run does", async () => {
    const { structuredContent } = await asked("carl", "ask about 7", { wait_s: 45 })
    const told = JSON.stringify(await task("carl", structuredContent.run))
    assert.include(told, "Done with ask about 7.")
    for (const word of ["expert", "thought", "depot"]) assert.notInclude(told, word)
  })
})

describe("a host", () => {
  it("that does not declare tasks with its request is given none, and reads none", async () => {
    const letGo = holding()
    const { taskId } = await asked("ada", "hold 5")
    for (const abilities of [
      {},
      { extensions: {} },
      { tasks: {} },
      { extensions: { tasks: {} } }
    ]) {
      const input = { message: "hold 5", wait_s: 0 }
      const params = { name: "ask_clerk", arguments: input, task: { ttl: 60_000 } }
      const { result } = await send("ada", "tools/call", params, { abilities })
      assert.deepStrictEqual(
        [result.resultType, result.structuredContent.status],
        ["complete", "processing"]
      )
      for (const method of ["tasks/get", "tasks/update", "tasks/cancel"]) {
        const refused = await send("ada", method, { taskId, inputResponses: {} }, { abilities })
        assert.deepStrictEqual([refused.status, refused.error.code], [400, -32021])
        assert.deepStrictEqual(refused.error.data, { requiredCapabilities: with_tasks })
      }
    }
    assert.strictEqual((await task("ada", taskId)).status, "working")
    letGo()
  })

  it("is refused what no task is asked for", async () => {
    const { structuredContent } = await asked("ada", "hello", { wait_s: 45 })
    const taskId = structuredContent.run
    for (const method of ["tasks/list", "tasks/result", "subscriptions/listen", "tasks/"]) {
      const { error, status } = await send("ada", method, { taskId })
      assert.deepStrictEqual([status, error.code], [404, -32601], method)
    }
    const headers = { "mcp-name": crypto.randomUUID() }
    const mismatch = await send("ada", "tasks/get", { taskId }, { headers })
    assert.deepStrictEqual([mismatch.status, mismatch.error.code], [400, -32020])
    for (const inputResponses of [undefined, null, 7, []]) {
      const { error } = await send("ada", "tasks/update", { taskId, inputResponses })
      assert.strictEqual(error?.code, -32602, String(inputResponses))
    }
    // In the revisions before it there is no such method.
    const response = await fetch(`${troupe.url}/wires/mcp`, {
      method: "POST",
      headers: { authorization: `Bearer ${tokens.ada}`, "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method: "tasks/get", params: { taskId } })
    })
    assert.strictEqual((await response.json()).error.code, -32601)
  })
})
