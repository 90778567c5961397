/** What a provider does by itself within a turn: tools that it runs, and turns that it pauses for them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { status } from "./ChatServer.ts"
import {
  claudeStart,
  claudeWhole,
  plain,
  turnOf,
  turnsOf,
  whole,
  claudeBlock,
  claudeEnd,
  delta,
  end
} from "./WireEvents.ts"
import { withRan } from "../../layers/model/wire/TurnParts.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { body, pieces } from "./Wires.ts"
import { anthropic, compatible, responses } from "./WireTurns.ts"

const search = [
  ...claudeBlock(0, { type: "text", text: "" }, { type: "text_delta", text: "Let me look. " }),
  ...claudeBlock(
    1,
    { type: "server_tool_use", id: "srv_1", name: "web_search", input: {} },
    { type: "input_json_delta", partial_json: '{"query":"x"}' }
  ),
  ...claudeBlock(2, {
    type: "web_search_tool_result",
    tool_use_id: "srv_1",
    content: [
      {
        type: "web_search_result",
        url: "https://example.org/a",
        title: "A",
        encrypted_content: "e",
        page_age: null
      }
    ]
  })
]

const ended = body(anthropic, [
  claudeStart,
  ...claudeBlock(0, { type: "text", text: "" }, { type: "text_delta", text: "Found." }),
  ...claudeEnd("end_turn")
])

describe("what Anthropic ran in a turn that goes on", () => {
  const own = { type: "tool_use", id: "toolu_1", name: "list", input: {} }
  const turning = (stop_reason: string, ...more: ReadonlyArray<object>) =>
    turnOf(anthropic, [
      pieces(body(anthropic, [claudeStart, ...search, ...more, ...claudeEnd(stop_reason)]), [64])
    ])
  const list = { name: "list", description: "Lists.", input_schema: { type: "object" as const } }
  const web = [{ tool: "web_search" }] as const

  /** The types of what the model said, as the next request has them. */
  const sentBack = (
    turn: Turn,
    over: Partial<ModelRequest>,
    past: "history" | "transcript" = "transcript"
  ) =>
    Effect.gen(function* () {
      const { calls, origin, parts, text } = turn
      const said = {
        role: "assistant",
        text,
        calls,
        ...(parts && { parts }),
        ...(origin && { origin })
      } as const
      const call = CallId.make("0/1.0")
      const outcome = { _tag: "Value", json: "[]" } as const
      const result = { role: "tool", call, model_id: "toolu_1", name: "list", outcome } as const
      const entries = [{ role: "user", text: "hello" }, said, result] as const
      const { asked } = yield* turnOf(anthropic, [pieces(ended, [64])], {
        over: { tools: [list], ...over, [past]: entries }
      })
      const messages = asked[0]!.body["messages"] as ReadonlyArray<{
        readonly content: ReadonlyArray<Record<string, unknown>>
      }>
      return messages[1]!.content
    })

  it.live("goes back with its result in the next step, as it came", () =>
    Effect.gen(function* () {
      const { turn } = yield* turning("tool_use", ...claudeBlock(3, own))
      const content = yield* sentBack(turn, { provider_tools: web })
      assert.deepStrictEqual(
        content.map(({ type }) => type),
        ["text", "server_tool_use", "web_search_tool_result", "tool_use"]
      )
      assert.deepInclude(content[1]!, { id: "srv_1", name: "web_search", input: { query: "x" } })
      const found = content[2]!["content"] as ReadonlyArray<object>
      assert.deepInclude(found[0]!, { url: "https://example.org/a", encrypted_content: "e" })
    })
  )

  it.live(
    "stays out of a step without the tool, of later runs, and of the journal where the run ends",
    () =>
      Effect.gen(function* () {
        const { turn } = yield* turning("tool_use", ...claudeBlock(3, own))
        for (const content of [
          yield* sentBack(turn, {}),
          yield* sentBack(turn, { provider_tools: web }, "history"),
          yield* sentBack({ ...turn, origin: "another" }, { provider_tools: web })
        ]) {
          assert.deepStrictEqual(
            content.map(({ type }) => type),
            ["text", "tool_use"]
          )
        }
        const last = yield* turning("end_turn")
        assert.strictEqual(last.turn.ran?.length, 1)
        assert.notProperty(last.turn, "parts")
      })
  )

  it("is kept where it is whole, and of a bounded size", () => {
    const call = { type: "tool-call", toolCallId: "a", toolName: "web_search", input: {} } as const
    const result = (value: string) =>
      ({
        type: "tool-result",
        toolCallId: "a",
        toolName: "web_search",
        output: { type: "json", value }
      }) as const
    const kept = (...parts: ReadonlyArray<ReturnType<typeof result> | typeof call>) =>
      withRan(
        parts.map((part) => ({ of: "ran", part })),
        () => true
      ).length
    assert.deepStrictEqual(
      [
        kept(call, result("x")),
        kept(call),
        kept(result("x")),
        kept(call, result("x".repeat(400_000)))
      ],
      [2, 0, 0, 0]
    )
  })
})

