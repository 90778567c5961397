/** Tools that a provider runs, on each provider's wire: how they are asked for, and what is read of their use. */
import { createOpenAI } from "@ai-sdk/openai"
import { createXai } from "@ai-sdk/xai"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ChosenModels from "../../layers/model/providers/ChosenModels.ts"
import { undeclaredOf } from "../../src/agent/ProviderTools.ts"
import type { ProviderTool } from "../../src/agent/ProviderTools.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { serve } from "./ChatServer.ts"
import { environment, request } from "./Gateway.ts"
import { claudeBlock, claudeEnd, claudeStart, claudeWhole, turnOf, turnsOf } from "./WireEvents.ts"
import { body, pieces } from "./Wires.ts"
import { anthropic, compatible, google, openai, responses } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"

const token = "mcp-token-1234567890"
const list = { name: "list", description: "Lists.", input_schema: { type: "object" as const } }
const github = {
  tool: "mcp",
  server: "github",
  url: "https://mcp.example.com/sse",
  tools: ["search_issues"],
  token_variable: "GITHUB_MCP_TOKEN"
} as const

/** What the provider gets of them, with or without a function of the agent. */
const sentFor = (
  wire: Wire,
  provider_tools: ReadonlyArray<ProviderTool>,
  { functions = [list], model = "wire-model" } = {}
) =>
  Effect.gen(function* () {
    const { asked } = yield* turnOf(wire, [pieces(body(wire), [4_096])], {
      over: { tools: functions, provider_tools },
      env: { TROUPE_MODEL: model, GITHUB_MCP_TOKEN: token }
    })
    return asked[0]!
  })

const refusalOf = (wire: Wire, tool: ProviderTool, env: Record<string, string> = {}) =>
  Effect.flip(
    turnOf(wire, [pieces(body(wire), [4_096])], {
      over: { tools: [list], provider_tools: [tool] },
      env
    })
  )

const domains = { allowed_domains: ["example.org"] }

