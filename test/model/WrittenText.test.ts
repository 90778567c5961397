/** Reasoning and calls that a model writes into its text, over real HTTP: streamed in pieces of any size, and whole. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { WrittenText } from "../../layers/model/wire/WrittenText.ts"
import { habitsOf } from "../../layers/model/providers/Providers.ts"
import type { ModelSettings } from "../../src/agent/ModelSettings.ts"
import type { ModelTool } from "../../services/ModelGateway.ts"
import { status } from "./ChatServer.ts"
import { delta, end, turnOf, whole } from "./WireEvents.ts"
import type { Asking } from "./Wires.ts"
import { body, pieces } from "./Wires.ts"
import { compatible, openai } from "./WireTurns.ts"

const tools: ReadonlyArray<ModelTool> = [
  {
    name: "find",
    description: "Finds.",
    input_schema: {
      type: "object",
      properties: { q: { type: "string" }, many: { type: "integer" } }
    }
  },
  { name: "list_all", description: "Lists.", input_schema: { type: "object" } }
]

interface Read {
  readonly text?: string
  readonly reasoning?: string
  readonly calls?: ReadonlyArray<readonly [name: string, args: unknown]>
  readonly unreadable?: true
  readonly finish?: string
}

const asking = (model: string, settings: ModelSettings = {}, with_tools = true): Asking => ({
  over: { model, settings, tools: with_tools ? tools : [] }
})

/** The turns of this text: streamed in pieces of 1, 7 and all its bytes, of an event for each unit, and whole. */
const turnsOf = (content: string, given: Asking, finish = "stop", wire = compatible) =>
  Effect.gen(function* () {
    const events = [delta({ role: "assistant", content }), end(finish)]
    const units = [...content].map((unit) => delta({ content: unit }))
    const said = [events, [...units, end(finish)]].flatMap((each) => {
      const text = body(wire, each)
      return each === events ? [pieces(text, [7]), pieces(text, [4096])] : [pieces(text, [4096])]
    })
    const streamed = yield* Effect.forEach(said, (answer) => turnOf(wire, [answer], given))
    const answer = status(200, whole({ role: "assistant", content }, finish))
    const env = { TROUPE_MODEL_STREAM: "off" }
    return [...streamed, yield* turnOf(wire, [answer], { ...given, env })]
  })

/** What a follower of the deltas has in the end. */
const followed = (deltas: ReadonlyArray<{ kind: string; text: string; offset: number }>) => {
  const texts = { text: "", reasoning: "" }
  for (const { kind, offset, text } of deltas) {
    const of = kind as keyof typeof texts
    texts[of] = texts[of].slice(0, offset) + text
  }
  return texts
}

const reads = (content: string, given: Asking, read: Read, finish?: string) =>
  Effect.gen(function* () {
    for (const { deltas, turn } of yield* turnsOf(content, given, finish)) {
      const reasoning = (turn.reasoning ?? []).map(({ text }) => text).join("|")
      assert.deepStrictEqual(
        {
          text: turn.text,
          reasoning,
          calls: turn.calls.map(({ arguments: args, name }) => [name, args]),
          unreadable: turn.unreadable !== undefined,
          finish: turn.finish
        },
        {
          text: "",
          reasoning: "",
          calls: [],
          unreadable: false,
          finish: read.calls === undefined ? (read.unreadable ? "other" : "stop") : "tool_calls",
          ...read
        } as never,
        content
      )
      const seen = followed(deltas)
      assert.strictEqual(seen.text, turn.text)
      assert.strictEqual(seen.reasoning, reasoning.replaceAll("|", ""))
    }
  })

