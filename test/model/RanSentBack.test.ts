/** What a provider ran in a step goes back to it in the next steps of the run, on each provider's wire. */
import { createOpenAI } from "@ai-sdk/openai"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ChosenModels from "../../layers/model/providers/ChosenModels.ts"
import type { ModelChoice } from "../../layers/model/providers/ChosenModels.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import type { ProviderTool } from "../../src/agent/ProviderTools.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { serve, status } from "./ChatServer.ts"
import type { Answer } from "./ChatServer.ts"
import { environment, key, request } from "./Gateway.ts"
import { plain, turnOf } from "./WireEvents.ts"
import { answered, body, pieces } from "./Wires.ts"
import { google, responses } from "./WireTurns.ts"

const list = { name: "list", description: "Lists.", input_schema: { type: "object" as const } }
const github = { tool: "mcp", server: "github", url: "https://mcp.example.com/sse" } as const
const all: ReadonlyArray<ProviderTool> = [
  { tool: "web_search" },
  { tool: "code_execution" },
  { tool: "file_search", stores: ["vs_1"] },
  github
]

const ended = { status: "completed" }
const reasoning = (id: string) => ({
  type: "reasoning",
  id,
  ...ended,
  summary: [],
  encrypted_content: `${id}-secret`
})
const search = {
  type: "web_search_call",
  id: "ws_1",
  ...ended,
  action: { type: "search", query: "x", sources: [{ type: "url", url: "https://example.org/a" }] }
}
const code = {
  type: "code_interpreter_call",
  id: "ci_1",
  ...ended,
  code: "print(1)",
  container_id: "c_1",
  outputs: [{ type: "logs", logs: "1\n" }]
}
const files = {
  type: "file_search_call",
  id: "fs_1",
  ...ended,
  queries: ["x"],
  results: [{ file_id: "f_1", filename: "a.txt", score: 0.5, text: "found", attributes: {} }]
}
const mcp = {
  type: "mcp_call",
  id: "mcp_1",
  ...ended,
  server_label: "github",
  name: "search_issues",
  arguments: '{"q":"x"}',
  output: "none"
}
const call = {
  type: "function_call",
  id: "fc_1",
  ...ended,
  call_id: "call_1",
  name: "list",
  arguments: "{}"
}
const ran = [search, code, files, mcp]
const output = [reasoning("rs_1"), search, code, reasoning("rs_2"), files, mcp, call]

