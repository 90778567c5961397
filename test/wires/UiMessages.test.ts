/** The AI SDK's own client against the service: what it is shown, what it may answer, and where it goes on. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Chat } from "@ai-sdk/react"
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls
} from "ai"
import type { DynamicToolUIPart, UIMessage } from "ai"
import type { Shop, Who } from "./WireScene.ts"
import { picture, prompts, ran, shop, tokens } from "./WireScene.ts"

let troupe: Shop
beforeAll(async () => {
  troupe = await shop()
})
afterAll(() => troupe.stop())

const api = () => `${troupe.url}/wires/ui-messages/clerk`
const headersOf = (who: Who) => ({ authorization: `Bearer ${tokens[who]}` })

interface Seen {
  /** How often the client posted. */
  posts: number
  /** How many calls it was asked to make itself. */
  calls?: number
  /** All that it was sent. */
  readonly bodies?: Array<Promise<string>>
}

const chatOf = (
  who: Who,
  id?: string,
  seen: Seen = { posts: 0 },
  messages: Array<UIMessage> = []
) =>
  new Chat({
    ...(id === undefined ? {} : { id }),
    messages,
    transport: new DefaultChatTransport({
      api: api(),
      headers: headersOf(who),
      fetch: async (input, init) => {
        if (init?.method === "POST") seen.posts++
        const response = await fetch(input, init)
        seen.bodies?.push(response.clone().text())
        return response
      }
    }),
    onToolCall: () => {
      seen.calls = (seen.calls ?? 0) + 1
    },
    // As an application has it whose tools are answered by the page, too.
    sendAutomaticallyWhen: (state) =>
      lastAssistantMessageIsCompleteWithApprovalResponses(state) ||
      lastAssistantMessageIsCompleteWithToolCalls(state)
  })

type AnyChat = Chat<UIMessage>

const last = (chat: AnyChat): UIMessage => {
  const message = chat.messages.at(-1)
  assert.isDefined(message)
  return message!
}
const textOf = (message: UIMessage): string =>
  message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join(" ")
const callsOf = (message: UIMessage): ReadonlyArray<DynamicToolUIPart> =>
  message.parts.filter((part) => part.type === "dynamic-tool")
const stateOf = (message: UIMessage) =>
  (message.metadata as { readonly troupe: Readonly<Record<string, unknown>> }).troupe
const questionIn = (message: UIMessage) => {
  const asked = callsOf(message).findLast(({ state }) => state === "approval-requested")
  assert.isDefined(asked?.approval)
  return asked!.approval!.id
}

/** The messages that a page begins with. */
const messagesOf = async (who: Who, chat: string): Promise<Array<UIMessage>> => {
  const response = await fetch(`${api()}/${chat}/messages`, { headers: headersOf(who) })
  return response.json()
}