describe("<think> in a text", () => {
  const plain = asking("deepseek-r1")

  it.live("is reasoning, also nested, several times, and where it has no end", () =>
    Effect.gen(function* () {
      const thought: ReadonlyArray<readonly [string, Read]> = [
        ["<think>\nLet me see.\n</think>\n\nYes.", { text: "Yes.", reasoning: "Let me see.\n" }],
        ["\n <think>a</think>b", { text: "\n b", reasoning: "a" }],
        ["<think>a <think>b</think> c</think>d", { text: "d", reasoning: "a b c" }],
        [
          "One.\n<think>a</think>Two.\n<think>b</think>Three.",
          { text: "One.\nTwo.\nThree.", reasoning: "a|b" }
        ],
        ["<think></think>Yes.", { text: "Yes." }],
        ["<think>a < b, </thin", { reasoning: "a < b, </thin" }],
        // A template may have written the begin.
        ["Let me see.\n</think>\n\nYes.", { text: "Yes.", reasoning: "Let me see.\n" }]
      ]
      for (const [content, read] of thought) yield* reads(content, plain, read)
    })
  )

  it.live("is text within a line, as a quotation, and where it is switched off", () =>
    Effect.gen(function* () {
      const quoted = "Write `<think>` first, then </think>, and <thinking> never. a <"
      yield* reads(quoted, plain, { text: quoted })
      const off = asking("deepseek-r1", { think_tags: false })
      yield* reads("<think>a</think>b", off, { text: "<think>a</think>b" })
    })
  )

  it.live("is text at a provider that gives reasoning of its own, unless it is switched on", () =>
    Effect.gen(function* () {
      const content = "<think>a</think>b"
      for (const { turn } of yield* turnsOf(content, asking("gpt"), "stop", openai)) {
        assert.strictEqual(turn.text, content)
      }
      const on = asking("gpt", { think_tags: true })
      for (const { turn } of yield* turnsOf(content, on, "stop", openai)) {
        assert.strictEqual(turn.text, "b")
      }
    })
  )

  it("is reasoning for clients of servers of open models", () => {
    const settings = { baseURL: "http://127.0.0.1", supportsStructuredOutputs: true }
    for (const name of ["ollama", "groq", "lmstudio", "openaiCompatible"]) {
      const model = createOpenAICompatible({ ...settings, name })("m")
      assert.isTrue(habitsOf(model).serves_as_is, model.provider)
    }
    for (const provider of ["xai.responses", "mistral.chat", "openai.chat", "mycorp.chat"]) {
      assert.isUndefined(habitsOf({ provider, modelId: "llama" }).serves_as_is)
    }
  })
})

const find = ["find", { q: 'a "b"', many: 2 }] as const
const json = JSON.stringify(find[1])

describe("a long text of marks", () => {
  it("is read in time linear in its length", () => {
    for (const piece of [
      "x<think>",
      "\n<think>a</think>",
      "\n</think>",
      " \n",
      "<tool_call>",
      "</t"
    ]) {
      const read = new WrittenText({ thinks: true, form: "tag", tools: new Map() })
      const said = [...read.push(piece.repeat(1_000_000 / piece.length)), ...read.end(false).said]
      assert.isAtMost(said.length, 1_000, piece)
    }
  })
})

