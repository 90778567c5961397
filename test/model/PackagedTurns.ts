/**
 * The turn of `WireTurns` on the wires of providers that are asked by a name: those of Azure and Vertex are known ones at other
 * addresses, those of Bedrock, Mistral, Cohere and xAI their own. Written by hand after the providers' public descriptions.
 */
import { key } from "./Gateway.ts"
import type { Wire } from "./WireTurns.ts"
import { google, openai, responses } from "./WireTurns.ts"

const { calls, finish, text } = openai.turn
const [, second] = calls
const thought = "Let me see."
const usage = { input_tokens: 30, output_tokens: 15, cached_tokens: 4 }
const turn = { text, calls, finish, usage, model: "wire-model-1" }
const asked = { model: "wire-model" }

type Named = Pick<Wire, "label" | "named" | "secret">

const named = (
  label: string,
  model: string,
  env: (origin: string) => Record<string, string>
): Named => ({
  label,
  named: { model, env },
  secret: []
})

/** The same value with another text in its JSON. */
const replaced = <A>(value: A, from: string, to: string): A =>
  JSON.parse(JSON.stringify(value).replaceAll(from, to)) as A

const dated = "2024-10-21"
const azureChat: Wire = {
  ...openai,
  ...named("azure, dated", "azure/wire-model", (origin) => ({
    AZURE_API_KEY: key,
    AZURE_BASE_URL: `${origin}/openai`,
    AZURE_API_VERSION: dated
  })),
  path: "/openai/deployments/wire-model/chat/completions"
}

const azure: Wire = {
  ...responses,
  ...named("azure", "azure/wire-model", (origin) => ({
    AZURE_API_KEY: key,
    AZURE_BASE_URL: `${origin}/openai/v1`
  })),
  path: "/openai/v1/responses",
  turn: {
    ...replaced(responses.turn, '"openai":', '"azure":'),
    origin: "azure.responses:wire-model"
  },
  secret: responses.secret
}

const vertexSignature = google.secret[0]!
const vertex: Wire = {
  ...google,
  ...named("vertex", "vertex/wire-model", (origin) => ({
    GOOGLE_VERTEX_API_KEY: key,
    GOOGLE_VERTEX_BASE_URL: `${origin}/v1`
  })),
  path: "/v1/models/wire-model:streamGenerateContent",
  turn: {
    ...google.turn,
    calls: google.turn.calls.map(({ provider, ...call }) => {
      const own = provider === undefined ? undefined : { thoughtSignature: vertexSignature }
      return { ...call, ...(own && { provider: { googleVertex: own, vertex: own } }) }
    }),
    origin: "google.vertex.chat:wire-model"
  },
  // Calls have no ids there.
  expected: (google.expected as ReadonlyArray<{ functionCall?: { id?: string } }>).map((part) => {
    if (part.functionCall === undefined) return part
    const { id: _id, ...functionCall } = part.functionCall
    return { ...part, functionCall }
  }),
  secret: google.secret
}

const mistralUsage = {
  prompt_tokens: 30,
  completion_tokens: 15,
  total_tokens: 45,
  num_cached_tokens: 4
}
const mistral: Wire = {
  ...openai,
  ...named("mistral", "mistral/wire-model", (origin) => ({
    MISTRAL_API_KEY: key,
    MISTRAL_BASE_URL: `${origin}/v1`
  })),
  trailing: 0,
  // Usage is in the event of the end, and the reasoning is not counted.
  streamed: openai.streamed.slice(0, -1).map((event, index, all) => ({
    ...event,
    ...(index === all.length - 1 ? { usage: mistralUsage } : undefined)
  })),
  whole: { ...openai.whole, usage: mistralUsage },
  turn
}

const cohereMessage = (member: object) => ({ delta: { message: member } })
const cohereCall = (
  { arguments: args, model_id, name }: (typeof calls)[number],
  whole: string
) => ({
  id: model_id,
  type: "function",
  function: { name, arguments: whole === "" ? "" : JSON.stringify(args) }
})
const cohereUsage = {
  billed_units: { input_tokens: 26, output_tokens: 15 },
  tokens: { input_tokens: 30, output_tokens: 15 },
  cached_tokens: 4
}
const coherePiece = (index: number, ...texts: ReadonlyArray<string>) => [
  {
    type: "content-start",
    index,
    ...cohereMessage({ content: { type: "text", text: "" } })
  },
  ...texts.map((each) => ({
    type: "content-delta",
    index,
    ...cohereMessage({ content: { text: each } })
  })),
  { type: "content-end", index }
]

