/** AG-UI's own clients against the service, of 1.0 and of before: what they are shown, what they may answer, and where they go on. */
import { HttpAgent } from "@ag-ui/client"
import type { Interrupt, Message, ResumeEntry, RunAgentParameters } from "@ag-ui/client"
import { EventSchemas } from "@ag-ui/core/schemas"
import { HttpAgent as HttpAgentBefore } from "ag-ui-client-0"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Shop, Who } from "./WireScene.ts"
import { held, picture, prompts, ran, shop, tokens } from "./WireScene.ts"

let troupe: Shop
beforeAll(async () => {
  troupe = await shop()
})
afterAll(() => troupe.stop())

const url = () => `${troupe.url}/wires/ag-ui/clerk`
const headersOf = (who: Who) => ({ authorization: `Bearer ${tokens[who]}` })

interface Frame {
  readonly type: string
  readonly [name: string]: unknown
}

interface Client {
  readonly agent: HttpAgent
  /** The events of the last run. */
  frames: ReadonlyArray<Frame>
  told: Promise<void>
}

/** The events of an answer, each as the protocol's schemas have it. */
const framesOf = (text: string): ReadonlyArray<Frame> =>
  text
    .split("\n\n")
    .filter((each) => each.startsWith("data: "))
    .map((each) => EventSchemas.parse(JSON.parse(each.slice(6))) as Frame)

const clientOf = (who: Who, version: "1" | "0" = "1", thread: string = crypto.randomUUID()) => {
  const client = { frames: [], told: Promise.resolve() } as unknown as Client & {
    agent: HttpAgent
  }
  const config = {
    url: url(),
    headers: headersOf(who),
    threadId: thread,
    fetch: async (input: string, init: RequestInit) => {
      const response = await fetch(input, init)
      if (response.ok) {
        client.told = response
          .clone()
          .text()
          .then((text) => {
            client.frames = framesOf(text)
          })
      }
      return response
    }
  }
  // Both have the same members.
  client.agent =
    version === "1"
      ? new HttpAgent(config)
      : (new HttpAgentBefore(config as never) as unknown as HttpAgent)
  return client
}

const run = async (client: Client, parameters: RunAgentParameters) => {
  await client.agent.runAgent(parameters)
  await client.told
}

const say = (client: Client, content: Message["content"], runId?: string) => {
  client.agent.addMessage({ id: crypto.randomUUID(), role: "user", content } as Message)
  return run(client, runId === undefined ? {} : { runId })
}

const answer = (client: Client, payload: unknown, more: Partial<ResumeEntry> = {}) =>
  run(client, {
    resume: client.agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: "resolved" as const,
      payload,
      ...more
    }))
  })

const interruptOf = ({ agent }: Client): Interrupt => {
  const [interrupt] = agent.pendingInterrupts
  assert.isDefined(interrupt)
  return interrupt!
}
const textOf = ({ agent: { messages } }: Client): string =>
  messages
    .flatMap(({ content, role }) =>
      role === "assistant" && typeof content === "string" ? [content] : []
    )
    .join(" ")
const callsOf = ({ agent: { messages } }: Client) =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))
const resultsOf = ({ agent: { messages } }: Client) =>
  messages.flatMap((message) => (message.role === "tool" ? [message] : []))
const typesOf = ({ frames }: Client) => frames.map(({ type }) => type)
const runIn = ({ frames: [started] }: Client) =>
  (started as { readonly metadata?: { readonly troupe: Record<string, string> } }).metadata
    ?.troupe ?? {}
const lastOf = ({ frames }: Client) => frames.at(-1) as Frame & { readonly result: never }

const refusalOf = async (running: Promise<unknown>): Promise<string> => {
  try {
    await running
  } catch (error) {
    return String(error)
  }
  throw new Error("It was not refused.")
}

