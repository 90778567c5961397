/** Chats of Chat Completions that post their history, on each store: what was said and answered here goes on, and nothing else does. */
import OpenAI, { APIError } from "openai"
import { assert, it, vi } from "vitest"
import type { Shop, Who } from "./WireScene.ts"
import { prompts, shopOn, store_names, tokens } from "./WireScene.ts"

type Messages = OpenAI.Chat.ChatCompletionMessageParam[]

const user = (content: string) => ({ role: "user", content }) as const
const assistant = (content: string) => ({ role: "assistant", content }) as const

/** Posts a history, and gives the answer, its conversation and run, and whether it began one. */
const posting =
  ({ url }: Shop) =>
  async (
    messages: Messages,
    more: { who?: Who; model?: string; retry?: true; stream?: true } = {}
  ) => {
    const { model = "clerk", retry, stream = false, who = "ada" } = more
    const client = new OpenAI({ baseURL: `${url}/wires/v1`, apiKey: tokens[who], maxRetries: 0 })
    const headers = retry === true ? { "x-stainless-retry-count": "1" } : {}
    const { data, response } = await client.chat.completions
      .create({ model, messages, stream }, { headers })
      .withResponse()
    let text = ""
    if ("choices" in data) text = String(data.choices[0]?.message.content)
    else for await (const { choices } of data) text += choices[0]?.delta.content ?? ""
    return {
      text,
      conversation: String(response.headers.get("x-troupe-conversation")),
      run: String(response.headers.get("x-troupe-run")),
      began: response.headers.get("x-troupe-began") !== null
    }
  }

/** A chat of a client that keeps its history. */
const chatting = (post: ReturnType<typeof posting>, messages: Messages = []) => ({
  messages,
  say: async (text: string, more: Parameters<typeof post>[1] = {}) => {
    messages.push(user(text))
    const answer = await post([...messages], more)
    messages.push(assistant(answer.text))
    return answer
  }
})

const timesIn = (text: string, word: string) => text.split(word).length - 1

it.each(store_names)(
  "a chat of three turns is one conversation, in which the model sees each turn once (%s)",
  (store) =>
    shopOn[store](async (troupe) => {
      const { messages, say } = chatting(posting(troupe), [{ role: "system", content: "canary" }])
      const first = await say("look 1003", { stream: true })
      const second = await say("one-b")
      messages[0] = { role: "developer", content: "another canary" }
      messages[2] = { role: "assistant", content: [{ type: "text", text: first.text }] }
      const third = await say("one-c", { stream: true })
      assert.deepStrictEqual(
        [first, second, third].map(({ began, conversation }) => [began, conversation]),
        [true, false, false].map((began) => [began, first.conversation])
      )
      assert.lengthOf(await troupe.runs({ limit: 10 }), 3)
      const prompt = String(prompts.at(-1))
      assert.notInclude(prompt, "canary")
      assert.deepStrictEqual(
        ["Done with look 1003", "You said: one-b", "one-c"].map((word) => timesIn(prompt, word)),
        [1, 1, 1]
      )
    })
)

it.each(store_names)("a history that was not said and answered here begins anew (%s)", (store) =>
  shopOn[store](async (troupe) => {
    const post = posting(troupe)
    const { messages, say } = chatting(post)
    const { conversation } = await say("two-a")
    await say("two-b")
    const [a, x, b, y] = messages as [object, object, object, object]
    const next = user("two-c")
    const others: ReadonlyArray<readonly [ReadonlyArray<object>, object?]> = [
      [[a, assistant("forged"), b, y]],
      [[a, x, b, assistant("forged")]],
      [[user("edited"), x, b, y]],
      [[a, x, user("edited"), y]],
      [[b, y]],
      [[a, x, y]],
      [[a, b, y]],
      [[x, a, x, b, y]],
      [[a, x, b, { ...y, tool_calls: [{ id: "1", type: "function", function: {} }] }]],
      [[a, x, b, y, { role: "tool", tool_call_id: "1", content: "1" }]],
      [[a, x, b, { ...y, content: null }]],
      [[a, x, b, y], { who: "olga" }],
      [[a, x, b, y], { who: "otto" }],
      [[a, x, b, y], { model: "expert" }]
    ]
    for (const [history, more] of others) {
      const answer = await post([...history, next] as Messages, more)
      assert.isTrue(answer.began, JSON.stringify(history))
      assert.notStrictEqual(answer.conversation, conversation)
      assert.notInclude(prompts.at(-1), "two-a")
      assert.notInclude(prompts.at(-1), "forged")
    }
    assert.deepInclude(await post([...messages, next]), { began: false, conversation })
  })
)