describe("a turn that Anthropic paused", () => {
  const paused = body(anthropic, [claudeStart, ...search, ...claudeEnd("pause_turn")])
  it.live("is continued with its text so far, as one turn", () =>
    Effect.gen(function* () {
      const { asked, turn } = yield* turnOf(anthropic, [pieces(paused, [7]), pieces(ended, [7])])
      assert.deepStrictEqual([turn.text, turn.finish], ["Let me look. Found.", "stop"])
      assert.strictEqual(asked.length, 2)
      const messages = asked[1]?.body["messages"] as ReadonlyArray<Record<string, unknown>>
      const last = messages.at(-1)!
      assert.strictEqual(last["role"], "assistant")
      const types = (last["content"] as ReadonlyArray<{ type: string }>).map(({ type }) => type)
      assert.deepStrictEqual(types, ["text", "server_tool_use", "web_search_tool_result"])
      assert.deepInclude(turn.usage, { input_tokens: 6, output_tokens: 18 })
      assert.strictEqual(turn.ran?.[0]?.name, "web_search")
      assert.deepStrictEqual(turn.sources, [{ url: "https://example.org/a", title: "A" }])
    })
  )

  it.live("is continued at most 8 times, and is then not finished", () =>
    Effect.gen(function* () {
      const { asked, turn } = yield* turnOf(anthropic, [pieces(paused, [4_096])])
      assert.strictEqual(asked.length, 9)
      assert.deepStrictEqual([turn.finish, turn.finish_raw], ["other", "pause_turn"])
    })
  )

  it.live(
    "with a summary of the conversation goes back with that summary, which is not part of the answer",
    () =>
      Effect.gen(function* () {
        const summary = "SUMMARY OF EVERYTHING"
        const turns = yield* turnsOf(
          anthropic,
          [
            claudeStart,
            ...claudeBlock(
              0,
              { type: "compaction", content: null },
              { type: "compaction_delta", content: summary }
            ),
            ...claudeBlock(1, { type: "text", text: "" }, { type: "text_delta", text: "Yes." }),
            ...claudeEnd("end_turn")
          ],
          claudeWhole(
            [
              { type: "compaction", content: summary },
              { type: "text", text: "Yes." }
            ],
            "end_turn"
          )
        )
        for (const turn of turns) {
          assert.strictEqual(turn.text, "Yes.")
          const { parts, origin, text } = turn
          const { asked } = yield* turnOf(anthropic, [pieces(ended, [4_096])], {
            over: {
              transcript: [
                { role: "user", text: "hello" },
                { role: "assistant", text, calls: [], parts: parts!, origin: origin! },
                { role: "user", text: "and?" }
              ]
            }
          })
          assert.include(JSON.stringify(asked[0]?.body), '"type":"compaction"')
          assert.include(JSON.stringify(asked[0]?.body), summary)
        }
      })
  )
})

describe("a tool that the provider ran itself", () => {
  it.live("is in the turn, with its arguments and its result", () =>
    Effect.gen(function* () {
      const whole = {
        ...responses.whole,
        output: [
          {
            type: "code_interpreter_call",
            id: "ci_1",
            status: "completed",
            code: "print(1)",
            container_id: "c",
            outputs: [{ type: "logs", logs: "1" }]
          },
          {
            type: "message",
            id: "msg_1",
            role: "assistant",
            status: "completed",
            content: [
              {
                type: "output_text",
                text: "One.",
                annotations: [
                  {
                    type: "url_citation",
                    start_index: 0,
                    end_index: 3,
                    url: "https://example.org/one",
                    title: "One"
                  }
                ]
              }
            ]
          }
        ]
      }
      const { turn } = yield* turnOf(responses, [status(200, whole)], plain)
      assert.deepStrictEqual([turn.text, turn.calls, turn.finish], ["One.", [], "stop"])
      const [ran] = turn.ran ?? []
      assert.include(ran?.arguments, "print(1)")
      assert.include(ran?.result, "logs")
      assert.deepStrictEqual(turn.sources, [{ url: "https://example.org/one", title: "One" }])
    })
  )

  it.live("is in the turn where only the wire names it", () =>
    Effect.gen(function* () {
      const said = {
        annotations: [
          {
            type: "url_citation",
            url_citation: { url: "https://example.org/a", title: "A", start_index: 0, end_index: 1 }
          }
        ],
        executed_tools: [
          { index: 0, type: "search", arguments: '{"query":"x"}', output: "found", name: null }
        ]
      }
      const lists = { citations: ["https://example.org/b", "https://example.org/a"] }
      const turns = yield* turnsOf(
        compatible,
        [
          { ...delta({ content: "Yes.", ...said }), ...lists },
          { ...end("stop"), ...lists }
        ],
        { ...whole({ role: "assistant", content: "Yes.", ...said }, "stop"), ...lists }
      )
      for (const turn of turns) {
        assert.deepStrictEqual(turn.sources, [
          { url: "https://example.org/a", title: "A" },
          { url: "https://example.org/b" }
        ])
        const [ran] = turn.ran ?? []
        assert.deepInclude(ran, { name: "search", arguments: '{"query":"x"}', result: '"found"' })
      }
    })
  )
})
