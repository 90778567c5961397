/** Clients of Chat Completions against the service: texts, names of conversations, and questions that nobody answers by a text. */
import OpenAI, { APIError } from "openai"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Shop, Who } from "./WireScene.ts"
import { prompts, ran, schema_words, shop, tokens } from "./WireScene.ts"

let troupe: Shop
beforeAll(async () => {
  troupe = await shop()
})
afterAll(() => troupe.stop())

const model = "clerk"
const untaken = "unsupported_parameter"
const clientOf = (who: Who) =>
  new OpenAI({ baseURL: `${troupe.url}/wires/v1`, apiKey: tokens[who], maxRetries: 0 })
const user = (content: string) => ({ role: "user", content }) as const

describe("a client of Chat Completions", () => {
  it("is answered whole, and in pieces with what was used", async () => {
    const client = clientOf("ada")
    const whole = await client.chat.completions.create({ model, messages: [user("look 1003")] })
    const [choice] = whole.choices
    assert.deepInclude(choice, { finish_reason: "stop" })
    assert.strictEqual(choice?.message.content, "One moment.\n\nDone with look 1003.")
    assert.deepInclude(whole.usage, { prompt_tokens: 200, completion_tokens: 40 })
    const stream = await client.chat.completions.create({
      model,
      messages: [user("look 1004")],
      stream: true,
      stream_options: { include_usage: true }
    })
    const contents: Array<string> = []
    let total: number | undefined
    for await (const { choices, usage } of stream) {
      contents.push(choices[0]?.delta.content ?? "")
      total = usage?.total_tokens ?? total
    }
    assert.strictEqual(contents.join(""), "One moment.\n\nDone with look 1004.")
    assert.isAbove(contents.length, 3)
    assert.strictEqual(total, 240)
  })

  it("names its conversation; without a name each request begins one, and the answer says so", async () => {
    const client = clientOf("carl")
    const ask = (text: string, more: object) =>
      client.chat.completions
        .create({ model, messages: [user("canary-77"), user(text)], ...more })
        .withResponse()
    const first = await ask("my number is 4711", { metadata: { conversation: "mine" } })
    assert.isNull(first.response.headers.get("x-troupe-began"))
    assert.notInclude(prompts.at(-1), "canary-77")
    const second = await client.chat.completions.create(
      { model, messages: [user("and now?")] },
      { headers: { "x-conversation": "mine" } }
    )
    assert.include(prompts.at(-1), "4711")
    assert.strictEqual(second.choices[0]?.message.content, "You said: and now?")
    const other = await ask("hello", { temperature: 1 })
    assert.notInclude(prompts.at(-1), "4711")
    assert.strictEqual(other.response.headers.get("x-troupe-began"), "true")
    assert.strictEqual(other.response.headers.get("x-troupe-ignored"), "temperature")
    await clientOf("cora").chat.completions.create({
      model,
      messages: [user("and mine?")],
      metadata: { conversation: "mine" }
    })
    assert.notInclude(prompts.at(-1), "4711")
  })

  it("is told what waits for a person, and where it is decided; a text decides nothing", async () => {
    ran.length = 0
    const client = clientOf("olga")
    const named = { metadata: { conversation: "asks" } }
    const asked = await client.chat.completions.create({
      model,
      messages: [user("refund 1005")],
      ...named
    })
    const [choice] = asked.choices
    const content = String(choice?.message.content)
    const approval = /\/v1\/approvals\/(\S+)\.$/.exec(content)?.[1]
    assert.include(content, 'refund (order: "1005")')
    assert.strictEqual(choice?.finish_reason, "stop")
    assert.isUndefined(choice?.message.tool_calls)
    const yes = await client.chat.completions.create({
      model,
      messages: [user("yes, I approve")],
      ...named
    })
    assert.include(yes.choices[0]?.message.content, "waits")
    assert.deepStrictEqual(ran, [])
    const olga = { id: "olga", tenant: "default", roles: ["approver"] } as const
    await troupe.decide(String(approval), { decision: "approve" }, olga)
    await troupe.result(asked.id.slice("chatcmpl-".length))
    assert.deepStrictEqual(ran, ["refund 1005"])
  })

  it("is refused with the member that is wrong, and nothing is begun", async () => {
    const before = (await troupe.runs({ limit: 500 })).length
    const image = { type: "image_url", image_url: { url: "https://example.com/a.png" } }
    const refusals: ReadonlyArray<readonly [object, string | null, string, code?: string]> = [
      [{ model: "nobody" }, null, 'no agent "nobody". There is: clerk, expert.', "model_not_found"],
      [{ model: "No body" }, null, "GET models lists them", "model_not_found"],
      [{ model: "" }, "model", "the name of an agent"],
      [{ model: undefined }, "model", "the name of an agent"],
      [{ messages: [] }, "messages", '{ role: "user", content: "..." }'],
      [{ messages: undefined }, "messages", '{ role: "user", content: "..." }'],
      [{ messages: "x" }, "messages", '{ role: "user", content: "..." }'],
      [{ messages: [user("x"), { role: "assistant", content: "x" }] }, "messages.1", "a person's"],
      [{ messages: [{ role: "tool", content: "x" }] }, "messages.0", "run in the service"],
      [{ messages: [user(" ")] }, "messages.0.content", "It says nothing"],
      [{ messages: [{ role: "user" }] }, "messages.0.content", "a text or 1 to 32 parts"],
      [{ messages: [{ role: "user", content: [image] }] }, "messages.0.content.0", "a data URL"],
      [{ stream: "yes" }, "stream", "true or false"],
      [{ stream_options: 1 }, "stream_options", "include_usage"],
      [{ stream_options: { include_usage: 1 } }, "stream_options.include_usage", "include_usage"],
      [{ metadata: "x" }, "metadata", "`conversation`"],
      [{ metadata: { conversation: "" } }, "metadata.conversation", "1 to 200 characters"],
      [{ n: 2 }, "n", "leave this out", untaken],
      [{ tools: [{ type: "function", function: { name: "f" } }] }, "tools", "start", untaken],
      [{ tools: "x" }, "tools", "`start({ tools })`", untaken],
      [{ functions: [{ name: "f" }] }, "functions", "`start({ tools })`", untaken],
      [{ response_format: { type: "json_object" } }, "response_format", "answer_schema", untaken],
      [{ response_format: { type: "json_schema" } }, "response_format", "answer_schema", untaken]
    ]
    for (const [more, param, words, code = "invalid_request"] of refusals) {
      const error = await clientOf("ada")
        .chat.completions.create({ model, messages: [user("x")], ...more } as never)
        .then(
          () => undefined,
          (error: unknown) => error
        )
      assert.instanceOf(error, APIError)
      const { code: got, message, param: wrong, type } = error as APIError
      assert.deepStrictEqual([wrong, got], [param, code], JSON.stringify(more))
      assert.include(message, words)
      assert.notMatch(message, schema_words)
      assert.strictEqual(
        type,
        code === "model_not_found" ? "not_found_error" : "invalid_request_error"
      )
    }
    assert.strictEqual((await troupe.runs({ limit: 500 })).length, before)
  })
})