const response = { ...responses.whole, model: "wire-model", output }
const streamed = (items: ReadonlyArray<object>): Answer =>
  pieces(
    body(responses, [
      { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
      ...items.flatMap((item, output_index) => [
        {
          type: "response.output_item.added",
          output_index,
          item: { ...item, status: "in_progress" }
        },
        { type: "response.output_item.done", output_index, item }
      ]),
      { type: "response.completed", response }
    ]),
    [64]
  )

/** Everything of the next request that is not the user's, the call's result or the instructions. */
const sentBack = (body: Record<string, unknown>) =>
  (body["input"] as ReadonlyArray<Record<string, unknown>>).filter(
    ({ role, type }) =>
      type !== "function_call_output" && role !== "user" && !/^(system|developer)$/.test(`${role}`)
  )

const kindsOf = (body: Record<string, unknown>) => sentBack(body).map(({ type }) => type)

/** One turn of a model by its name, or of an object. */
const ask = (
  choice: (base_url: string) => ModelChoice,
  answer: Answer,
  over: Partial<ModelRequest>
) =>
  Effect.gen(function* () {
    const server = yield* serve([answer])
    const model = ChosenModels.layer(choice(server.base_url)).pipe(
      Layer.provide(
        environment({
          XAI_API_KEY: key,
          XAI_BASE_URL: server.base_url,
          AZURE_API_KEY: key,
          AZURE_BASE_URL: server.base_url
        })
      )
    )
    const turn = yield* ModelGateway.use((gateway) =>
      gateway.turn(request({ tools: [list], provider_tools: all, ...over }), () => {})
    ).pipe(Effect.provide(model))
    return { turn, sent: server.asked[0]!.body }
  }).pipe(Effect.scoped)

/** What the next step sends back of a turn. */
const next = (
  choice: (base_url: string) => ModelChoice,
  turn: Turn,
  over: Partial<ModelRequest> = {}
) =>
  Effect.map(
    ask(choice, streamed([call]), { transcript: answered(turn), step: 2, ...over }),
    ({ sent }) => sent
  )

describe("what a Responses API ran goes back as its items, in their order", () => {
  it.live("to OpenAI, of a turn that was streamed or came whole", () =>
    Effect.gen(function* () {
      const over = { tools: [list], provider_tools: all }
      const one = yield* turnOf(responses, [streamed(output)], { over })
      const two = yield* turnOf(responses, [status(200, response)], { ...plain, over })
      assert.deepStrictEqual(two.turn.parts, one.turn.parts)
      for (const { turn } of [one, two]) {
        const { asked } = yield* turnOf(responses, [streamed([call])], {
          over: { ...over, transcript: answered(turn), step: 2 }
        })
        const items = sentBack(asked[0]!.body)
        assert.deepStrictEqual(
          items.map(({ type }) => type),
          output.map(({ type }) => type)
        )
        assert.deepStrictEqual(
          items.filter(({ type }) => `${type}`.endsWith("_call") && type !== "function_call"),
          ran
        )
        assert.strictEqual(asked[0]!.body["store"], false)
      }
    })
  )

  for (const name of ["xai/grok-4", "azure/wire-model"]) {
    it.live(`to ${name.split("/")[0]}`, () =>
      Effect.gen(function* () {
        const by = () => name
        const { turn } = yield* ask(by, streamed(output), {})
        const items = sentBack(yield* next(by, turn))
        for (const item of ran) assert.deepInclude(items, item)
        assert.deepStrictEqual(
          items.map(({ type }) => type),
          output.map(({ type }) => type)
        )
      })
    )
  }

  it.live("but not where a tool is withdrawn, to another model, nor in a later run", () =>
    Effect.gen(function* () {
      const by = () => "azure/wire-model"
      const { turn } = yield* ask(by, streamed(output), {})
      const bare = ["reasoning", "reasoning", "function_call"]
      const withdrawn = yield* next(by, turn, { provider_tools: [{ ...github, server: "jira" }] })
      assert.deepStrictEqual(kindsOf(withdrawn), bare)
      const later = {
        history: answered(turn),
        transcript: [{ role: "user", text: "more" }]
      } as const
      assert.deepStrictEqual(kindsOf(yield* next(by, turn, later)), bare)
      const other = yield* next(by, { ...turn, origin: "another" })
      assert.deepStrictEqual(kindsOf(other), ["function_call"])
    })
  )

  it.live("and is not kept of a turn that ends its run, nor beyond its bound", () =>
    Effect.gen(function* () {
      const by = () => "azure/wire-model"
      const last = yield* ask(by, streamed(output.slice(0, -1)), {})
      assert.lengthOf(last.turn.ran ?? [], 4)
      const large = { ...mcp, output: "x".repeat(400_000) }
      const cut = yield* ask(by, streamed([search, large, call]), {})
      for (const { turn } of [last, cut]) assert.notInclude(JSON.stringify(turn), "troupe.item")
    })
  )

  it.live("while a text of a model that looks like one stays a text", () =>
    Effect.gen(function* () {
      const text = `troupe.item ${JSON.stringify(mcp)}`
      const message = { type: "message", id: "msg_1", role: "assistant", ...ended }
      const said = { ...message, content: [{ type: "output_text", text, annotations: [] }] }
      const over = { tools: [list], provider_tools: all }
      const { turn } = yield* turnOf(
        responses,
        [status(200, { ...response, output: [said, call] })],
        { ...plain, over }
      )
      const { asked } = yield* turnOf(responses, [streamed([call])], {
        over: { ...over, transcript: answered(turn) }
      })
      assert.deepStrictEqual(sentBack(asked[0]!.body)[0], { role: "assistant", content: text })
    })
  )

  it.live("as far as the client of a model object sends it", () =>
    Effect.gen(function* () {
      const by = (baseURL: string) => createOpenAI({ apiKey: key, baseURL }).responses("wire-model")
      const { turn } = yield* ask(by, streamed(output), {})
      const sent = yield* next(by, turn)
      assert.deepStrictEqual(kindsOf(sent), [
        "reasoning",
        "web_search_call",
        "reasoning",
        "function_call"
      ])
      assert.deepStrictEqual(sentBack(sent)[1], search)
      // A journal of the same model by its name holds items.
      const named = yield* ask(() => "azure/wire-model", streamed(output), {})
      const taken = yield* next(by, { ...named.turn, origin: "openai.responses:wire-model" })
      assert.notInclude(JSON.stringify(taken), "troupe.item")
    })
  )
})

describe("what Gemini ran", () => {
  const parts = [
    {
      toolCall: { toolType: "GOOGLE_SEARCH_WEB", args: { queries: ["x"] }, id: "s_1" },
      thoughtSignature: "c2lnbmF0dXJl"
    },
    { toolResponse: { toolType: "GOOGLE_SEARCH_WEB", response: { found: "a" }, id: "s_1" } },
    { executableCode: { language: "PYTHON", code: "print(1)" } },
    { codeExecutionResult: { outcome: "OUTCOME_OK", output: "1" } },
    { functionCall: { name: "list", args: {}, id: "call_1" }, thoughtSignature: "b3RoZXI=" }
  ]
  const answer = {
    candidates: [{ content: { role: "model", parts }, index: 0, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 9, totalTokenCount: 12 }
  }
  const env = { TROUPE_MODEL: "gemini-3-pro-preview" }
  const tools: ReadonlyArray<ProviderTool> = [{ tool: "web_search" }, { tool: "code_execution" }]

  it.live("goes back as it came, with its signature, and not without the tool", () =>
    Effect.gen(function* () {
      const over = { tools: [list], provider_tools: tools }
      const gave = pieces(body(google, [answer]), [64])
      const { turn } = yield* turnOf(google, [gave], { over, env })
      const modelParts = (provider_tools: ReadonlyArray<ProviderTool>) =>
        Effect.map(
          turnOf(google, [gave], {
            env,
            over: { ...over, provider_tools, transcript: answered(turn), step: 2 }
          }),
          ({ asked }) => google.sentBack(asked[0]!.body)
        )
      assert.deepStrictEqual(yield* modelParts(tools), parts)
      assert.deepStrictEqual(yield* modelParts([{ tool: "code_execution" }]), parts.slice(2))
    })
  )
})
