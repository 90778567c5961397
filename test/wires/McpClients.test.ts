/** The official MCP clients against agents as tools: what they list, ask and read on, in each revision of the protocol. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Client as EarlierClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StreamableHTTPClientTransport as EarlierTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Principal } from "troupe"
import type { Shop, Who } from "./WireScene.ts"
import { held, ran, shop, tokens } from "./WireScene.ts"

const decided_at = "https://desk.example/decide/{id}"
let troupe: Shop
beforeAll(async () => {
  troupe = await shop({ approval_url: decided_at } as never)
})
afterAll(() => troupe.stop())

const olga = new Principal({ id: "olga", tenant: "default", roles: ["operator", "approver"] })
const info = { name: "test", version: "1" }
const url = () => new URL(`${troupe.url}/wires/mcp`)
const requestInit = (who: Who) => ({ headers: { authorization: `Bearer ${tokens[who]}` } })

/** Each official client in the newest revision that it speaks, and the second one in its default, too. */
const clients = {
  "client 2 in 2026-07-28": async (who: Who) => {
    const client = new Client(info, { versionNegotiation: { mode: { pin: "2026-07-28" } } })
    await client.connect(
      new StreamableHTTPClientTransport(url(), { requestInit: requestInit(who) })
    )
    return client
  },
  "client 2 in 2025-11-25": async (who: Who) => {
    const client = new Client(info)
    await client.connect(
      new StreamableHTTPClientTransport(url(), { requestInit: requestInit(who) })
    )
    return client
  },
  "client 1": async (who: Who) => {
    const client = new EarlierClient(info)
    const transport = new EarlierTransport(url(), { requestInit: requestInit(who) })
    await client.connect(transport as Parameters<typeof client.connect>[0])
    return client
  }
} as const

interface Answer {
  readonly status: string
  readonly text: string
  readonly run: string
  readonly conversation: string
  readonly waiting_for: ReadonlyArray<{
    readonly summary: string
    readonly approval?: string
    readonly url?: string
  }>
}
type AnyClient = Awaited<ReturnType<(typeof clients)[keyof typeof clients]>>

const using = async <A>(
  name: keyof typeof clients,
  who: Who,
  use: (client: Client) => Promise<A>
): Promise<A> => {
  const client: AnyClient = await clients[name](who)
  try {
    // What the tests call of both clients is the same.
    return await use(client as Client)
  } finally {
    await client.close()
  }
}

const called = async (client: Client, tool: string, input: Record<string, unknown>) => {
  const result = await client.callTool({ name: tool, arguments: input })
  const [first] = result.content as ReadonlyArray<{ readonly type: string; readonly text: string }>
  return { isError: result.isError === true, said: first?.text ?? "", result }
}
const answered = async (client: Client, tool: string, input: Record<string, unknown>) => {
  const { result, said } = await called(client, tool, input)
  const answer = result.structuredContent as unknown as Answer
  assert.deepStrictEqual(JSON.parse(said), answer)
  return answer
}
const toolsOf = async (client: Client) => (await client.listTools()).tools.map(({ name }) => name)

for (const name of Object.keys(clients) as ReadonlyArray<keyof typeof clients>) {
  describe(`the MCP ${name}`, () => {
    it("lists the agents that its person may talk to", async () => {
      const seen = async (who: Who) => using(name, who, toolsOf)
      assert.deepStrictEqual(await seen("ada"), ["ask_clerk", "ask_expert", "run_result"])
      assert.deepStrictEqual(await seen("carl"), ["ask_clerk", "run_result"])
      // Who may not send reads on what others have asked.
      assert.deepStrictEqual(await seen("vera"), ["run_result"])
    })

    it("asks an agent, and goes on with the conversation by the result or by a name", async () => {
      await using(name, "carl", async (client) => {
        const first = await answered(client, "ask_clerk", { message: "hello" })
        assert.deepInclude(first, { status: "complete", text: "You said: hello", waiting_for: [] })
        const { conversation } = first
        const next = await answered(client, "ask_clerk", { message: "and now", conversation })
        assert.strictEqual(next.conversation, conversation)
        assert.notStrictEqual(next.run, first.run)
        const named = await answered(client, "ask_clerk", { message: "a", conversation: "order 7" })
        const again = await answered(client, "ask_clerk", { message: "b", conversation: "order 7" })
        assert.strictEqual(again.conversation, named.conversation)
        assert.notStrictEqual(named.conversation, conversation)
      })
    })

    it("is told what people have to decide, who do so elsewhere, and reads on", async () => {
      ran.length = 0
      await using(name, "ada", async (client) => {
        const asked = await answered(client, "ask_clerk", { message: "refund 1003" })
        assert.deepInclude(asked, { status: "awaiting_approval", text: "One moment." })
        const [question, ...more] = asked.waiting_for
        assert.deepStrictEqual(more, [])
        assert.include(question?.summary, "1003")
        const approval = String(question?.approval)
        assert.strictEqual(question?.url, decided_at.replace("{id}", approval))
        // Saying yes decides nothing.
        const { conversation, run } = asked
        const yes = await answered(client, "ask_clerk", { message: "yes", conversation, wait_s: 0 })
        assert.notStrictEqual(yes.run, run)
        assert.deepStrictEqual(ran, [])
        assert.strictEqual(
          (await answered(client, "run_result", { run })).status,
          "awaiting_approval"
        )
        await troupe.decide(approval, { decision: "approve" }, olga)
        const done = await answered(client, "run_result", { run })
        assert.deepInclude(done, { status: "complete", text: "Done with refund 1003.", run })
        assert.deepStrictEqual([done.waiting_for, ran], [[], ["refund 1003"]])
      })
    })

    it("makes one run of a message that it sends again with its key", async () => {
      await using(name, "ada", async (client) => {
        const input = { message: "hello", idempotency_key: `${name} 1` }
        const first = await answered(client, "ask_clerk", input)
        assert.strictEqual((await answered(client, "ask_clerk", input)).run, first.run)
        const other = await called(client, "ask_clerk", { ...input, message: "bye" })
        assert.isTrue(other.isError)
        assert.include(other.said, "another message")
        // Somebody else's key is another one.
        const theirs = await using(name, "olga", (own) => answered(own, "ask_clerk", input))
        assert.notStrictEqual(theirs.run, first.run)
      })
    })

    it("cancels nothing when it gives up", async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      held.promise = promise
      await using(name, "ada", async (client) => {
        const input = { message: "hold 1", idempotency_key: `${name} 2` }
        const { run, status } = await answered(client, "ask_clerk", { ...input, wait_s: 0 })
        assert.strictEqual(status, "processing")
        const asks = { name: "ask_clerk", arguments: input }
        const waiting =
          name === "client 1"
            ? (client as unknown as EarlierClient).callTool(asks, undefined, { timeout: 100 })
            : client.callTool(asks, { timeout: 100 })
        await waiting.then(
          () => assert.fail("it waits"),
          (error: Error) => assert.match(error.message, /timed out/i)
        )
        resolve()
        const done = await answered(client, "run_result", { run })
        assert.deepInclude(done, { status: "complete", text: "Done with hold 1." })
      })
    })
  })
}