for (const version of ["1", "0"] as const) {
  describe(`a client of AG-UI ${version === "1" ? "1.0" : "before 1.0"}`, () => {
    it("is told a text as it is written, and goes on with its thread", async () => {
      const client = clientOf("carl", version)
      const texts = new Set<string>()
      client.agent.subscribe({ onMessagesChanged: () => void texts.add(textOf(client)) })
      await say(client, "hello, how are you today, and what is the news of my order?")
      assert.isAbove(texts.size, 3)
      assert.strictEqual(
        textOf(client),
        "You said: hello, how are you today, and what is the news of my order?"
      )
      assert.strictEqual(client.frames[0]?.["protocolVersion"], version === "1" ? "1.0" : undefined)
      assert.deepInclude(lastOf(client), { type: "RUN_FINISHED", outcome: { type: "success" } })
      const { conversation } = runIn(client)
      assert.match(String(conversation), /^carl:[0-9a-f]{32}$/)
      await say(client, "and now?")
      assert.strictEqual(runIn(client)["conversation"], conversation)
      assert.include(textOf(client), "You said: and now?")
    })

    it("is shown calls with their results and failures, and runs none itself", async () => {
      const client = clientOf("ada", version)
      const pending: Array<unknown> = []
      client.agent.subscribe({
        onRunFinishedEvent: (event) => {
          if (event.outcome === "success") pending.push(...(event.pendingToolCallIds ?? []))
        }
      })
      await say(client, "look 1003")
      assert.deepInclude(callsOf(client)[0], {
        function: { name: "look", arguments: '{"order":"1003"}' }
      })
      assert.strictEqual(resultsOf(client)[0]?.content, '{"order":"1003","status":"sent"}')
      assert.include(typesOf(client), "REASONING_MESSAGE_CONTENT")
      assert.isAbove(
        (lastOf(client) as unknown as { usage: [{ totalTokens: number }] }).usage[0].totalTokens,
        0
      )
      await say(client, "broken 1003")
      assert.deepInclude(resultsOf(client)[1], { metadata: { troupe: { outcome: "failed" } } })
      assert.notInclude(JSON.stringify(resultsOf(client)), "depot")
      assert.deepStrictEqual(pending, [])
    })

    it("is shown a specialist with what it says and calls", async () => {
      const client = clientOf("ada", version)
      await say(client, "ask about 7")
      const started = client.frames.find(({ type }) => type === "SUBAGENT_STARTED")
      const ended = client.frames.find(({ type }) => type === "SUBAGENT_FINISHED")
      const id = started?.["subagentRunId"]
      assert.deepInclude(started, { name: "expert", parentToolCallId: callsOf(client)[0]?.id })
      assert.deepInclude(ended, { subagentRunId: id, outcome: { type: "success" } })
      const own = client.agent.messages.filter(
        (message) => (message as { readonly subagentRunId?: unknown }).subagentRunId === id
      )
      assert.include(JSON.stringify(own), "look")
      assert.include(JSON.stringify(own), "It was sent on Monday")
    })

    it("approves a call, which then runs once, and is not told it again", async () => {
      ran.length = 0
      const client = clientOf("olga", version)
      await say(client, "refund 1004")
      const interrupt = interruptOf(client)
      assert.strictEqual(interrupt.toolCallId, callsOf(client)[0]?.id)
      assert.hasAllKeys((interrupt.responseSchema as { properties: object }).properties, [
        "approved",
        "editedArgs",
        "reason"
      ])
      assert.match(String(interrupt.metadata?.["digest"]), /^[0-9a-f]{64}$/)
      assert.deepStrictEqual(typesOf(client).slice(-2), ["MESSAGES_SNAPSHOT", "RUN_FINISHED"])
      assert.deepStrictEqual(ran, [])
      await answer(client, { approved: true })
      assert.deepStrictEqual(ran, ["refund 1004"])
      assert.deepStrictEqual(client.agent.pendingInterrupts, [])
      assert.notInclude(typesOf(client), "TOOL_CALL_START")
      assert.deepInclude(resultsOf(client)[0], {
        toolCallId: String(interrupt.toolCallId),
        content: "paid back"
      })
      assert.strictEqual(textOf(client), "One moment. Done with refund 1004.")
      assert.lengthOf(callsOf(client), 1)
    })

    it("denies a call with a reason, which the model reads, or without an answer", async () => {
      ran.length = 0
      const client = clientOf("olga", version)
      await say(client, "refund 1005")
      await answer(client, { approved: false, reason: "paid before" })
      assert.include(prompts.at(-1), "paid before")
      assert.deepInclude(resultsOf(client)[0], { metadata: { troupe: { outcome: "denied" } } })
      await say(client, "refund 1006")
      await answer(client, undefined, { status: "cancelled" })
      assert.lengthOf(resultsOf(client), 2)
      assert.include(textOf(client), "Done with refund 1006.")
      assert.deepStrictEqual(ran, [])
    })

    it("approves a call with other arguments", async () => {
      ran.length = 0
      const client = clientOf("olga", version)
      await say(client, "refund 1007")
      await answer(client, { approved: true, editedArgs: { order: "1008" } })
      assert.deepStrictEqual(ran, ["refund 1008"])
      assert.deepInclude(resultsOf(client)[0], {
        content: "paid back",
        metadata: { troupe: { arguments: { order: "1008" } } }
      })
    })

    it("answers a second question of the same run", async () => {
      ran.length = 0
      const client = clientOf("olga", version)
      await say(client, "twice 1009")
      const first = interruptOf(client)
      await answer(client, { approved: true })
      assert.notStrictEqual(interruptOf(client).id, first.id)
      assert.lengthOf(callsOf(client), 2)
      await answer(client, { approved: true })
      assert.deepStrictEqual(ran, ["refund 1009-1", "refund 1009-2"])
      assert.strictEqual(textOf(client), "Done with twice 1009.")
      const roles = client.agent.messages.map(({ role }) => role)
      assert.deepStrictEqual(
        roles.filter((role) => role !== "reasoning"),
        ["user", "assistant", "tool", "assistant", "tool", "assistant"]
      )
    })

    it("is told that a run was stopped", async () => {
      const client = clientOf("olga", version, `stopped-${version}`)
      await say(client, "refund 1010")
      const { run } = runIn(client)
      for (let time = 0; time < 2; time++) {
        const stopped = await fetch(`${url()}/stopped-${version}/stop`, {
          method: "POST",
          headers: headersOf("olga")
        })
        assert.strictEqual(stopped.status, 204)
      }
      assert.strictEqual((await troupe.run(String(run))).status, "cancelled")
      const going = answer(client, { approved: true })
      if (version === "1") {
        await going
        assert.deepInclude(lastOf(client), { outcome: { type: "cancelled" } })
      } else {
        // There is no such outcome before 1.0.
        await going.catch(() => client.told)
        assert.deepInclude(lastOf(client), { type: "RUN_ERROR", code: "cancelled" })
      }
    })

    it("begins one run for a run id that is posted twice, and is told it from its start", async () => {
      const thread = crypto.randomUUID()
      const first = clientOf("ada", version, thread)
      await say(first, "look 1011", "run-1")
      const second = clientOf("ada", version, thread)
      await say(second, "look 1011", "run-1")
      assert.strictEqual(runIn(first)["run"], runIn(second)["run"])
      const own = ({ agent }: Client) => agent.messages.filter(({ role }) => role !== "user")
      assert.deepStrictEqual(own(second), own(first))
      assert.lengthOf(resultsOf(second), 1)
      const other = clientOf("ada", version, thread)
      assert.include(await refusalOf(say(other, "look 1012", "run-1")), "422")
    })
  })
}

