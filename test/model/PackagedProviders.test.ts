/** Providers by their AI SDK packages, as a name and as an object: the real packages, against a server on loopback. */
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock"
import { createAzure } from "@ai-sdk/azure"
import { createGoogleVertexAnthropic } from "@ai-sdk/google-vertex/anthropic"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ChosenModels from "../../layers/model/providers/ChosenModels.ts"
import type { ModelChoice } from "../../layers/model/providers/ChosenModels.ts"
import { packagedNames } from "../../layers/model/providers/PackagedProviders.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import { frame } from "./AmazonFrames.ts"
import type { Answer } from "./ChatServer.ts"
import { serve } from "./ChatServer.ts"
import { environment, key, request } from "./Gateway.ts"
import { claudeBlock, claudeEnd, claudeStart, delta, end } from "./WireEvents.ts"
import { body, pieces, stalled } from "./Wires.ts"
import { anthropic, compatible, google, responses } from "./WireTurns.ts"

const list = { name: "list", description: "Lists.", input_schema: { type: "object" as const } }

const turnOf = (choice: ModelChoice, env: Record<string, string> = {}) =>
  ModelGateway.use((gateway) => gateway.turn(request({ tools: [list] }), () => {})).pipe(
    Effect.provide(ChosenModels.layer(choice).pipe(Layer.provide(environment(env))))
  )

const converse: Answer = (reply) => {
  reply.writeHead(200, { "content-type": "application/vnd.amazon.eventstream" })
  const index = { contentBlockIndex: 0 }
  reply.write(frame({ messageStart: { role: "assistant" } }))
  reply.write(frame({ contentBlockDelta: { ...index, delta: { text: "Here." } } }))
  reply.write(frame({ contentBlockStop: index }))
  reply.write(frame({ messageStop: { stopReason: "end_turn" } }))
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5, cacheReadInputTokens: 4 }
  reply.end(frame({ metadata: { usage, metrics: { latencyMs: 1 } } }))
}

const chat = body(compatible, [delta({ role: "assistant", content: "Here." }), end("stop")])
const cohere = [
  { type: "message-start", id: "m_1" },
  {
    type: "content-start",
    index: 0,
    delta: { message: { content: { type: "text", text: "" } } }
  },
  { type: "content-delta", index: 0, delta: { message: { content: { text: "Here." } } } },
  { type: "content-end", index: 0 },
  {
    type: "message-end",
    delta: { finish_reason: "COMPLETE", usage: { tokens: { input_tokens: 3, output_tokens: 2 } } }
  }
]
const claude = body(anthropic, [
  claudeStart,
  ...claudeBlock(0, { type: "text", text: "" }, { type: "text_delta", text: "Here." }),
  ...claudeEnd("end_turn")
])

const of = { id: "r_1", object: "response", model: "m", created_at: 1, output: [] }
const said = { type: "message", id: "m_1", role: "assistant" }
const place = { output_index: 0 }
const grok = body(responses, [
  { type: "response.created", response: { ...of, status: "in_progress", usage: null } },
  {
    type: "response.output_item.added",
    ...place,
    item: { ...said, status: "in_progress", content: [] }
  },
  {
    type: "response.output_text.delta",
    ...place,
    item_id: "m_1",
    content_index: 0,
    delta: "Here."
  },
  {
    type: "response.completed",
    response: { ...of, status: "completed", usage: { input_tokens: 3, output_tokens: 2 } }
  }
])

interface Case {
  readonly name: string
  /** The variables, given the server's address. */
  readonly env: (base_url: string) => Record<string, string>
  readonly answer: Answer
  readonly path: string
  readonly header: readonly [name: string, value: string]
  readonly text: string
}

