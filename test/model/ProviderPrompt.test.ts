/**
 * A transcript as a provider's prompt: every call has an id of its own and exactly one result.
 */
import { assert, describe, it } from "@effect/vitest"
import { toPrompt } from "../../layers/model/wire/ProviderPrompt.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"

const user = (text: string): TranscriptEntry => ({ role: "user", text })

const calling = (...model_ids: ReadonlyArray<string>): TranscriptEntry => ({
  role: "assistant",
  text: "",
  calls: model_ids.map((model_id) => ({ model_id, name: "list", arguments: { of: model_id } }))
})

const answered = (step: number, index: number, outcome?: Outcome): TranscriptEntry => ({
  role: "tool",
  call: CallId.make(`0/${step}.${index}`),
  model_id: "not looked at",
  name: "list",
  outcome: outcome ?? { _tag: "Value", json: `"${step}.${index}"` }
})

const prompt = (
  transcript: ReadonlyArray<TranscriptEntry>,
  history: ReadonlyArray<TranscriptEntry> = []
) => toPrompt({ system: "", history, transcript })

/** Ids of calls and of results, in order, and the results' texts. */
const pairs = (messages: ReturnType<typeof prompt>) => {
  const calls: Array<string> = []
  const results: Array<readonly [string, unknown]> = []
  for (const message of messages) {
    if (message.role === "assistant") {
      for (const part of message.content) {
        if (part.type === "tool-call") calls.push(part.toolCallId)
      }
    }
    if (message.role === "tool") {
      for (const part of message.content) {
        if (part.type === "tool-result" && "value" in part.output) {
          results.push([part.toolCallId, part.output.value])
        }
      }
    }
  }
  return { calls, results }
}

describe("ProviderPrompt", () => {
  it("makes the ids distinct that a model repeats, within a turn or from turn to turn", () => {
    const { calls, results } = pairs(
      prompt([
        user("go"),
        calling("call_0", "call_0"),
        answered(1, 0),
        answered(1, 1),
        calling("call_0", ""),
        answered(2, 0),
        answered(2, 1)
      ])
    )
    assert.deepStrictEqual(calls, ["call_0", "call_0_2", "call_0_3", "call"])
    assert.deepStrictEqual(results, [
      ["call_0", '"1.0"'],
      ["call_0_2", '"1.1"'],
      ["call_0_3", '"2.0"'],
      ["call", '"2.1"']
    ])
  })

  it("adds a result to a call without one, and leaves out a result without its call", () => {
    const messages = prompt([user("again")], [answered(1, 0), calling("a", "b"), answered(2, 1)])
    assert.deepStrictEqual(
      messages.map((message) => message.role),
      ["assistant", "tool", "user"]
    )
    assert.deepStrictEqual(pairs(messages).results, [
      ["b", '"2.1"'],
      ["a", "cancelled: this call did not run."]
    ])
  })

  it("ST-19 has an error as the text of its class, marked as an error", () => {
    const messages = prompt([
      user("go"),
      calling("a"),
      answered(1, 0, {
        _tag: "Failed",
        error: { class: "ToolUserError", kind: "invalid_args", message: "limit is missing" }
      })
    ])
    const last = messages.at(-1)!
    assert.strictEqual(last.role, "tool")
    assert.include(JSON.stringify(last.content), '"error-text"')
    assert.include(JSON.stringify(last.content), "ToolUserError (invalid_args): limit is missing")
  })

  it("has reasoning before the text, with its provider's data unchanged", () => {
    const provider = { anthropic: { signature: "abc==", nested: { n: [1, null] } } }
    const [, message] = prompt([
      user("go"),
      { role: "assistant", text: "42", calls: [], reasoning: [{ text: "hm", provider }] }
    ])
    assert.deepStrictEqual(message!.content, [
      { type: "reasoning", text: "hm", providerOptions: provider },
      { type: "text", text: "42" }
    ])
  })

  it("has malformed arguments as an empty object, and the system text first", () => {
    const messages = toPrompt({
      system: "Be terse.",
      history: [],
      transcript: [
        {
          role: "assistant",
          text: "",
          calls: [{ model_id: "a", name: "list", arguments: null, malformed: '{"x' }]
        }
      ]
    })
    assert.deepStrictEqual(messages[0], { role: "system", content: "Be terse." })
    assert.deepStrictEqual(messages[1]!.content, [
      { type: "tool-call", toolCallId: "a", toolName: "list", input: {} }
    ])
  })
})
