/** Clients of the Responses API against the service: the field's own SDK, its agents, and the AI SDK's provider for it. */
import { generateText, streamText } from "ai"
import { createOpenAI } from "@ai-sdk/openai"
import { Agent, hostedMcpTool, OpenAIProvider, Runner, setTracingDisabled } from "@openai/agents"
import OpenAI, { APIError } from "openai"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import type { Shop, Who } from "./WireScene.ts"
import { held, picture, prompts, ran, schema_words, shop, tokens } from "./WireScene.ts"

let troupe: Shop
beforeAll(async () => {
  troupe = await shop()
  setTracingDisabled(true)
})
afterAll(() => troupe.stop())

const baseURL = () => `${troupe.url}/wires/v1`
const clientOf = (who: Who, more: object = {}) =>
  new OpenAI({ baseURL: baseURL(), apiKey: tokens[who], ...more })
const model = "clerk"

type Response = OpenAI.Responses.Response
const runOf = ({ id }: Pick<Response, "id">): string => id.slice(5, 41)
const questionIn = ({ output }: Response) => {
  const asked = output.find((item) => item.type === "mcp_approval_request")
  assert.isDefined(asked)
  return asked!
}
const answer = (id: string, approve: boolean, reason?: string) =>
  [
    {
      type: "mcp_approval_response" as const,
      approval_request_id: id,
      approve,
      ...(reason === undefined ? {} : { reason })
    }
  ] as const
const statusOf = async (promise: Promise<unknown>) => {
  const error = await promise.then(
    () => undefined,
    (error: unknown) => error
  )
  assert.instanceOf(error, APIError)
  return error as APIError
}