describe("a provider's tool is asked for", () => {
  it.live("of OpenAI Responses by its types, before the agent's own tools", () =>
    Effect.gen(function* () {
      const { body } = yield* sentFor(responses, [
        { tool: "web_search", ...domains, settings: { openai: { searchContextSize: "low" } } },
        { tool: "code_execution" },
        { tool: "file_search", stores: ["vs_1"], results_max: 5 },
        github
      ])
      const [search, code, files, mcp, own] = body["tools"] as ReadonlyArray<object>
      assert.deepStrictEqual(search, {
        type: "web_search",
        filters: { allowed_domains: ["example.org"] },
        search_context_size: "low"
      })
      assert.deepInclude(code, { type: "code_interpreter", container: { type: "auto" } })
      assert.deepStrictEqual(files, {
        type: "file_search",
        vector_store_ids: ["vs_1"],
        max_num_results: 5
      })
      assert.deepStrictEqual(mcp, {
        type: "mcp",
        server_label: "github",
        server_url: github.url,
        allowed_tools: ["search_issues"],
        authorization: token,
        require_approval: "never"
      })
      assert.deepInclude(own, { type: "function", name: "list" })
      assert.includeMembers(body["include"] as Array<string>, [
        "web_search_call.action.sources",
        "code_interpreter_call.outputs",
        "file_search_call.results"
      ])
    })
  )

  it.live("of Anthropic by its dated types, and MCP servers beside them", () =>
    Effect.gen(function* () {
      const { body, headers } = yield* sentFor(anthropic, [
        { tool: "web_search", ...domains, uses_max: 3 },
        { tool: "web_fetch", settings: { anthropic: { version: "20260209" } } },
        { tool: "code_execution" },
        github
      ])
      const [search, fetch, code, own] = body["tools"] as ReadonlyArray<object>
      assert.deepStrictEqual(search, {
        type: "web_search_20250305",
        name: "web_search",
        max_uses: 3,
        allowed_domains: ["example.org"]
      })
      assert.deepInclude(fetch, { type: "web_fetch_20260209", citations: { enabled: true } })
      assert.deepInclude(code, { type: "code_execution_20250825", name: "code_execution" })
      // The prompt is kept up to the last of the agent's own.
      assert.deepInclude(own, { name: "list", cache_control: { type: "ephemeral" } })
      assert.deepStrictEqual(body["mcp_servers"], [
        {
          type: "url",
          name: "github",
          url: github.url,
          authorization_token: token,
          tool_configuration: { enabled: true, allowed_tools: ["search_issues"] }
        }
      ])
      assert.include(String(headers["anthropic-beta"]), "mcp-client")
    })
  )

  it.live("of Gemini by its names, without functions before its version 3", () =>
    Effect.gen(function* () {
      const tools: ReadonlyArray<ProviderTool> = [
        { tool: "web_search" },
        { tool: "web_fetch" },
        { tool: "code_execution" }
      ]
      const early = { model: "gemini-2.5-flash", functions: [] }
      const { body } = yield* sentFor(google, tools, early)
      assert.deepStrictEqual(body["tools"], [
        { googleSearch: {} },
        { urlContext: {} },
        { codeExecution: {} }
      ])
      const files = { tool: "file_search", stores: ["fileSearchStores/a"], results_max: 4 } as const
      const searched = yield* sentFor(google, [files], early)
      assert.deepStrictEqual(searched.body["tools"], [
        { fileSearch: { fileSearchStoreNames: ["fileSearchStores/a"], topK: 4 } }
      ])
      const later = yield* sentFor(google, tools, { model: "gemini-3-pro-preview" })
      assert.lengthOf(later.body["tools"] as ReadonlyArray<object>, 4)
      const both = yield* refusalOf(google, tools[0]!, { TROUPE_MODEL: "gemini-2.5-flash" })
      assert.include(both.message, "and not both")
      // A model whose client drops the tool is no model of the agent.
      const old = yield* Effect.flip(
        sentFor(google, tools, { model: "gemini-1.0-pro", functions: [] })
      )
      assert.deepInclude(old, { kind: "configuration" })
      assert.include(old.message, "google.google_search")
    })
  )

  it.live("of xAI Responses, and of an endpoint that has none by what its settings say", () =>
    Effect.gen(function* () {
      const server = yield* serve([pieces(body(responses), [4_096])])
      const baseURL = new URL("/v1", server.base_url).href
      const model = createXai({ baseURL, apiKey: "k" }).responses("grok-4")
      const over = request({
        provider_tools: [{ tool: "web_search", blocked_domains: ["example.org"] }, github]
      })
      yield* ModelGateway.use((gateway) => gateway.turn(over, () => {})).pipe(
        Effect.provide(
          ChosenModels.layer(model).pipe(
            Layer.provideMerge(environment({ GITHUB_MCP_TOKEN: token }))
          )
        ),
        Effect.exit
      )
      const tools = server.asked[0]?.body["tools"] as ReadonlyArray<object>
      assert.deepInclude(tools[0], { type: "web_search", excluded_domains: ["example.org"] })
      assert.deepInclude(tools[1], { type: "mcp", authorization: token })
      const settings = { openaiCompatible: { plugins: [{ id: "web" }] } }
      const sent = yield* sentFor(compatible, [{ tool: "web_search", settings }])
      assert.deepStrictEqual(sent.body["plugins"], [{ id: "web" }])
      assert.lengthOf(sent.body["tools"] as ReadonlyArray<object>, 1)
    }).pipe(Effect.scoped)
  )

  const refused: ReadonlyArray<readonly [wire: Wire, tool: ProviderTool, part: string]> = [
    [openai, { tool: "web_search" }, "openai.chat has no tool web_search"],
    [compatible, { tool: "web_search" }, "openaiCompatible.chat has no tool web_search"],
    [responses, { tool: "web_fetch" }, "openai.responses has no tool web_fetch"],
    [responses, { tool: "web_search", uses_max: 2 }, "cannot be told uses_max of web_search"],
    [responses, { tool: "file_search" }, "no stores"],
    [anthropic, { tool: "file_search", stores: ["a"] }, "has no tool file_search"],
    [google, { tool: "web_search", ...domains }, "cannot be told a list of domains"],
    [google, github, "GITHUB_MCP_TOKEN"],
    [anthropic, github, "GITHUB_MCP_TOKEN"]
  ]
  for (const [wire, tool, part] of refused) {
    it.live(`and refused before anything is sent: ${wire.provider}, ${part}`, () =>
      Effect.gen(function* () {
        const server = yield* serve([pieces(body(wire), [4_096])])
        const error = yield* refusalOf(wire, tool)
        assert.deepInclude(error, { _tag: "ModelError", kind: "configuration" })
        assert.include(error.message, part)
        assert.lengthOf(server.asked, 0)
      }).pipe(Effect.scoped)
    )
  }

  it.live("of every model of a plan, before any turn", () =>
    Effect.gen(function* () {
      const able = createOpenAI({ apiKey: "k" }).responses("large")
      const unable = createOpenAI({ apiKey: "k" }).chat("small")
      const { agent, tools } = request()
      const check = (model: string | undefined) =>
        ModelGateway.use(({ checkProviderTools }) =>
          checkProviderTools!({
            agent,
            model,
            tools,
            settings: undefined,
            provider_tools: [{ tool: "web_search" }]
          })
        ).pipe(Effect.provide(Layer.fresh(ChosenModels.layer(able, unable))), Effect.flip)
      assert.include((yield* check(undefined)).message, "openai.chat has no tool web_search")
      assert.include((yield* check("small")).message, "openai.chat")
      const alone = ModelGateway.use(({ checkProviderTools }) =>
        checkProviderTools!({
          agent,
          model: undefined,
          tools,
          settings: undefined,
          provider_tools: [{ tool: "web_search" }]
        })
      )
      yield* Effect.provide(alone, ChosenModels.layer(able))
    })
  )
})

