/**
 * One turn as each provider puts it on the wire, streamed and whole: thought, text and two calls at once, with what the
 * provider wants back. Written by hand after the providers' public descriptions of their formats.
 */
import type { ProviderName } from "../../layers/model/providers/ModelConfig.ts"
import type { Turn } from "../../src/run/RunDecider.ts"

const text = "Looking, ü😀."
const thought = "Let me see."
const first = { limit: 5, note: "ü😀" }

/** A wire's turn: what the client gets, and the turn that it must make of it. */
export interface Wire {
  readonly provider: ProviderName
  /** Its name in titles; that of its provider if it has none. */
  readonly label?: string
  /** How it is asked by a model's name. Absent = by the variables of `TROUPE_MODEL`. */
  readonly named?: {
    readonly model: string
    /** The variables, given the server's address. */
    readonly env: (origin: string) => Readonly<Record<string, string>>
  }
  /** True = its streams are Amazon's frames. */
  readonly frames?: true
  /** How many of its events follow the one that says how the answer ended; 0 if absent. */
  readonly trailing?: number
  /** The part of the address before the provider's own path. */
  readonly base: string
  readonly path: string
  readonly streamed: ReadonlyArray<object>
  readonly whole: object
  readonly turn: Turn
  /** The turn in the next request, in the provider's form. */
  readonly sentBack: (body: Record<string, unknown>) => unknown
  readonly expected: unknown
  /** Texts that no other provider may ever be sent. */
  readonly secret: ReadonlyArray<string>
}

const calls = [
  { model_id: "call_a", name: "list", arguments: first },
  { model_id: "call_b", name: "look", arguments: {} }
]

const chatUsage = {
  prompt_tokens: 30,
  completion_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 6 }
}
const usage = { input_tokens: 30, output_tokens: 15, cached_tokens: 4, reasoning_tokens: 6 }

const chatCalls = [
  {
    id: "call_a",
    type: "function",
    function: { name: "list", arguments: JSON.stringify(first) }
  },
  { id: "call_b", type: "function", function: { name: "look", arguments: "{}" } }
]

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1_700_000_000,
  model: "wire-model-1",
  choices: [{ index: 0, delta, finish_reason }]
})

const chatStream = (...before: ReadonlyArray<object>) => [
  ...before,
  chunk({ role: "assistant", content: text.slice(0, 4) }),
  chunk({ content: text.slice(4) }),
  ...chatCalls.flatMap((call, index) => [
    chunk({
      tool_calls: [{ ...call, index, function: { name: call.function.name, arguments: "" } }]
    }),
    chunk({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] })
  ]),
  chunk({}, "tool_calls"),
  { ...chunk({}), choices: [], usage: chatUsage }
]

const chatWhole = (also: object) => ({
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "wire-model-1",
  choices: [
    {
      index: 0,
      finish_reason: "tool_calls",
      message: { role: "assistant", content: text, tool_calls: chatCalls, ...also }
    }
  ],
  usage: chatUsage
})

const assistantOf = (body: Record<string, unknown>) =>
  (body["messages"] as ReadonlyArray<{ role: string }>).find(({ role }) => role === "assistant")

export const openai: Wire = {
  provider: "openai",
  trailing: 1,
  base: "/v1",
  path: "/v1/chat/completions",
  streamed: chatStream(),
  whole: chatWhole({ refusal: null }),
  turn: { text, calls, finish: "tool_calls", usage, model: "wire-model-1" },
  sentBack: assistantOf,
  expected: { role: "assistant", content: text, tool_calls: chatCalls },
  secret: []
}

const detail = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 }
const details = [{ ...detail, text: thought, signature: "b3Itc2lnbmF0dXJl" }]

export const compatible: Wire = {
  ...openai,
  provider: "openai-compatible",
  streamed: chatStream(
    chunk({ reasoning: "Let me ", reasoning_details: [{ ...detail, text: "Let me " }] }),
    chunk({ reasoning: "see.", reasoning_details: [{ ...detail, text: "see." }] }),
    chunk({ reasoning_details: [{ ...detail, text: "", signature: "b3Itc2lnbmF0dXJl" }] })
  ),
  whole: chatWhole({ reasoning: thought, reasoning_details: details }),
  turn: {
    ...openai.turn,
    reasoning: [{ text: thought }],
    parts: [
      { of: "reasoning" },
      { of: "text", units: text.length },
      { of: "call" },
      { of: "call" },
      {
        of: "custom",
        kind: "troupe.message",
        provider: { openaiCompatible: { reasoning_details: details } }
      }
    ],
    origin: "openaiCompatible.chat:wire-model"
  },
  expected: {
    role: "assistant",
    content: text,
    reasoning_content: thought,
    reasoning_details: details,
    tool_calls: chatCalls
  },
  secret: ["b3Itc2lnbmF0dXJl", thought]
}