describe("a client of AG-UI", () => {
  it("shows a customer texts and its own questions, and nothing else of calls", async () => {
    ran.length = 0
    const client = clientOf("carl")
    await say(client, "look 1013")
    assert.strictEqual(textOf(client), "One moment. Done with look 1013.")
    await say(client, "ask about 7")
    const told = JSON.stringify(client.frames)
    for (const word of ["expert", "thought", "look", "depot", "TOOL_CALL", "SUBAGENT"]) {
      assert.notInclude(told, word)
    }
    await say(client, "refund 1014")
    const { metadata, responseSchema, toolCallId } = interruptOf(client)
    assert.isUndefined(toolCallId)
    assert.doesNotHaveAnyKeys(metadata, ["digest", "arguments"])
    assert.notInclude(JSON.stringify(responseSchema), "editedArgs")
    assert.strictEqual(metadata?.["summary"], 'order: "1014"')
    await answer(client, { approved: true })
    assert.deepStrictEqual(ran, ["refund 1014"])
    assert.include(textOf(client), "One moment. Done with refund 1014.")
  })

  it("cancels nothing by going away", async () => {
    const controller = new AbortController()
    let letGo = () => {}
    held.promise = new Promise<void>((resolve) => {
      letGo = resolve
    })
    const response = await fetch(url(), {
      method: "POST",
      headers: { ...headersOf("ada"), "content-type": "application/json" },
      body: JSON.stringify({
        threadId: "left",
        runId: "left",
        messages: [{ id: "1", role: "user", content: "hold 1021" }]
      }),
      signal: controller.signal
    })
    const { value } = await response.body!.getReader().read()
    const run = /"run":"([^"]+)"/.exec(new TextDecoder().decode(value))?.[1] ?? ""
    assert.strictEqual((await troupe.run(run)).status, "processing")
    controller.abort()
    await new Promise((resolve) => setTimeout(resolve, 20))
    letGo()
    assert.strictEqual((await troupe.result(run)).status, "complete")
  })

  it("goes on where somebody else has settled the question, in whatever way", async () => {
    ran.length = 0
    const client = clientOf("olga")
    await say(client, "refund 1015")
    const { id } = interruptOf(client)
    const ada = { id: "ada", tenant: "default", roles: ["approver"] } as const
    await troupe.decide(id, { decision: "modify", arguments: { order: "1016" } }, ada)
    await troupe.result(String(runIn(client)["run"]))
    await answer(client, { approved: false })
    assert.deepStrictEqual(ran, ["refund 1016"])
    assert.deepInclude(resultsOf(client)[0], {
      metadata: { troupe: { arguments: { order: "1016" } } }
    })
    assert.include(textOf(client), "Done with refund 1015.")
  })

  it("may not answer what has expired, and goes on by giving it up", async () => {
    const thread = crypto.randomUUID()
    const client = clientOf("olga", "1", thread)
    await say(client, "lapse 1020")
    const { expiresAt, id } = interruptOf(client)
    assert.match(String(expiresAt), /^\d{4}-.*Z$/)
    while ((await troupe.run(String(runIn(client)["run"]))).status === "awaiting_approval") {
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    // The client refuses it by itself; so does the service.
    assert.include(await refusalOf(answer(client, { approved: true })), "expired")
    const late = await fetch(url(), {
      method: "POST",
      headers: { ...headersOf("olga"), "content-type": "application/json" },
      body: JSON.stringify({
        threadId: thread,
        runId: "late",
        messages: [],
        resume: [{ interruptId: id, status: "resolved", payload: { approved: true } }]
      })
    })
    assert.strictEqual(late.status, 410)
    await answer(client, undefined, { status: "cancelled" })
    assert.deepInclude(resultsOf(client)[0], { metadata: { troupe: { outcome: "expired" } } })
    assert.include(textOf(client), "Done with lapse 1020.")
  })

  it("is told the rest of a run again that it went on with, by the same run id", async () => {
    ran.length = 0
    const client = clientOf("olga")
    await say(client, "refund 1017")
    const resume = client.agent.pendingInterrupts.map(({ id }) => ({
      interruptId: id,
      status: "resolved" as const,
      payload: { approved: true }
    }))
    const back = client.agent.clone() as HttpAgent
    await run(client, { resume, runId: "resumed-1" })
    const first = client.frames
    await back.runAgent({ resume, runId: "resumed-1" })
    assert.deepStrictEqual(back.messages, client.agent.messages)
    assert.strictEqual(first[0]?.["runId"], "resumed-1")
    assert.deepStrictEqual(ran, ["refund 1017"])
  })

  it("is told that a message waits behind a question of another client", async () => {
    const thread = crypto.randomUUID()
    const asking = clientOf("olga", "1", thread)
    await say(asking, "refund 1018")
    const other = clientOf("olga", "1", thread)
    await say(other, "hello")
    const { outcome, result } = lastOf(other) as unknown as Record<string, { status: string }>
    assert.deepStrictEqual(outcome, { type: "success" } as never)
    assert.strictEqual(result?.status, "queued")
    assert.deepStrictEqual(other.agent.pendingInterrupts, [])
  })

  it("takes files, and gives those of answers", async () => {
    const client = clientOf("carl")
    await say(client, [
      { type: "text", text: "draw 1019" },
      {
        type: "image",
        source: { type: "data", value: picture.data, mimeType: "image/png" }
      }
    ])
    const [file] = (
      lastOf(client) as unknown as { result: { files: ReadonlyArray<{ url: string }> } }
    ).result.files
    const got = await fetch(`${troupe.url}${file?.url}`, { headers: headersOf("carl") })
    assert.strictEqual(Buffer.from(await got.arrayBuffer()).toString("base64"), picture.data)
    assert.include(prompts.at(-1), "image/png")
  })
})