const cohere: Wire = {
  ...openai,
  ...named("cohere", "cohere/wire-model", (origin) => ({
    COHERE_API_KEY: key,
    COHERE_BASE_URL: `${origin}/v2`
  })),
  path: "/v2/chat",
  trailing: 0,
  streamed: [
    { type: "message-start", id: "m_1", ...cohereMessage({ role: "assistant", content: [] }) },
    ...coherePiece(0, text.slice(0, 4), text.slice(4)),
    ...calls.flatMap((call, index) => [
      { type: "tool-call-start", index, ...cohereMessage({ tool_calls: cohereCall(call, "") }) },
      ...(call === second
        ? []
        : [
            {
              type: "tool-call-delta",
              index,
              ...cohereMessage({
                tool_calls: { function: { arguments: JSON.stringify(call.arguments) } }
              })
            }
          ]),
      { type: "tool-call-end", index }
    ]),
    { type: "message-end", delta: { finish_reason: "TOOL_CALL", usage: cohereUsage } }
  ],
  whole: {
    id: "m_1",
    finish_reason: "TOOL_CALL",
    message: {
      role: "assistant",
      content: [{ type: "text", text }],
      tool_calls: calls.map((call) => cohereCall(call, "whole"))
    },
    usage: cohereUsage
  },
  turn: { text, calls, finish, usage: { input_tokens: 30, output_tokens: 15 }, ...asked },
  // The client leaves out the text of a message that has calls.
  expected: {
    role: "assistant",
    tool_calls: calls.map((call) => cohereCall(call, "whole"))
  }
}

const bedrockUsage = {
  inputTokens: 20,
  outputTokens: 15,
  totalTokens: 45,
  cacheReadInputTokens: 4,
  cacheWriteInputTokens: 6
}
const bedrockUse = ({ model_id, name }: (typeof calls)[number]) => ({ toolUseId: model_id, name })
const at = (contentBlockIndex: number, delta: object) => ({
  contentBlockDelta: { contentBlockIndex, delta }
})
const signature = "YW1hem9uLXNpZ25hdHVyZQ=="
const bedrockModel = "eu.anthropic.claude-sonnet-4-5"

const bedrock: Wire = {
  ...openai,
  ...named("bedrock", `bedrock/${bedrockModel}`, (origin) => ({
    AWS_REGION: "eu-central-1",
    AWS_BEARER_TOKEN_BEDROCK: key,
    AWS_ENDPOINT_URL_BEDROCK_RUNTIME: origin
  })),
  frames: true,
  trailing: 1,
  path: `/model/${bedrockModel}/converse-stream`,
  streamed: [
    { messageStart: { role: "assistant" } },
    at(0, { reasoningContent: { text: "Let me " } }),
    at(0, { reasoningContent: { text: "see." } }),
    at(0, { reasoningContent: { signature } }),
    { contentBlockStop: { contentBlockIndex: 0 } },
    at(1, { text: text.slice(0, 4) }),
    at(1, { text: text.slice(4) }),
    { contentBlockStop: { contentBlockIndex: 1 } },
    ...calls.flatMap((call, index) => [
      {
        contentBlockStart: { contentBlockIndex: index + 2, start: { toolUse: bedrockUse(call) } }
      },
      at(index + 2, { toolUse: { input: call === second ? "" : JSON.stringify(call.arguments) } }),
      { contentBlockStop: { contentBlockIndex: index + 2 } }
    ]),
    { messageStop: { stopReason: "tool_use" } },
    { metadata: { usage: bedrockUsage, metrics: { latencyMs: 1 } } }
  ],
  // A request for a stream gets no whole answer there.
  whole: {},
  turn: {
    ...turn,
    usage: { ...usage, cache_write_tokens: 6 },
    model: bedrockModel,
    reasoning: [
      { text: thought, provider: { amazonBedrock: { signature }, bedrock: { signature } } }
    ],
    origin: `amazon-bedrock:${bedrockModel}`
  },
  sentBack: (body) =>
    (body["messages"] as ReadonlyArray<{ role: string; content: unknown }>).find(
      ({ role }) => role === "assistant"
    )?.content,
  expected: [
    { reasoningContent: { reasoningText: { text: thought, signature } } },
    { text },
    ...calls.map((call) => ({ toolUse: { ...bedrockUse(call), input: call.arguments } }))
  ],
  secret: [signature, thought]
}

const xaiStatus = ['"type":"reasoning"', '"type":"reasoning","status":"completed"'] as const
const xai: Wire = {
  ...responses,
  ...named("xai", "xai/wire-model", (origin) => ({
    XAI_API_KEY: key,
    XAI_BASE_URL: `${origin}/v1`
  })),
  // Its items of reasoning have a status.
  streamed: replaced(responses.streamed, ...xaiStatus),
  whole: replaced(responses.whole, ...xaiStatus),
  turn: {
    text,
    calls,
    finish,
    reasoning: replaced(responses.turn.reasoning, '"openai":', '"xai":')!,
    usage: { ...usage, reasoning_tokens: 6 },
    model: "wire-model-1",
    origin: "xai.responses:wire-model"
  },
  expected: (responses.expected as ReadonlyArray<{ type?: string; call_id?: string }>).map(
    ({ call_id, ...item }) => {
      if (item.type === undefined) return item
      const ids = call_id === undefined ? undefined : { id: call_id, call_id }
      return { ...item, ...ids, status: "completed" }
    }
  ),
  secret: responses.secret
}

/** The wires of providers with a package of their own. */
export const packagedWires: ReadonlyArray<Wire> = [
  azureChat,
  azure,
  vertex,
  bedrock,
  mistral,
  cohere,
  xai
]

export { azure, azureChat, bedrock, cohere, mistral, vertex, xai }