const claudeUsage = {
  input_tokens: 20,
  cache_creation_input_tokens: 6,
  cache_read_input_tokens: 4,
  output_tokens: 15
}
const claudeBlocks = [
  { type: "thinking", thinking: thought, signature: "Y2xhdWRlLXNpZ25hdHVyZQ==" },
  { type: "text", text },
  { type: "redacted_thinking", data: "Y2xhdWRlLXJlZGFjdGVk" },
  { type: "tool_use", id: "call_a", name: "list", input: first },
  { type: "tool_use", id: "call_b", name: "look", input: {} }
]
const claude = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "wire-model-1",
  stop_sequence: null
}
const block = (index: number, content_block: object, ...deltas: ReadonlyArray<object>) => [
  { type: "content_block_start", index, content_block },
  ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })),
  { type: "content_block_stop", index }
]

export const anthropic: Wire = {
  provider: "anthropic",
  base: "/v1",
  path: "/v1/messages",
  streamed: [
    {
      type: "message_start",
      message: {
        ...claude,
        content: [],
        stop_reason: null,
        usage: { ...claudeUsage, output_tokens: 1 }
      }
    },
    ...block(
      0,
      { type: "thinking", thinking: "", signature: "" },
      { type: "thinking_delta", thinking: "Let me " },
      { type: "thinking_delta", thinking: "see." },
      { type: "signature_delta", signature: "Y2xhdWRlLXNpZ25hdHVyZQ==" }
    ),
    { type: "ping" },
    ...block(1, { type: "text", text: "" }, { type: "text_delta", text }),
    ...block(2, claudeBlocks[2]!),
    ...block(
      3,
      { ...claudeBlocks[3]!, input: {} },
      { type: "input_json_delta", partial_json: '{"limit": 5, ' },
      { type: "input_json_delta", partial_json: '"note": "ü😀"}' }
    ),
    ...block(4, claudeBlocks[4]!),
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 15 }
    },
    { type: "message_stop" }
  ],
  whole: { ...claude, content: claudeBlocks, stop_reason: "tool_use", usage: claudeUsage },
  turn: {
    text,
    calls,
    finish: "tool_calls",
    reasoning: [
      { text: thought, provider: { anthropic: { signature: "Y2xhdWRlLXNpZ25hdHVyZQ==" } } },
      { text: "", provider: { anthropic: { redactedData: "Y2xhdWRlLXJlZGFjdGVk" } } }
    ],
    parts: [
      { of: "reasoning" },
      { of: "text", units: text.length },
      { of: "reasoning" },
      { of: "call" },
      { of: "call" }
    ],
    origin: "anthropic.messages:wire-model",
    usage: { input_tokens: 30, output_tokens: 15, cached_tokens: 4, cache_write_tokens: 6 },
    model: "wire-model-1"
  },
  sentBack: (body) => (assistantOf(body) as { content?: unknown } | undefined)?.content,
  expected: claudeBlocks,
  secret: ["Y2xhdWRlLXNpZ25hdHVyZQ==", "Y2xhdWRlLXJlZGFjdGVk", thought]
}

const geminiParts = [
  { text: thought, thought: true },
  { text },
  { functionCall: { name: "list", args: first }, thoughtSignature: "Z2VtaW5pLXNpZ25hdHVyZQ==" },
  { functionCall: { name: "look", args: {} } }
]
const geminiEnd = {
  usageMetadata: {
    promptTokenCount: 30,
    candidatesTokenCount: 9,
    thoughtsTokenCount: 6,
    cachedContentTokenCount: 4,
    totalTokenCount: 45
  },
  modelVersion: "wire-model-1"
}
const candidate = (parts: ReadonlyArray<object>, also: object = {}) => ({
  candidates: [{ content: { role: "model", parts }, index: 0, ...also }],
  modelVersion: "wire-model-1"
})

export const google: Wire = {
  provider: "google",
  base: "/v1beta",
  path: "/v1beta/models/wire-model:streamGenerateContent",
  streamed: [
    ...geminiParts.map((part) => candidate([part])),
    { ...candidate([{ text: "" }], { finishReason: "STOP" }), ...geminiEnd }
  ],
  whole: { ...candidate(geminiParts, { finishReason: "STOP" }), ...geminiEnd },
  turn: {
    text,
    calls: [
      {
        ...calls[0]!,
        model_id: "call_1_0",
        provider: { google: { thoughtSignature: "Z2VtaW5pLXNpZ25hdHVyZQ==" } }
      },
      { ...calls[1]!, model_id: "call_1_1" }
    ],
    finish: "tool_calls",
    reasoning: [{ text: thought }],
    origin: "google.generative-ai:wire-model",
    usage,
    // The client library does not report the model's version.
    model: "wire-model"
  },
  sentBack: (body) =>
    (body["contents"] as ReadonlyArray<{ role: string; parts: unknown }>).find(
      ({ role }) => role === "model"
    )?.parts,
  // Calls get the ids that the journal has for them, because the wire gave none.
  expected: geminiParts.map((part, index) =>
    "functionCall" in part
      ? { ...part, functionCall: { id: `call_1_${index - 2}`, ...part.functionCall } }
      : part
  ),
  secret: ["Z2VtaW5pLXNpZ25hdHVyZQ==", thought]
}