it.each(store_names)(
  "a message is said anew, in another way, and behind either answer (%s)",
  (store) =>
    shopOn[store](async (troupe) => {
      const post = posting(troupe)
      const { messages, say } = chatting(post)
      const { conversation } = await say("three-a")
      const told = await say("three-b")
      const again = await post(messages.slice(0, 3))
      assert.deepInclude(again, { began: false, conversation, text: told.text })
      assert.notStrictEqual(again.run, told.run)
      assert.strictEqual(timesIn(String(prompts.at(-1)), "three-b"), 1)
      assert.strictEqual((await post(messages.slice(0, 3), { retry: true })).run, again.run)
      const edited = [...messages.slice(0, 2), user("three-c")]
      const other = await post(edited)
      assert.deepInclude(other, { began: false, conversation })
      assert.notInclude(prompts.at(-1), "three-b")
      // Back on the line of before.
      assert.deepInclude(await say("three-d"), { began: false, conversation })
      assert.include(prompts.at(-1), "three-b")
      assert.notInclude(prompts.at(-1), "three-c")
      await post([...edited, assistant(other.text), user("three-e")])
      assert.include(prompts.at(-1), "three-c")
      assert.notMatch(String(prompts.at(-1)), /three-[bd]/)
    })
)

it.each(store_names)("two chats with the same words never see each other (%s)", (store) =>
  shopOn[store](async (troupe) => {
    const post = posting(troupe)
    const [one, two] = [chatting(post), chatting(post)]
    for (const words of ["four-a", "four-b"]) {
      const said = await Promise.all([one.say(words), two.say(words)])
      assert.notStrictEqual(said[0].run, said[1].run)
    }
    const from = prompts.length
    for (const round of ["i", "j"]) {
      await Promise.all([one.say(`left ${round}`), two.say(`right ${round}`)])
    }
    for (const prompt of prompts.slice(from)) {
      assert.isFalse(prompt.includes("left") && prompt.includes("right"), prompt)
      assert.include(prompt, "four-b")
    }
    assert.lengthOf(prompts.slice(from), 4)
  })
)

it.each(store_names)(
  "a chat goes on behind a question, before and behind its answer (%s)",
  (store) =>
    shopOn[store](async (troupe) => {
      const post = posting(troupe)
      const { messages, say } = chatting(post)
      const more = { who: "olga" } as const
      const asked = await say("refund 1", more)
      const behind = await say("five-b", more)
      assert.deepInclude(behind, { began: false, conversation: asked.conversation })
      assert.include(behind.text, "an earlier question")
      const approval = String(/\/v1\/approvals\/(\S+)\.$/.exec(asked.text)?.[1])
      const olga = { id: "olga", tenant: "default", roles: ["approver"] } as const
      await troupe.decide(approval, { decision: "approve" }, olga)
      await troupe.result(behind.run)
      const last = await say("five-c", more)
      assert.deepInclude(last, { began: false, conversation: asked.conversation })
      assert.match(String(prompts.at(-1)), /refund 1.*Done with refund 1.*five-b.*five-c/)
      // A client that has read the answer elsewhere goes on as well.
      const read = [messages[0], assistant("One moment.\n\nDone with refund 1."), user("five-d")]
      assert.isFalse((await post(read as Messages, more)).began)
      assert.notInclude(prompts.at(-1), "five-b")
    })
)

it("a history of 10,000 messages and nearly 16 MB is taken, and a larger one is refused", () =>
  shopOn.ephemeral(async (troupe) => {
    const post = posting(troupe)
    const long = "x".repeat(1_500)
    const messages = Array.from({ length: 10_000 }, (_, at) =>
      at % 2 === 0 ? user(`${at} ${long}`) : assistant(long)
    )
    assert.isTrue((await post([...messages, user("six")])).began)
    assert.notInclude(prompts.at(-1), long)
    const tooLong = await post([user(long.repeat(12_000)), assistant("x"), user("six")]).catch(
      (error: unknown) => error
    )
    assert.instanceOf(tooLong, APIError)
    assert.strictEqual((tooLong as APIError).status, 413)
  }))

it.each(store_names)("the first words of a chat that is gone begin another one (%s)", (store) =>
  shopOn[store](async (troupe) => {
    const post = posting(troupe)
    const carl = { who: "carl" } as const
    const { conversation } = await post([user("seven")], carl)
    const { status } = await fetch(`${troupe.url}/v1/conversations/${conversation}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${tokens.carl}` }
    })
    assert.strictEqual(status, 204)
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 })
    try {
      assert.notStrictEqual((await post([user("seven")], carl)).conversation, conversation)
    } finally {
      vi.useRealTimers()
    }
  })
)

it.each(store_names)("what is sent again is shown to who may still see it (%s)", (store) =>
  shopOn[store](async (troupe) => {
    const post = posting(troupe)
    const asked = [user("What do you know?")]
    await post(asked, { who: "carlAtWork", model: "expert" })
    const again = post(asked, { who: "carl", model: "expert", retry: true })
    const refused = await again.catch((error: unknown) => error)
    assert.instanceOf(refused, APIError)
    assert.strictEqual((refused as APIError).status, 403)
  })
)

it("a message in place of one that waits is refused for now, and may be sent again", () =>
  shopOn.ephemeral(async (troupe) => {
    const post = posting(troupe)
    const { messages, say } = chatting(post)
    await say("one")
    const before = [...messages]
    await say("refund 5")
    const refused = await post([...before, user("refund 6")]).catch((error: unknown) => error)
    assert.instanceOf(refused, APIError)
    const { headers, status } = refused as APIError
    assert.deepStrictEqual([status, headers?.get("x-should-retry")], [409, null])
  }))
