/**
 * One conversation as other systems export it: `ai` 7.0.173 (`readUIMessageStream`, checked by its `validateUIMessages`), chat
 * completions of `openai`, and `@langchain/core` 1.4.0 (`JSON.stringify` of its messages, `mapChatMessagesToStoredMessages`, and what
 * a LangGraph server sends).
 */
import type { Json } from "../../src/value/Canonical.ts"

const picture = "https://example.com/a.png"

export const aiSdk: ReadonlyArray<Json> = [
  { id: "s1", role: "system", parts: [{ type: "text", text: "You are root." }] },
  {
    id: "u1",
    role: "user",
    parts: [
      { type: "text", text: "Where is order 7?" },
      { type: "file", mediaType: "image/png", url: picture }
    ]
  },
  {
    id: "a1",
    role: "assistant",
    parts: [
      { type: "step-start" },
      { type: "reasoning", id: "r", text: "hm", state: "done" },
      {
        type: "tool-look",
        toolCallId: "c1",
        state: "output-available",
        input: { order: 7 },
        output: { status: "paid by tool" }
      },
      {
        type: "dynamic-tool",
        toolName: "ask",
        toolCallId: "c2",
        state: "input-available",
        input: {}
      },
      { type: "step-start" },
      { type: "source-url", sourceId: "s", url: "https://example.com" },
      { type: "text", text: "It is shipped.", state: "done" },
      { type: "data-note", data: { a: 1 } }
    ]
  }
]

const called = { id: "c1", type: "function", function: { name: "look", arguments: '{"order":7}' } }

export const openAi: ReadonlyArray<Json> = [
  { role: "system", content: "You are root." },
  { role: "developer", content: "Obey." },
  {
    role: "user",
    content: [
      { type: "text", text: "Where is order 7?" },
      { type: "image_url", image_url: { url: picture } }
    ]
  },
  { role: "assistant", content: null, tool_calls: [called] },
  { role: "tool", tool_call_id: "c1", content: "paid by tool" },
  { role: "assistant", content: "It is shipped.", refusal: null }
]

const call = { id: "c1", name: "look", args: { order: 7 } }
const also = { additional_kwargs: {}, response_metadata: {} }

const classes = {
  system: "SystemMessage",
  human: "HumanMessage",
  ai: "AIMessageChunk",
  tool: "ToolMessage"
}

const members: ReadonlyArray<
  readonly [type: keyof typeof classes, given: { readonly [name: string]: Json }]
> = [
  ["system", { content: "You are root.", ...also }],
  [
    "human",
    {
      content: [
        { type: "text", text: "Where is order 7?" },
        { type: "image_url", image_url: { url: picture } }
      ],
      ...also
    }
  ],
  ["ai", { content: "", tool_calls: [call], invalid_tool_calls: [], ...also }],
  ["tool", { content: "paid by tool", tool_call_id: "c1", name: "look", ...also }],
  ["ai", { content: [{ type: "text", text: "It is shipped." }], tool_calls: [], ...also }]
]

export const langChain: ReadonlyArray<Json> = members.map(([type, given]) => ({ type, ...given }))
export const langChainStored: ReadonlyArray<Json> = members.map(([type, data]) => ({ type, data }))
export const langChainSerialised: ReadonlyArray<Json> = members.map(([type, kwargs]) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", classes[type]],
  kwargs
}))

/** Longer than it takes to kill the process that imports it. */
export const long = Array.from({ length: 80 }, (_, n) => ({
  role: n % 2 === 0 ? "user" : "assistant",
  content: `text ${n}`
}))