const items = [
  {
    id: "rs_1",
    type: "reasoning",
    summary: [{ type: "summary_text", text: thought }],
    encrypted_content: "b3BlbmFpLWVuY3J5cHRlZA=="
  },
  {
    id: "msg_1",
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text, annotations: [] }]
  },
  ...chatCalls.map((call, index) => ({
    id: `fc_${index + 1}`,
    type: "function_call",
    status: "completed",
    call_id: call.id,
    ...call.function
  }))
]
const response = {
  id: "resp_1",
  object: "response",
  created_at: 1_700_000_000,
  model: "wire-model-1",
  error: null,
  incomplete_details: null
}
const responseEnd = {
  ...response,
  status: "completed",
  output: items,
  usage: {
    input_tokens: 30,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 15,
    output_tokens_details: { reasoning_tokens: 6 },
    total_tokens: 45
  }
}
const at = (output_index: number) => ({ item_id: items[output_index]!.id, output_index })
const added = (output_index: number, also: object) => ({
  type: "response.output_item.added",
  output_index,
  item: { ...items[output_index]!, ...also }
})
const done = (output_index: number) => ({
  type: "response.output_item.done",
  output_index,
  item: items[output_index]
})
const numbered = (events: ReadonlyArray<object>) =>
  events.map((event, sequence_number) => ({ ...event, sequence_number }))

export const responses: Wire = {
  provider: "openai-responses",
  base: "/v1",
  path: "/v1/responses",
  streamed: numbered([
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    added(0, { summary: [], encrypted_content: "b3BlbmFpLXVuZmluaXNoZWQ=" }),
    {
      ...at(0),
      type: "response.reasoning_summary_part.added",
      summary_index: 0,
      part: { type: "summary_text", text: "" }
    },
    {
      ...at(0),
      type: "response.reasoning_summary_text.delta",
      summary_index: 0,
      delta: "Let me "
    },
    { ...at(0), type: "response.reasoning_summary_text.delta", summary_index: 0, delta: "see." },
    {
      ...at(0),
      type: "response.reasoning_summary_part.done",
      summary_index: 0,
      part: { type: "summary_text", text: thought }
    },
    done(0),
    added(1, { status: "in_progress", content: [] }),
    { ...at(1), type: "response.output_text.delta", content_index: 0, delta: text },
    done(1),
    ...[2, 3].flatMap((index) => [
      added(index, { status: "in_progress", arguments: "" }),
      {
        ...at(index),
        type: "response.function_call_arguments.delta",
        delta: chatCalls[index - 2]!.function.arguments
      },
      done(index)
    ]),
    { type: "response.completed", response: responseEnd }
  ]),
  whole: responseEnd,
  turn: {
    text,
    calls: calls.map((call, index) => ({
      ...call,
      provider: { openai: { itemId: `fc_${index + 1}` } }
    })),
    finish: "tool_calls",
    reasoning: [
      {
        text: thought,
        provider: {
          openai: { itemId: "rs_1", reasoningEncryptedContent: "b3BlbmFpLWVuY3J5cHRlZA==" }
        }
      }
    ],
    parts: [
      { of: "reasoning" },
      { of: "text", units: text.length, provider: { openai: { itemId: "msg_1" } } },
      { of: "call" },
      { of: "call" }
    ],
    origin: "openai.responses:wire-model",
    usage,
    model: "wire-model-1"
  },
  sentBack: (body) => (body["input"] as ReadonlyArray<object>).slice(2, 6),
  // Only reasoning is sent by its id, since the provider stores nothing.
  expected: [
    items[0],
    { role: "assistant", content: text },
    ...chatCalls.map((call) => ({ type: "function_call", call_id: call.id, ...call.function }))
  ].map((item) => {
    if (item === undefined || !("encrypted_content" in item)) return item
    const { encrypted_content, id, summary, type } = item
    return { type, id, encrypted_content, summary }
  }),
  secret: ["b3BlbmFpLWVuY3J5cHRlZA==", "rs_1", thought]
}

export const labelOf = ({ label, provider }: Wire): string => label ?? provider

export const wires: ReadonlyArray<Wire> = [openai, compatible, anthropic, google, responses]
