/** Answers that a provider's client refuses, drops or misreads although their meaning is plain, over real HTTP. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { serve, status } from "./ChatServer.ts"
import { bedrock, vertex } from "./PackagedTurns.ts"
import { chunk, claudeBlock, claudeEnd, claudeStart, claudeWhole } from "./WireEvents.ts"
import { delta, end, plain, turnOf, turnsOf, whole } from "./WireEvents.ts"
import { askAt, bytesOf, pieces } from "./Wires.ts"
import { anthropic, compatible, google, responses } from "./WireTurns.ts"

describe("Gemini", () => {
  const said = (also: object, finishReason = "STOP") => ({
    candidates: [{ content: { role: "model", parts: [{ text: "Yes." }] }, finishReason, ...also }]
  })

  it.live("leaves out a count that is zero, which is one", () =>
    Effect.gen(function* () {
      const usageMetadata = {
        promptTokenCount: 3,
        candidatesTokenCount: 2,
        promptTokensDetails: [{ modality: "TEXT", tokenCount: 3 }, { modality: "AUDIO" }],
        candidatesTokensDetails: [{ modality: "TEXT" }]
      }
      const groundingMetadata = { retrievalMetadata: {} }
      const answer = { ...said({ groundingMetadata }), usageMetadata }
      for (const wire of [google, vertex]) {
        for (const turn of yield* turnsOf(wire, [answer], answer)) {
          assert.deepInclude(turn, { text: "Yes.", finish: "stop" })
          assert.deepInclude(turn.usage, { input_tokens: 3, output_tokens: 2 })
        }
      }
    })
  )

  it.live("filters by MODEL_ARMOR, of a prompt and of an answer", () =>
    Effect.gen(function* () {
      const blocked = { promptFeedback: { blockReason: "MODEL_ARMOR" } }
      for (const events of [[blocked], [said({}, "MODEL_ARMOR")]]) {
        for (const turn of yield* turnsOf(vertex, events, events[0])) {
          assert.deepInclude(turn, { finish: "content_filter", finish_raw: "MODEL_ARMOR" })
        }
      }
    })
  )

  it.live("cites some of the pages that it found", () =>
    Effect.gen(function* () {
      const pages = ["a", "b", "c"].map((name) => ({
        web: { uri: `https://${name}.org`, title: name }
      }))
      const groundingMetadata = {
        webSearchQueries: ["q"],
        groundingChunks: pages,
        groundingSupports: [{ segment: { text: "Yes." }, groundingChunkIndices: [1] }]
      }
      for (const turn of yield* turnsOf(google, [said({ groundingMetadata })])) {
        assert.deepStrictEqual(turn.sources, [{ url: "https://b.org", title: "b" }])
      }
    })
  )
})

describe("Responses", () => {
  it.live("that is only queued is no answer, and is not asked again", () =>
    Effect.gen(function* () {
      for (const queued of ["queued", "in_progress"]) {
        const answer = status(200, { ...responses.whole, status: queued, output: [] })
        for (const asking of [{}, plain]) {
          const server = yield* serve([answer])
          const policy = { attempts_max: 3 }
          const failure = yield* Effect.flip(askAt(responses, server, { ...asking, policy }))
          assert.strictEqual(failure.kind, "refused")
          assert.include(failure.message, queued)
          assert.lengthOf(server.asked, 1)
        }
      }
    }).pipe(Effect.scoped)
  )

  it.live("has the text of its reasoning in the content, as open models give it", () =>
    Effect.gen(function* () {
      const item = { type: "reasoning", id: "rs_1", summary: [] }
      const content = [{ type: "reasoning_text", text: "Let me see." }]
      const message = {
        id: "msg_1",
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "Yes.", annotations: [] }]
      }
      const response = { ...responses.whole, output: [{ ...item, content }, message] }
      const place = { item_id: "rs_1", output_index: 0, content_index: 0 }
      const events = [
        { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
        { type: "response.output_item.added", output_index: 0, item },
        { type: "response.reasoning_text.delta", ...place, delta: "Let me " },
        { type: "response.reasoning_text.delta", ...place, delta: "see." },
        { type: "response.reasoning_text.done", ...place, text: "Let me see." },
        { type: "response.output_item.done", output_index: 0, item: { ...item, content } },
        { type: "response.output_item.added", output_index: 1, item: { ...message, content: [] } },
        {
          type: "response.output_text.delta",
          item_id: "msg_1",
          output_index: 1,
          content_index: 0,
          delta: "Yes."
        },
        { type: "response.output_item.done", output_index: 1, item: message },
        { type: "response.completed", response }
      ].map((event, sequence_number) => ({ ...event, sequence_number }))
      for (const turn of yield* turnsOf(responses, events, response)) {
        assert.strictEqual(turn.text, "Yes.")
        assert.strictEqual(turn.reasoning?.map(({ text }) => text).join(""), "Let me see.")
      }
    })
  )
})

describe("Anthropic", () => {
  const use = { type: "mcp_tool_use", id: "m_1", name: "find", server_name: "hub", input: {} }
  const result = {
    type: "mcp_tool_result",
    tool_use_id: "m_1",
    is_error: false,
    content: [{ type: "text", text: "42" }]
  }
  const text = claudeBlock(1, { type: "text", text: "" }, { type: "text_delta", text: "42." })

  it.live("begins a turn with the result of an MCP use from before its pause", () =>
    Effect.gen(function* () {
      const { asked, turn } = yield* turnOf(anthropic, [
        pieces(
          bytesOf(anthropic, [claudeStart, ...claudeBlock(0, use), ...claudeEnd("pause_turn")]),
          [7]
        ),
        pieces(
          bytesOf(anthropic, [
            claudeStart,
            ...claudeBlock(0, result),
            ...text,
            ...claudeEnd("end_turn")
          ]),
          [7]
        )
      ])
      assert.strictEqual(turn.text, "42.")
      assert.lengthOf(turn.ran!, 1)
      assert.deepInclude(turn.ran![0], { id: "m_1", name: "find", server: "hub" })
      assert.include(turn.ran![0]!.result, "42")
      assert.lengthOf(asked, 2)
      const whole = claudeWhole([result, { type: "text", text: "42." }], "end_turn")
      const alone = yield* turnOf(anthropic, [status(200, whole)], plain)
      assert.strictEqual(alone.turn.text, "42.")
    })
  )

  it.live("cites some of the pages that its search found", () =>
    Effect.gen(function* () {
      const found = ["a", "b"].map((name) => ({
        type: "web_search_result",
        url: `https://${name}.org`,
        title: name,
        encrypted_content: "x",
        page_age: null
      }))
      const search = {
        type: "server_tool_use",
        id: "s_1",
        name: "web_search",
        input: { query: "q" }
      }
      const results = { type: "web_search_tool_result", tool_use_id: "s_1", content: found }
      const citation = {
        type: "web_search_result_location",
        url: "https://b.org",
        title: "b",
        cited_text: "Yes",
        encrypted_index: "i"
      }
      const answering = (citations: ReadonlyArray<object>) => [
        claudeStart,
        ...claudeBlock(0, search),
        ...claudeBlock(1, results),
        ...claudeBlock(
          2,
          { type: "text", text: "" },
          { type: "text_delta", text: "Yes." },
          ...citations.map((each) => ({ type: "citations_delta", citation: each }))
        ),
        ...claudeEnd("end_turn")
      ]
      const [cited] = yield* turnsOf(anthropic, answering([citation]))
      assert.deepStrictEqual(cited?.sources, [{ url: "https://b.org", title: "b" }])
      // Where it cites nothing, it may have read all of them.
      const [uncited] = yield* turnsOf(anthropic, answering([]))
      assert.lengthOf(uncited!.sources!, 2)
    })
  )
})

it.live("a compatible endpoint cites some of the pages that it found", () =>
  Effect.gen(function* () {
    const search_results = ["a", "b"].map((title) => ({ title, url: `https://${title}.org` }))
    const said = { ...chunk({ delta: { content: "Yes." } }), search_results }
    const citing = { ...delta({ content: "" }), citations: ["https://b.org"] }
    const [turn] = yield* turnsOf(compatible, [said, citing, end("stop")])
    assert.deepStrictEqual(turn?.sources, [{ url: "https://b.org", title: "b" }])
  })
)

it.live("a tool that Nova ran by itself is none of the agent's calls", () =>
  Effect.gen(function* () {
    const start = (contentBlockIndex: number, begun: object) => ({
      contentBlockStart: { contentBlockIndex, start: begun }
    })
    const at = (contentBlockIndex: number, piece: object) => ({
      contentBlockDelta: { contentBlockIndex, delta: piece }
    })
    const toolUse = { toolUseId: "t1", name: "nova_grounding", type: "server_tool_use" }
    const toolResult = [{ text: "found it" }]
    const [turn] = yield* turnsOf(bedrock, [
      { messageStart: { role: "assistant" } },
      start(0, { toolUse }),
      at(0, { toolUse: { input: '{"query":"q"}' } }),
      { contentBlockStop: { contentBlockIndex: 0 } },
      start(1, { toolResult: { toolUseId: "t1", status: "success" } }),
      at(1, { toolResult }),
      { contentBlockStop: { contentBlockIndex: 1 } },
      at(2, { text: "Here." }),
      { contentBlockStop: { contentBlockIndex: 2 } },
      { messageStop: { stopReason: "end_turn" } }
    ])
    assert.deepInclude(turn, { text: "Here.", finish: "stop", calls: [] })
    assert.deepInclude(turn?.ran?.[0], { id: "t1", name: "nova_grounding" })
    assert.include(turn?.ran?.[0]?.result, "found it")
  })
)

describe("arguments", () => {
  it.live("that are an object as JSON in a text are the object", () =>
    Effect.gen(function* () {
      const twice = JSON.stringify('{"n":1}')
      const call = (args: string) => ({
        index: 0,
        id: "c",
        type: "function",
        function: { name: "wipe", arguments: args }
      })
      const answers = [twice, '"not {an} object"', '"[1]"'].map((args) =>
        turnsOf(
          compatible,
          [delta({ tool_calls: [call(args)] }), end("tool_calls")],
          whole({ role: "assistant", content: null, tool_calls: [call(args)] }, "tool_calls")
        )
      )
      const [object, text, list] = yield* Effect.all(answers)
      for (const turn of object!) {
        assert.strictEqual(JSON.stringify(turn.calls[0]?.arguments), '{"n":1}')
      }
      // No tool takes these: its refusal tells the model so.
      for (const turn of text!) assert.strictEqual(turn.calls[0]?.arguments, "not {an} object")
      for (const turn of list!) assert.strictEqual(turn.calls[0]?.arguments, "[1]")
    })
  )
})