const idle = async (chat: AnyChat) => {
  while (chat.status === "submitted" || chat.status === "streaming") {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  assert.isUndefined(chat.error)
  return last(chat)
}

const said = async (chat: AnyChat, text: string) => {
  await chat.sendMessage({ text })
  return idle(chat)
}

const answer = async (chat: AnyChat, approved: boolean, reason?: string) => {
  const id = questionIn(last(chat))
  await chat.addToolApprovalResponse({ id, approved, ...(reason === undefined ? {} : { reason }) })
  // The client posts by itself.
  await new Promise((resolve) => setTimeout(resolve, 0))
  return idle(chat)
}

describe("useChat's client", () => {
  it("is told a text as it is written, in one message of the run's id", async () => {
    const chat = chatOf("carl")
    const texts = new Set<string>()
    const watched = setInterval(() => texts.add(textOf(last(chat))), 0)
    const message = await said(chat, "hello, how are you today, and what is the news of my order?")
    clearInterval(watched)
    assert.isAbove(texts.size, 3)
    assert.strictEqual(
      textOf(message),
      "You said: hello, how are you today, and what is the news of my order?"
    )
    const { conversation, run, status } = stateOf(message)
    assert.deepStrictEqual([message.id, status], [run, "complete"])
    assert.match(String(conversation), /^carl:[0-9a-f]{32}$/)
    // A second message goes on with the conversation.
    const next = await said(chat, "and now?")
    assert.strictEqual(stateOf(next)["conversation"], conversation)
    assert.strictEqual(stateOf(next)["cursor"], "2.3")
  })

  it("is shown calls with their results and failures, and makes none itself", async () => {
    const seen: Seen = { posts: 0 }
    const chat = chatOf("ada", undefined, seen)
    const [look] = callsOf(await said(chat, "look 1003"))
    assert.deepInclude(look, {
      toolName: "look",
      state: "output-available",
      input: { order: "1003" },
      output: { order: "1003", status: "sent" }
    })
    const [broken] = callsOf(await said(chat, "broken 1003"))
    assert.deepInclude(broken, { state: "output-error" })
    assert.notInclude(JSON.stringify(broken), "depot")
    assert.deepStrictEqual(seen, { posts: 2 })
  })

  it("is shown what a specialist says and calls, in the part of the call that asks it", async () => {
    const message = await said(chatOf("ada"), "ask about 7")
    const [asked, looked] = callsOf(message)
    assert.deepInclude(asked, {
      toolName: "ask_expert",
      state: "output-available",
      output: "It was sent on Monday, says the depot, with all that was in it."
    })
    assert.deepInclude(looked, { title: "expert: look", state: "output-available" })
    assert.include(JSON.stringify(message.parts), '"type":"reasoning"')
  })

  it("shows a customer texts and its own questions, and nothing else of calls", async () => {
    const looked = await said(chatOf("carl"), "look 1003")
    assert.deepStrictEqual(callsOf(looked), [])
    assert.strictEqual(textOf(looked), "One moment. Done with look 1003.")
    const bodies: Array<Promise<string>> = []
    await said(chatOf("carl", undefined, { posts: 0, bodies }), "ask about 7")
    const told = (await Promise.all(bodies)).join()
    assert.include(told, "Done wit")
    for (const word of ["expert", "thought", "look", "depot"]) assert.notInclude(told, word)
    const asked = await said(chatOf("carl"), "refund 1003")
    const [refund] = callsOf(asked)
    assert.deepStrictEqual(refund?.input, { summary: 'order: "1003"' })
    assert.notInclude(JSON.stringify(asked), "digest")
  })

  it("approves a call, which then runs once, in the same message", async () => {
    ran.length = 0
    const seen = { posts: 0 }
    const chat = chatOf("olga", undefined, seen)
    const asked = await said(chat, "refund 1004")
    assert.deepInclude(stateOf(asked), { status: "awaiting_approval" })
    assert.deepStrictEqual(ran, [])
    const done = await answer(chat, true)
    assert.strictEqual(done.id, asked.id)
    assert.deepStrictEqual(
      callsOf(done).map(({ output, state }) => [state, output]),
      [["output-available", "paid back"]]
    )
    assert.strictEqual(textOf(done), "One moment. Done with refund 1004.")
    assert.deepStrictEqual([ran, seen.posts], [["refund 1004"], 2])
  })

  it("denies a call with a reason, which the model reads", async () => {
    ran.length = 0
    const chat = chatOf("olga")
    await said(chat, "refund 1005")
    const done = await answer(chat, false, "paid before")
    assert.deepStrictEqual(
      callsOf(done).map(({ state }) => state),
      ["output-denied"]
    )
    assert.include(prompts.at(-1), "paid before")
    assert.deepStrictEqual(ran, [])
  })

  it("lets a customer decide what is its own to decide, and nobody else's", async () => {
    ran.length = 0
    const chat = chatOf("carl")
    await said(chat, "refund 1006")
    const done = await answer(chat, true)
    assert.strictEqual(textOf(done), "One moment. Done with refund 1006.")
    assert.deepStrictEqual(ran, ["refund 1006"])
  })

  it("answers a second question of the same run", async () => {
    ran.length = 0
    const chat = chatOf("olga")
    const first = await said(chat, "twice 1007")
    const second = await answer(chat, true)
    assert.deepStrictEqual(
      callsOf(second).map(({ state }) => state),
      ["output-available", "approval-requested"]
    )
    const done = await answer(chat, true)
    assert.deepStrictEqual([done.id, ran], [first.id, ["refund 1007-1", "refund 1007-2"]])
    assert.strictEqual(textOf(done), "Done with twice 1007.")
  })

  it("answers two questions at once", async () => {
    ran.length = 0
    const chat = chatOf("olga")
    const [first, second] = callsOf(await said(chat, "both 1015"))
    await chat.addToolApprovalResponse({ id: String(first?.approval?.id), approved: false })
    await chat.addToolApprovalResponse({ id: String(second?.approval?.id), approved: true })
    await new Promise((resolve) => setTimeout(resolve, 0))
    const done = await idle(chat)
    assert.deepStrictEqual(
      callsOf(done).map(({ state }) => state),
      ["output-denied", "output-available"]
    )
    assert.strictEqual(textOf(done), "Done with both 1015.")
    assert.deepStrictEqual(ran, ["refund 1015-b"])
  })

  it("is shown arguments that a person replaced elsewhere, when it comes back", async () => {
    ran.length = 0
    const chat = chatOf("olga")
    const asked = await said(chat, "refund 1008")
    await troupe.decide(
      questionIn(asked),
      { decision: "modify", arguments: { order: "1009" } },
      { id: "ada", tenant: "default", roles: ["approver"] }
    )
    await troupe.result(asked.id)
    assert.deepStrictEqual(ran, ["refund 1009"])
    const messages = await messagesOf("olga", chat.id)
    const [refund] = callsOf(messages.at(-1)!)
    assert.deepInclude(refund, { input: { order: "1009" }, output: "paid back" })
    // What it would have decided is decided: it is told so, and nothing changes.
    const id = questionIn(asked)
    await chat.addToolApprovalResponse({ id, approved: false })
    await new Promise((resolve) => setTimeout(resolve, 0))
    while (chat.status === "submitted") await new Promise((resolve) => setTimeout(resolve, 5))
    assert.include(chat.error?.message, "approval-settled")
  })

  it("is told that a message waits behind a question, and whose answer it waits for", async () => {
    const chat = chatOf("olga")
    const asked = await said(chat, "refund 1014")
    const waits = await said(chat, "hello")
    const { status, waiting } = stateOf(waits)
    assert.strictEqual(status, "queued")
    assert.deepInclude((waiting as ReadonlyArray<object>)[0], { approval: questionIn(asked) })
    assert.deepStrictEqual(waits.parts, [])
    const olga = { id: "olga", tenant: "default", roles: ["approver"] } as const
    await troupe.decide(questionIn(asked), { decision: "approve" }, olga)
    await troupe.result(waits.id)
    assert.deepStrictEqual((await messagesOf("olga", chat.id)).map(textOf), [
      "refund 1014",
      "One moment. Done with refund 1014.",
      "hello",
      "You said: hello"
    ])
  })

  it("stops a run, and cancels nothing by going away", async () => {
    const chat = chatOf("olga")
    const asked = await said(chat, "refund 1010")
    await chat.stop()
    assert.strictEqual((await troupe.run(asked.id)).status, "awaiting_approval")
    const stopped = await fetch(`${api()}/${chat.id}/stop`, {
      method: "POST",
      headers: headersOf("olga")
    })
    assert.strictEqual(stopped.status, 204)
    assert.strictEqual((await troupe.run(asked.id)).status, "cancelled")
    const again = await fetch(`${api()}/${chat.id}/stop`, {
      method: "POST",
      headers: headersOf("olga")
    })
    assert.strictEqual(again.status, 204)
  })

  it("begins one run for a message that is posted twice, and shows it from its start", async () => {
    const message = { id: "m-1", role: "user", parts: [{ type: "text", text: "look 1011" }] }
    const body = JSON.stringify({
      id: "chat-twice",
      messages: [message],
      trigger: "submit-message"
    })
    const post = async () => {
      const headers = { ...headersOf("ada"), "content-type": "application/json" }
      return (await fetch(api(), { method: "POST", headers, body })).text()
    }
    const [first, second] = [await post(), await post()]
    const runs = [first, second].map((text) => /"messageId":"([^"]+)"/.exec(text)?.[1])
    assert.strictEqual(runs[0], runs[1])
    assert.include(second, '"Done with look 1011."')
    assert.isTrue(second.endsWith("data: [DONE]\n\n"))
  })

  it("makes an answer anew, and says a message otherwise, each in place of the run before", async () => {
    const chat = chatOf("ada")
    const first = await said(chat, "hello")
    await chat.regenerate()
    const second = await idle(chat)
    assert.notStrictEqual(second.id, first.id)
    assert.strictEqual(textOf(second), "You said: hello")
    const [message] = chat.messages
    await chat.sendMessage({ text: "good-bye", messageId: message!.id })
    const third = await idle(chat)
    assert.strictEqual(textOf(third), "You said: good-bye")
    assert.lengthOf(chat.messages, 2)
    const all = await messagesOf("ada", chat.id)
    assert.deepStrictEqual(all.map(textOf), ["good-bye", "You said: good-bye"])
    // A client that has its messages from here edits them too.
    const hydrated = chatOf("ada", chat.id, undefined, all)
    await hydrated.sendMessage({ text: "wait", messageId: all[0]!.id })
    assert.strictEqual(textOf(await idle(hydrated)), "You said: wait")
    assert.deepStrictEqual((await messagesOf("ada", chat.id)).map(textOf), [
      "wait",
      "You said: wait"
    ])
  })

  it("goes on where it was, with the messages that the service has", async () => {
    ran.length = 0
    const chat = chatOf("olga")
    await said(chat, "look 1012")
    const asked = await said(chat, "refund 1012")
    const all = await messagesOf("olga", chat.id)
    assert.deepStrictEqual(all.at(-1), JSON.parse(JSON.stringify(asked)))
    assert.deepStrictEqual(
      all.map(({ role }) => role),
      ["user", "assistant", "user", "assistant"]
    )
    // A page that was loaded again.
    const back = chatOf("olga", chat.id, undefined, all)
    await back.resumeStream()
    assert.deepStrictEqual(last(back), all.at(-1))
    assert.strictEqual(textOf(await answer(back, true)), "One moment. Done with refund 1012.")
    assert.deepStrictEqual(ran, ["refund 1012"])
  })

  it("takes files, and gives those of answers", async () => {
    const chat = chatOf("carl")
    const url = `data:image/png;base64,${picture.data}`
    await chat.sendMessage({
      text: "draw 1013",
      files: [{ type: "file", mediaType: "image/png", url, filename: "mine.png" }]
    })
    const message = await idle(chat)
    const file = message.parts.find((part) => part.type === "file")
    assert.strictEqual(file?.mediaType, "image/png")
    const got = await fetch(`${troupe.url}${file?.url}`, { headers: headersOf("carl") })
    assert.strictEqual(Buffer.from(await got.arrayBuffer()).toString("base64"), picture.data)
    assert.include(prompts.at(-1), "mine.png")
  })
})
