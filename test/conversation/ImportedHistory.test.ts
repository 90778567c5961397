/** What is taken of histories of other systems. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { HistoryFormat } from "../../src/conversation/ImportedHistory.ts"
import { readHistory } from "../../src/conversation/ImportedHistory.ts"
import * as Histories from "./Histories.ts"

const exchanges = [{ message: "Where is order 7?", answer: "It is shipped." }]

const read = (format: HistoryFormat, messages: ReadonlyArray<unknown>) =>
  Result.getOrThrow(readHistory(format, messages))

const refusal = (format: HistoryFormat, messages: ReadonlyArray<unknown>): string => {
  const result = readHistory(format, messages)
  return Result.isFailure(result) ? result.failure.message : "read"
}

describe("an imported history", () => {
  it("gives the texts of users and assistants alone, in each format", () => {
    assert.deepStrictEqual(read("ai-sdk", Histories.aiSdk), {
      exchanges,
      left_out: { system: 1, tool_calls: 2, tool_results: 1, files: 1, other: 3 }
    })
    assert.deepStrictEqual(read("chat-completions", Histories.openAi), {
      exchanges,
      left_out: { system: 2, tool_calls: 1, tool_results: 1, files: 1, other: 0 }
    })
    const { langChain, langChainSerialised, langChainStored } = Histories
    for (const form of [langChain, langChainStored, langChainSerialised]) {
      assert.deepStrictEqual(read("langchain", form), {
        exchanges,
        left_out: { system: 1, tool_calls: 1, tool_results: 1, files: 1, other: 0 }
      })
    }
  })

  it("takes nothing of what stands beside the messages of a session of OpenAI Agents", () => {
    const items = [
      { type: "message", role: "user", content: "Where is order 7?" },
      { type: "reasoning", content: [{ type: "input_text", text: "look" }] },
      { type: "function_call", callId: "1", name: "look", arguments: "{}" },
      { type: "function_call_result", callId: "1", name: "look", output: "paid by tool" },
      {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: "It is shipped." }]
      }
    ]
    assert.deepStrictEqual(read("chat-completions", items), {
      exchanges,
      left_out: { system: 0, tool_calls: 1, tool_results: 1, files: 0, other: 1 }
    })
    assert.include(refusal("chat-completions", [{ type: "message", content: "x" }]), "role")
  })

  it("may begin with the assistant, and have several messages or answers in a row", () => {
    const said = ["assistant", "user", "user", "assistant", "assistant", "user"] as const
    const messages = said.map((role, n) => ({ role, content: `${n}` }))
    assert.deepStrictEqual(read("chat-completions", messages).exchanges, [
      { message: "", answer: "0" },
      { message: "1", answer: "" },
      { message: "2", answer: "3\n\n4" },
      { message: "5", answer: "" }
    ])
    const refused = [
      { role: "user", content: "x" },
      { role: "assistant", content: null, refusal: "No." }
    ]
    assert.deepStrictEqual(read("chat-completions", refused).exchanges, [
      { message: "x", answer: "No." }
    ])
    const removed = [
      { type: "human", content: "x" },
      { type: "remove", id: "h1", content: "" }
    ]
    assert.strictEqual(read("langchain", removed).left_out.other, 1)
  })

  it("is refused with the place of what is wrong, and what belongs there", () => {
    const user = { role: "user", content: "x" }
    for (const [said, format, messages] of [
      [
        'messages[1].role has to be one of user, assistant, system, developer, tool, function (format "chat-completions")',
        "chat-completions",
        [user, { role: "root", content: "x" }]
      ],
      ["messages[0].parts has to be a list: a UIMessage has parts", "ai-sdk", [user]],
      [
        "messages[0].parts[1].text",
        "ai-sdk",
        [{ role: "user", parts: [{ type: "text", text: "x" }, { type: "text" }] }]
      ],
      ["messages[0].parts[0].type", "ai-sdk", [{ role: "user", parts: [{}] }]],
      ["messages[0].role", "ai-sdk", [{ role: "tool", parts: [] }]],
      ["messages[0].content", "chat-completions", [{ role: "user", content: 7 }]],
      ["messages[0].content[0]", "chat-completions", [{ role: "user", content: [7] }]],
      ["messages[1].content is missing", "chat-completions", [user, { role: "user", text: "x" }]],
      ["messages[1].content is missing", "chat-completions", [user, { role: "assistant" }]],
      ["messages[0].data.content is missing", "langchain", [{ type: "human", data: {} }]],
      ["messages[1].content is missing", "langchain", [user, { role: "ai", text: "x" }]],
      ["messages[0].type", "langchain", [{ type: "constructor", content: "x" }]],
      ["messages[0].data.content", "langchain", [{ type: "human", data: { content: {} } }]],
      ["messages[0].data", "langchain", [{ type: "human", data: 7 }]],
      ["messages[0].id", "langchain", [{ lc: 1, id: [], kwargs: {} }]],
      ["messages[0].kwargs", "langchain", [{ lc: 1, id: ["HumanMessage"] }]],
      ["messages[0].id", "langchain", [{ lc: 1, id: ["toString"], kwargs: {} }]],
      ["messages[0]", "chat-completions", ["x"]],
      [
        "messages: no message",
        "chat-completions",
        [
          { role: "system", content: "x" },
          { role: "user", content: " " }
        ]
      ],
      [
        "messages[1]: its text makes more than 1000000 bytes",
        "chat-completions",
        [user, { role: "user", content: "é".repeat(500_001) }]
      ]
    ] as const) {
      assert.include(refusal(format, messages), said)
    }
  })
})