const dated = "2024-10-21"
const cases: ReadonlyArray<Case> = [
  {
    name: "azure/wire-model",
    env: (base) => ({
      AZURE_API_KEY: key,
      AZURE_BASE_URL: `${base}/openai`,
      AZURE_API_VERSION: dated
    }),
    answer: pieces(chat, [7]),
    path: `/openai/deployments/wire-model/chat/completions?api-version=${dated}`,
    header: ["api-key", key],
    text: "Here."
  },
  {
    name: "azure/wire-model",
    env: (base) => ({ AZURE_API_KEY: key, AZURE_BASE_URL: `${base}/openai/v1` }),
    answer: pieces(body(responses), [7]),
    path: "/openai/v1/responses",
    header: ["api-key", key],
    text: responses.turn.text
  },
  {
    name: "vertex/wire-model",
    env: (base) => ({ GOOGLE_VERTEX_API_KEY: key, GOOGLE_VERTEX_BASE_URL: `${base}/v1` }),
    answer: pieces(body(google), [7]),
    path: "/v1/models/wire-model:streamGenerateContent?alt=sse",
    header: ["x-goog-api-key", key],
    text: google.turn.text
  },
  {
    name: "bedrock/eu.anthropic.claude-sonnet-4-5",
    env: (base) => ({
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
      AWS_SECRET_ACCESS_KEY: key,
      AWS_ENDPOINT_URL_BEDROCK_RUNTIME: base
    }),
    answer: converse,
    path: "/model/eu.anthropic.claude-sonnet-4-5/converse-stream",
    header: ["authorization", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"],
    text: "Here."
  },
  {
    name: "mistral/wire-model",
    env: (base) => ({ MISTRAL_API_KEY: key, MISTRAL_BASE_URL: `${base}/v1` }),
    answer: pieces(chat, [7]),
    path: "/v1/chat/completions",
    header: ["authorization", `Bearer ${key}`],
    text: "Here."
  },
  {
    name: "cohere/wire-model",
    env: (base) => ({ COHERE_API_KEY: key, COHERE_BASE_URL: `${base}/v2` }),
    answer: pieces(body(anthropic, cohere), [7]),
    path: "/v2/chat",
    header: ["authorization", `Bearer ${key}`],
    text: "Here."
  },
  {
    name: "xai/wire-model",
    env: (base) => ({ XAI_API_KEY: key, XAI_BASE_URL: `${base}/v1` }),
    answer: pieces(grok, [7]),
    path: "/v1/responses",
    header: ["authorization", `Bearer ${key}`],
    text: "Here."
  }
]

describe("a model of a provider's package", () => {
  for (const { answer, env, header, name, path, text } of cases) {
    it.live(`is ${name} at ${path}`, () =>
      Effect.gen(function* () {
        const server = yield* serve([answer])
        const base = new URL(server.base_url).origin
        const turn = yield* turnOf(name, env(base))
        assert.strictEqual(turn.text, text)
        const [asked] = server.asked
        assert.strictEqual(decodeURIComponent(asked!.path), path)
        assert.include(String(asked?.headers[header[0]]), header[1])
        // State at the provider is outside our control.
        if (path.endsWith("/responses")) assert.isFalse(asked?.body["store"])
      }).pipe(Effect.scoped)
    )
  }

  it.live("is done with Cohere's last event, also where the connection stays open", () =>
    Effect.gen(function* () {
      const server = yield* serve([stalled(body(anthropic, cohere))])
      const base = new URL(server.base_url).origin
      const env = { COHERE_API_KEY: key, COHERE_BASE_URL: `${base}/v2` }
      assert.strictEqual((yield* turnOf("cohere/wire-model", env)).text, "Here.")
    }).pipe(Effect.scoped)
  )

  it.effect("says which variables it needs, and shows no value of them", () =>
    Effect.gen(function* () {
      assert.sameMembers(
        [...packagedNames],
        [...new Set(cases.map(({ name }) => name.split("/")[0]!))]
      )
      for (const { env, name } of cases) {
        const { [Object.keys(env(""))[0]!]: _first, ...rest } = env("https://example.org")
        const error = yield* Effect.flip(
          Effect.provide(ChosenModels.planOf([name]), environment(rest))
        )
        assert.deepInclude(error, { _tag: "ModelError", kind: "configuration" })
        assert.match(error.message, /needs [A-Z_]+/)
        assert.notInclude(error.message, key)
      }
    })
  )

  it.live("is an object with what its package can be told besides", () =>
    Effect.gen(function* () {
      const server = yield* serve([pieces(body(responses), [4_096]), pieces(claude, [4_096])])
      const urls: Array<URL> = []
      const local: typeof fetch = (input, init) => {
        const url = new URL(input instanceof Request ? input.url : input)
        urls.push(url)
        return fetch(new URL(url.pathname + url.search, server.base_url), init)
      }
      const azure = createAzure({
        resourceName: "acme",
        tokenProvider: async () => "entra-token",
        apiVersion: "preview",
        fetch: local
      })
      assert.strictEqual((yield* turnOf(azure("wire-model"))).text, responses.turn.text)
      assert.strictEqual(
        urls[0]?.href,
        "https://acme.openai.azure.com/openai/v1/responses?api-version=preview"
      )
      assert.strictEqual(server.asked[0]?.headers["authorization"], "Bearer entra-token")
      assert.isFalse(server.asked[0]?.body["store"])
      const vertex = createGoogleVertexAnthropic({
        project: "p",
        location: "europe-west1",
        headers: { authorization: "Bearer google-token" },
        googleAuthOptions: {
          authClient: { getAccessToken: async () => ({ token: "t" }) } as never
        },
        fetch: local
      })
      assert.strictEqual((yield* turnOf(vertex("claude-sonnet-4-5"))).text, "Here.")
      assert.include(urls[1]?.pathname, "/publishers/anthropic/models/claude-sonnet-4-5")
      assert.include(JSON.stringify(server.asked[1]?.body), '"cache_control"')
    }).pipe(Effect.scoped)
  )

  it.live(
    "keeps instructions and tools at Bedrock, of models that can and agents that want it",
    () =>
      Effect.gen(function* () {
        const server = yield* serve([converse])
        const client = createAmazonBedrock({
          region: "eu-central-1",
          apiKey: key,
          baseURL: new URL(server.base_url).origin
        })
        const turn = yield* turnOf(client("eu.anthropic.claude-sonnet-4-5"))
        assert.deepInclude(turn.usage, { cached_tokens: 4 })
        yield* turnOf(client("meta.llama4-scout"))
        const [kept, plain] = server.asked.map(({ body }) => JSON.stringify(body["system"]))
        assert.include(kept, '{"cachePoint":{"type":"default"}}')
        assert.notInclude(plain, "cachePoint")
      }).pipe(Effect.scoped)
  )
})