const geminiAnswer = (parts: ReadonlyArray<object>, also: object) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, finishReason: "STOP", ...also }],
  usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 9, totalTokenCount: 12 }
})

describe("what a provider ran", () => {
  it.live("is read of Gemini's grounding, pages and code, whole and streamed", () =>
    Effect.gen(function* () {
      const answer = geminiAnswer(
        [
          { executableCode: { language: "PYTHON", code: "print(1/0)" } },
          { codeExecutionResult: { outcome: "OUTCOME_FAILED", output: "ZeroDivisionError" } },
          { text: "It is sunny." }
        ],
        {
          groundingMetadata: {
            webSearchQueries: ["weather in Bern"],
            groundingChunks: [{ web: { uri: "https://example.org/w", title: "Weather" } }]
          },
          urlContextMetadata: {
            urlMetadata: [
              {
                retrievedUrl: "https://example.org/p",
                urlRetrievalStatus: "URL_RETRIEVAL_STATUS_SUCCESS"
              },
              {
                retrievedUrl: "https://example.org/none",
                urlRetrievalStatus: "URL_RETRIEVAL_STATUS_ERROR"
              }
            ]
          }
        }
      )
      for (const turn of yield* turnsOf(google, [answer], answer)) {
        assert.strictEqual(turn.text, "It is sunny.")
        const [code, search, pages, ...more] = turn.ran ?? []
        assert.deepInclude(code, { name: "code_execution", failed: true })
        assert.deepInclude(search, {
          name: "web_search",
          arguments: '{"queries":["weather in Bern"]}'
        })
        assert.deepInclude(pages, { name: "web_fetch" })
        assert.include(pages?.result, "URL_RETRIEVAL_STATUS_ERROR")
        assert.deepStrictEqual(more, [])
        assert.deepStrictEqual(turn.sources, [
          { url: "https://example.org/w", title: "Weather" },
          { url: "https://example.org/p" }
        ])
      }
    })
  )

  it.live("names the MCP server, and says where its tool failed", () =>
    Effect.gen(function* () {
      const use = { type: "mcp_tool_use", id: "m_1", name: "search_issues", server_name: "github" }
      const gave = {
        type: "mcp_tool_result",
        tool_use_id: "m_1",
        is_error: true,
        content: [{ type: "text", text: "rate limited" }]
      }
      const said = { type: "text", text: "None." }
      const turns = yield* turnsOf(
        anthropic,
        [
          claudeStart,
          ...claudeBlock(0, { ...use, input: { q: "x" } }),
          ...claudeBlock(1, gave),
          ...claudeBlock(2, { type: "text", text: "" }, { type: "text_delta", text: "None." }),
          ...claudeEnd("end_turn")
        ],
        claudeWhole([{ ...use, input: { q: "x" } }, gave, said], "end_turn")
      )
      const item = {
        type: "mcp_call",
        id: "mcp_1",
        status: "completed",
        server_label: "github",
        name: "search_issues",
        arguments: '{"q":"x"}',
        error: { type: "mcp_tool_execution_error", content: [] }
      }
      const { turn } = yield* turnOf(
        responses,
        [
          (reply) => {
            reply.writeHead(200, { "content-type": "application/json" })
            reply.end(JSON.stringify({ ...responses.whole, output: [item] }))
          }
        ],
        { env: { TROUPE_MODEL_STREAM: "off" } }
      )
      for (const { ran } of [...turns, turn]) {
        assert.lengthOf(ran ?? [], 1)
        assert.deepInclude(ran?.[0], {
          name: "search_issues",
          server: "github",
          arguments: '{"q":"x"}',
          failed: true
        })
        assert.isUndefined(undeclaredOf(ran ?? [], [github]))
        const other = { ...github, server: "jira" }
        assert.strictEqual(
          undeclaredOf(ran ?? [], [other, { tool: "web_search" }]),
          "search_issues"
        )
      }
    })
  )
})