describe("calls in a text", () => {
  it.live("are calls in the form that their model is known for", () =>
    Effect.gen(function* () {
      const one = `{"name": "find", "arguments": ${json}}`
      const written: ReadonlyArray<readonly [model: string, content: string, text?: string]> = [
        ["qwen3:8b", `<tool_call>\n${one}\n</tool_call>`],
        ["NousResearch/Hermes-3", `I look.\n<tool_call>${one}</tool_call>`, "I look.\n"],
        ["qwen2.5", `<tool_call>\n${one}`],
        [
          "qwen3-coder",
          `<tool_call>\n<function=find>\n<parameter=q>\na "b"\n</parameter>\n<parameter=many>\n2\n</parameter>\n</function>\n</tool_call>`
        ],
        ["llama3.1", `{"name": "find", "parameters": ${json}}`],
        ["llama3.1", `<|python_tag|>{"type": "function", "name": "find", "parameters": ${json}}`],
        ["meta-llama/Llama-4", `[find(q="a \\"b\\"", many=2)]`],
        ["mistral-nemo", `[TOOL_CALLS][{"name": "find", "arguments": ${json}}]`],
        ["devstral", `[TOOL_CALLS]find[ARGS]${json}`],
        ["mixtral:8x7b", `[TOOL_CALLS]find${json}`]
      ]
      for (const [model, content, text = ""] of written) {
        yield* reads(content, asking(model), { text, calls: [find] })
      }
    })
  )

  it.live("are several, behind reasoning, and each has an id of its own", () =>
    Effect.gen(function* () {
      const several: ReadonlyArray<readonly [string, string]> = [
        [
          "qwen3",
          `<tool_call>{"name":"find","arguments":${json}}</tool_call>\n<tool_call>{"name":"list_all"}</tool_call>`
        ],
        ["llama3.2", `[find(many=2, q='a "b"'), list_all()]`],
        ["llama3.1", `{"name":"find","parameters":${json}}; {"name":"list_all","parameters":{}}`],
        ["mistral", `[TOOL_CALLS]find${json}[TOOL_CALLS]list_all{}`]
      ]
      for (const [model, content] of several) {
        yield* reads(`<think>hm</think>\n${content}`, asking(model), {
          reasoning: "hm",
          calls: [find, ["list_all", {}]]
        })
        const [first] = yield* turnsOf(content, asking(model))
        const ids = first!.turn.calls.map((call) => call.model_id)
        assert.deepStrictEqual(ids, ["call_1_0", "call_1_1"])
      }
    })
  )

  it.live("are text for other models, without tools, by the setting and within reasoning", () =>
    Effect.gen(function* () {
      const content = `<tool_call>{"name":"find","arguments":{}}</tool_call>`
      const text = { text: content }
      yield* reads(content, asking("gpt-oss"), text)
      yield* reads(content, asking("llama3.1"), text)
      yield* reads(content, asking("qwen3", {}, false), text)
      yield* reads(content, asking("qwen3", { calls_in_text: "off" }), text)
      yield* reads(content, asking("qwen3", { tool_choice: "none" }), text)
      yield* reads(`<think>${content}</think>No.`, asking("qwen3"), {
        text: "No.",
        reasoning: content
      })
      yield* reads(content, asking("gpt-oss", { calls_in_text: "tag" }), {
        calls: [["find", {}]]
      })
    })
  )

  it.live(
    "that cannot be read, or of no tool of the turn, are told to the model and not shown",
    () =>
      Effect.gen(function* () {
        for (const [model, content] of [
          ["qwen3", `Well.\n<tool_call>{"name":"find","arguments":{"q":</tool_call>`],
          ["qwen3", `<tool_call>{"name":"wipe","arguments":{}}</tool_call>`],
          ["mistral", `[TOOL_CALLS]wipe{}`],
          ["mistral", `[TOOL_CALLS]find{"q":`],
          ["llama3", `<|python_tag|>import os`]
        ] as const) {
          const text = content.startsWith("Well") ? "Well.\n" : ""
          yield* reads(content, asking(model), { text, unreadable: true })
        }
      })
  )

  it.live("that only look so are the answer that they are", () =>
    Effect.gen(function* () {
      for (const content of [
        `{"name": "Bob", "age": 3}`,
        `{"total": 3}`,
        `[1, 2]`,
        `[wipe(a=1)]`,
        `[find(__import__("os"))]`,
        `[find(q=open("/etc/passwd"))] `,
        `{"name":"find","parameters":{}} is how to call it`,
        `Use {"name":"find","parameters":{}}`
      ]) {
        yield* reads(content, asking("llama3.1"), { text: content })
      }
    })
  )

  it.live("beside calls of the wire are text", () =>
    Effect.gen(function* () {
      const call = {
        index: 0,
        id: "c",
        type: "function",
        function: { name: "list_all", arguments: "{}" }
      }
      const content = `<tool_call>{"name":"find","arguments":{}}</tool_call>`
      const events = [delta({ content }), delta({ tool_calls: [call] }), end("tool_calls")]
      const { turn } = yield* turnOf(
        compatible,
        [pieces(body(compatible, events), [64])],
        asking("qwen3")
      )
      assert.strictEqual(turn.text, content)
      assert.deepStrictEqual(
        turn.calls.map(({ name }) => name),
        ["list_all"]
      )
    })
  )
})