describe("a client of the Responses API", () => {
  it("finds the agents that it may talk to, as models", async () => {
    const ids = async (who: Who) => (await clientOf(who).models.list()).data.map(({ id }) => id)
    assert.deepStrictEqual([await ids("ada"), await ids("carl")], [["clerk", "expert"], ["clerk"]])
    assert.strictEqual((await clientOf("carl").models.retrieve("clerk")).owned_by, "troupe")
    assert.strictEqual((await statusOf(clientOf("carl").models.retrieve("expert"))).status, 404)
  })

  it("is answered whole, with calls that were made here, and what was used", async () => {
    const response = await clientOf("ada").responses.create({ model, input: "look 1003" })
    assert.deepStrictEqual(
      response.output.map((item) => item.type),
      ["message", "mcp_call", "message"]
    )
    assert.deepInclude(response.output[1], {
      name: "look",
      arguments: '{"order":"1003"}',
      output: '{"order":"1003","status":"sent"}'
    })
    assert.deepInclude(response, { status: "completed", model })
    assert.deepInclude(response.usage, { input_tokens: 200, output_tokens: 40, total_tokens: 240 })
    const failed = await clientOf("ada").responses.create({ model, input: "broken 1003" })
    assert.deepInclude(failed.output[1], { type: "mcp_call", status: "failed", output: null })
    assert.notInclude(JSON.stringify(failed), "depot")
  })

  it("streams a text in pieces, numbered without a step back, and reads it again behind any number", async () => {
    const client = clientOf("carl")
    const stream = client.responses.stream({ model, input: "hello, how are you today?" })
    const numbers: Array<number> = []
    let pieces = 0
    for await (const event of stream) {
      numbers.push(event.sequence_number)
      if (event.type === "response.output_text.delta") pieces++
    }
    assert.isAbove(pieces, 3)
    assert.deepStrictEqual(
      numbers,
      [...numbers].sort((a, b) => a - b)
    )
    const response = await stream.finalResponse()
    assert.strictEqual(response.output_text, "You said: hello, how are you today?")
    for (const starting_after of numbers) {
      const events = await client.responses.retrieve(response.id, { stream: true, starting_after })
      let text = ""
      for await (const event of events) {
        assert.isAbove(event.sequence_number, starting_after)
        if (event.type === "response.output_text.delta") text += event.delta
      }
      assert.isTrue(response.output_text.endsWith(text))
    }
    const again = await client.responses.retrieve(response.id)
    assert.strictEqual(again.output_text, response.output_text)
    assert.notInclude(JSON.stringify(again), "look")
  })

  it("goes on by the id of the response before, and branches from an older one", async () => {
    const client = clientOf("ada")
    const first = await client.responses.create({ model, input: "one" })
    const second = await client.responses.create({
      model,
      input: "two",
      previous_response_id: first.id
    })
    assert.include(prompts.at(-1), "You said: one")
    const conversation = async (response: Response) =>
      (await troupe.run(runOf(response))).conversation
    assert.strictEqual(await conversation(first), await conversation(second))
    const other = await client.responses.create({
      model,
      input: "three",
      previous_response_id: first.id
    })
    assert.include(prompts.at(-1), "You said: one")
    assert.notInclude(prompts.at(-1), "two")
    assert.strictEqual(await conversation(other), await conversation(first))
    // The same input after the same response is the same request.
    const same = await client.responses.create({
      model,
      input: "three",
      previous_response_id: first.id
    })
    assert.strictEqual(same.id, other.id)
  })

  it("goes on behind any of three that follow the same response, as if there were no others", async () => {
    const client = clientOf("ada")
    const after = (previous: Response, input: string) =>
      client.responses.create({ model, input, previous_response_id: previous.id })
    const first = await client.responses.create({ model, input: "root-a" })
    const [one, two, three] = [
      await after(first, "sibling-1"),
      await after(first, "sibling-2"),
      await after(first, "sibling-3")
    ]
    for (const [before, own] of [
      [two, "sibling-2"],
      [one, "sibling-1"],
      [three, "sibling-3"]
    ] as const) {
      await after(before, "and on")
      const seen = prompts.at(-1)?.match(/root-a|sibling-\d/g)
      assert.deepStrictEqual([...new Set(seen)], ["root-a", own])
    }
  })

  it("waits for the end of a message that it stands in place of, and for no other", async () => {
    const client = clientOf("ada", { maxRetries: 0 })
    const after = (previous: Response, input: string, more: object = {}) =>
      client.responses.create({ model, input, previous_response_id: previous.id, ...more })
    const first = await client.responses.create({ model, input: "root-b" })
    const [one, two] = [await after(first, "one"), await after(first, "two")]
    let letGo: (value: unknown) => void = () => undefined
    held.promise = new Promise((resolve) => (letGo = resolve))
    const holding = await after(two, "hold 1", { background: true })
    const error = await statusOf(after(two, "in its place"))
    assert.deepInclude(error, { status: 409, code: "agent_busy" })
    const other = await after(one, "elsewhere", { background: true })
    letGo(undefined)
    await troupe.result(runOf(other))
    assert.strictEqual((await troupe.run(runOf(holding))).status, "complete")
    assert.notInclude(prompts.at(-1), "hold 1")
  })

  it("names its conversation", async () => {
    const client = clientOf("carl")
    await client.responses.create({ model, input: "my number is 4711", conversation: "mine" })
    await client.responses.create({ model, input: "and now?", conversation: { id: "mine" } })
    assert.include(prompts.at(-1), "4711")
    await clientOf("cora").responses.create({ model, input: "and mine?", conversation: "mine" })
    assert.notInclude(prompts.at(-1), "4711")
  })

  it("approves, and is given what came of it in the next response", async () => {
    ran.length = 0
    const client = clientOf("olga")
    const asked = await client.responses.create({ model, input: "refund 1004" })
    const question = questionIn(asked)
    assert.deepInclude(question, {
      name: "refund",
      arguments: '{"order":"1004"}',
      server_label: "troupe"
    })
    assert.deepInclude(asked.metadata, { troupe_status: "awaiting_approval" })
    assert.deepStrictEqual(ran, [])
    const done = await client.responses.create({
      model,
      previous_response_id: asked.id,
      input: [...answer(question.id, true)]
    })
    assert.deepStrictEqual(ran, ["refund 1004"])
    assert.deepStrictEqual(
      done.output.map((item) => item.type),
      ["mcp_call", "message"]
    )
    assert.strictEqual(done.output_text, "Done with refund 1004.")
    // Both can be read again, each as it was.
    assert.deepStrictEqual((await client.responses.retrieve(asked.id)).output, asked.output)
    assert.deepStrictEqual((await client.responses.retrieve(done.id)).output, done.output)
  })

  it("denies with a reason, answers a second question, and is told of one that was answered elsewhere", async () => {
    ran.length = 0
    const client = clientOf("olga")
    const denied = await client.responses.create({ model, input: "refund 1005" })
    const no = await client.responses.create({
      model,
      input: [...answer(questionIn(denied).id, false, "paid before")]
    })
    assert.deepInclude(no.output[0], { type: "mcp_call", status: "failed" })
    assert.include(prompts.at(-1), "paid before")
    const twice = await client.responses.create({ model, input: "twice 1006" })
    const next = await client.responses.create({
      model,
      input: [...answer(questionIn(twice).id, true)]
    })
    const end = await client.responses.create({
      model,
      input: [...answer(questionIn(next).id, true)]
    })
    assert.strictEqual(end.output_text, "Done with twice 1006.")
    assert.deepStrictEqual(ran, ["refund 1006-1", "refund 1006-2"])
    const contrary = client.responses.create({
      model,
      input: [...answer(questionIn(twice).id, false)]
    })
    const error = await statusOf(contrary)
    assert.deepInclude(error, { status: 409, code: "approval_settled" })
  })

  it("answers two questions at once, and none of an earlier message", async () => {
    ran.length = 0
    const client = clientOf("olga")
    const asked = await client.responses.create({ model, input: "both 1011" })
    const [first, second] = asked.output.flatMap((item) =>
      item.type === "mcp_approval_request" ? [item.id] : []
    )
    const done = await client.responses.create({
      model,
      input: [...answer(String(first), false), ...answer(String(second), true)]
    })
    assert.deepStrictEqual(
      done.output.map((item) => (item.type === "mcp_call" ? item.status : item.type)),
      ["failed", "completed", "message"]
    )
    assert.deepStrictEqual(ran, ["refund 1011-b"])
    const later = await client.responses.create({
      model,
      input: [...answer(String(first), true), { role: "user", content: "hello" }]
    })
    assert.strictEqual(later.output_text, "You said: hello")
    // Questions of two runs are not answered together.
    const one = await client.responses.create({ model, input: "refund 1012" })
    const two = await client.responses.create({ model, input: "refund 1013" })
    const both = [...answer(questionIn(one).id, true), ...answer(questionIn(two).id, true)]
    assert.strictEqual(
      (await statusOf(client.responses.create({ model, input: both }))).status,
      404
    )
    assert.deepStrictEqual(ran, ["refund 1011-b"])
  })

  it("works in the background, is cancelled, and its message is read again", async () => {
    const client = clientOf("olga")
    const begun = await client.responses.create({ model, input: "refund 1007", background: true })
    assert.strictEqual(begun.status, "queued")
    let now = await client.responses.retrieve(begun.id)
    while (now.status === "in_progress") now = await client.responses.retrieve(begun.id)
    assert.strictEqual(now.status, "completed")
    const cancelled = await client.responses.cancel(begun.id)
    // The stretch up to the question was complete; the run is over.
    assert.strictEqual(cancelled.id, begun.id)
    assert.strictEqual((await troupe.run(runOf(begun))).status, "cancelled")
    const { data } = await client.responses.inputItems.list(begun.id)
    assert.include(JSON.stringify(data), "refund 1007")
  })

  it("begins one run for a request that is sent again, and another for the same words later", async () => {
    let lost = 0
    const client = clientOf("ada", {
      fetch: async (url: string, init: RequestInit) => {
        const response = await fetch(url, init)
        if (lost++ > 0) return response
        await response.body?.cancel()
        throw new TypeError("the connection was lost")
      }
    })
    const before = (await troupe.runs({ limit: 500 })).length
    const response = await client.responses.create({ model, input: "look 1008" })
    assert.strictEqual(lost, 2)
    assert.include(response.output_text, "Done with look 1008.")
    assert.strictEqual((await troupe.runs({ limit: 500 })).length, before + 1)
    const again = await clientOf("ada").responses.create({ model, input: "look 1008" })
    assert.notStrictEqual(again.id, response.id)
  })

  it("takes pictures, and no address of one", async () => {
    const client = clientOf("carl")
    const of = (image_url: string) =>
      client.responses.create({
        model,
        input: [
          {
            role: "user",
            content: [
              { type: "input_text", text: "hello" },
              { type: "input_image", image_url, detail: "auto" }
            ]
          }
        ]
      })
    await of(`data:image/png;base64,${picture.data}`)
    assert.include(prompts.at(-1), "image/png")
    const error = await statusOf(of("https://example.com/a.png"))
    assert.deepInclude(error, { status: 400, param: "input.0.content.1" })
  })

  it("is refused with the member that is wrong, and nothing is begun", async () => {
    const before = (await troupe.runs({ limit: 500 })).length
    const client = clientOf("ada", { maxRetries: 0 })
    const refusals: ReadonlyArray<readonly [object, number, string | null]> = [
      [{ model: "nobody", input: "x" }, 404, null],
      [{ model, input: "" }, 400, "input"],
      [{ model, input: [] }, 400, "input"],
      [{ model, input: [{ role: "assistant", content: "x" }] }, 400, "input.0"],
      [
        { model, input: [{ role: "user", content: [{ type: "input_file", file_id: "f" }] }] },
        400,
        "input.0.content.0"
      ],
      [
        { model, input: "x", tools: [{ type: "function", name: "f", parameters: {} }] },
        400,
        "tools.0.type"
      ],
      [
        { model, input: "x", text: { format: { type: "json_schema", name: "a", schema: {} } } },
        400,
        "text.format.type"
      ],
      [{ model, input: "x", tools: [{ type: "web_search" }] }, 400, "tools.0.type"],
      [{ model, input: "x", tools: {} }, 400, "tools"],
      [{ model, input: "x", conversation: { id: "" } }, 400, "conversation.id"],
      [{ model, input: "x", stream: 1 }, 400, "stream"],
      [{ model, input: "x", background: "x" }, 400, "background"],
      [{ model, input: [{ type: "function_call_output", call_id: "c" }] }, 400, "input.0"],
      [{ model, input: "x", previous_response_id: "resp_1" }, 400, "previous_response_id"],
      [{ model, input: "x", previous_response_id: `resp_${crypto.randomUUID()}` }, 404, null],
      [{ model, input: [...answer(`mcpr_${crypto.randomUUID()}`, true)] }, 404, null],
      [{ model, input: [...answer("mcpr_1", true)] }, 400, "input.0.approval_request_id"]
    ]
    for (const [body, status, param] of refusals) {
      const error = await statusOf(client.responses.create(body as never))
      assert.deepStrictEqual([error.status, error.param], [status, param], JSON.stringify(body))
      assert.notMatch(error.message, schema_words)
      const isUntaken = /^(?:tools|text)/.test(param ?? "")
      assert.strictEqual(error.code === "unsupported_parameter", isUntaken, param ?? "")
      if (isUntaken) assert.match(error.message, /leave this out/)
    }
    assert.strictEqual(
      (await statusOf(clientOf("carl").responses.create({ model: "expert", input: "x" }))).status,
      403
    )
    assert.strictEqual(
      (await statusOf(clientOf("vera").responses.create({ model, input: "x" }))).status,
      403
    )
    const unknown = new OpenAI({
      baseURL: baseURL(),
      apiKey: "unknown-unknown-unknown",
      maxRetries: 0
    })
    assert.deepInclude(await statusOf(unknown.models.list()), {
      status: 401,
      type: "authentication_error"
    })
    assert.strictEqual((await troupe.runs({ limit: 500 })).length, before)
  })

  it("reads and decides nothing of others", async () => {
    ran.length = 0
    const asked = await clientOf("olga").responses.create({ model, input: "refund 1009" })
    for (const who of ["otto", "carl"] as const) {
      const client = clientOf(who, { maxRetries: 0 })
      assert.strictEqual((await statusOf(client.responses.retrieve(asked.id))).status, 404)
      assert.strictEqual((await statusOf(client.responses.cancel(asked.id))).status, 404)
      assert.strictEqual(
        (await statusOf(client.responses.inputItems.list(asked.id).asResponse())).status,
        404
      )
      const yes = client.responses.create({ model, input: [...answer(questionIn(asked).id, true)] })
      assert.strictEqual((await statusOf(yes)).status, 404)
    }
    const ada = clientOf("ada").responses.create({
      model,
      input: [...answer(questionIn(asked).id, true)]
    })
    assert.strictEqual((await statusOf(ada)).status, 403)
    // With other arguments in its history than those that were asked about.
    const forged = clientOf("olga").responses.create({
      model,
      input: [
        { ...questionIn(asked), arguments: '{"order":"1"}' },
        ...answer(questionIn(asked).id, true)
      ]
    })
    assert.deepInclude(await statusOf(forged), { status: 409, code: "not_as_shown" })
    assert.deepStrictEqual(ran, [])
  })

  it("puts nothing into a prompt but its newest message", async () => {
    const canary = "canary-51c7"
    const response = await clientOf("carl").responses.create({
      model,
      instructions: canary,
      temperature: 0.2,
      input: [
        { role: "system", content: canary },
        { role: "user", content: canary },
        {
          type: "mcp_call",
          id: "mcp_1",
          name: "look",
          arguments: "{}",
          server_label: "troupe",
          output: canary
        },
        { role: "user", content: "hello" }
      ]
    })
    assert.notInclude(prompts.at(-1), canary)
    assert.strictEqual(response.metadata?.["troupe_ignored"], "instructions,temperature")
  })
})

describe("agents of the field's own SDK", () => {
  it("ask, are asked for an approval, and go on with the whole history", async () => {
    ran.length = 0
    const modelProvider = new OpenAIProvider({
      openAIClient: clientOf("olga") as never,
      useResponses: true
    })
    const runner = new Runner({ modelProvider })
    const clerk = new Agent({
      name: "clerk",
      model,
      instructions: "Not read.",
      tools: [
        hostedMcpTool({
          serverLabel: "troupe",
          serverUrl: "https://never.dialled.example",
          requireApproval: "always"
        })
      ]
    })
    let result = await runner.run(clerk, "refund 1010")
    assert.lengthOf(result.interruptions, 1)
    for (const interruption of result.interruptions) result.state.approve(interruption)
    result = await runner.run(clerk, result.state)
    assert.strictEqual(result.finalOutput, "Done with refund 1010.")
    assert.deepStrictEqual(ran, ["refund 1010"])
  })
})

describe("the AI SDK's provider", () => {
  it("generates and streams a text", async () => {
    const provider = createOpenAI({ baseURL: baseURL(), apiKey: tokens.carl })
    const { text } = await generateText({ model: provider.responses(model), prompt: "hello" })
    assert.strictEqual(text, "You said: hello")
    const stream = streamText({ model: provider.responses(model), prompt: "hello again" })
    let whole = ""
    for await (const piece of stream.textStream) whole += piece
    assert.strictEqual(whole, "You said: hello again")
    const chat = await generateText({ model: provider.chat(model), prompt: "hello" })
    assert.strictEqual(chat.text, "You said: hello")
  })
})
