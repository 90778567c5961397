/**
 * How providers cut, filter, refuse and lose a turn, over real HTTP: whole and in pieces of 7 bytes, streamed and not.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { serve, status } from "./ChatServer.ts"
import {
  claudeBlock,
  claudeStart,
  delta,
  end,
  plain,
  turnOf,
  turnsOf,
  whole,
  claudeEnd
} from "./WireEvents.ts"
import { askAt, body, pieces } from "./Wires.ts"
import { anthropic, compatible, google, openai, responses } from "./WireTurns.ts"
import type { Answer } from "./ChatServer.ts"

const asks = (args: string) => ({
  index: 0,
  id: "c",
  type: "function",
  function: { name: "wipe", arguments: args }
})
const saidWhole = (args: string, finish: string) =>
  whole({ role: "assistant", content: null, tool_calls: [asks(args)] }, finish)

const toolUse = { type: "tool_use", id: "c", name: "wipe", input: {} }

const incomplete = {
  incomplete_details: { reason: "max_output_tokens" },
  status: "incomplete"
}
const functionCall = (args: string) => ({
  type: "function_call",
  id: "fc",
  call_id: "c",
  name: "wipe",
  arguments: args,
  status: "incomplete"
})

describe("a call whose stream was cut", () => {
  for (const wire of [openai, compatible]) {
    it.live(`has no arguments instead of {}: ${wire.provider}`, () =>
      Effect.gen(function* () {
        for (const args of ["", '{"n":']) {
          const events = [delta({ tool_calls: [asks("")] }), delta({ tool_calls: [asks(args)] })]
          const turns = yield* turnsOf(wire, [...events, end("length")], saidWhole(args, "length"))
          for (const turn of turns) {
            assert.strictEqual(turn.finish, "length")
            assert.deepInclude(turn.calls[0], { name: "wipe", arguments: null, malformed: args })
          }
        }
      })
    )
  }

  it.live("has no arguments instead of {}: anthropic", () =>
    Effect.gen(function* () {
      const cut = yield* turnsOf(
        anthropic,
        [claudeStart, ...claudeBlock(0, toolUse), ...claudeEnd("max_tokens")],
        undefined
      )
      assert.deepInclude(cut[0]?.calls[0], { arguments: null, malformed: "" })
      // A block that was not closed, in an answer with a finish reason.
      const [begun] = claudeBlock(0, toolUse)
      const open = yield* turnsOf(anthropic, [claudeStart, begun!, ...claudeEnd("max_tokens")])
      assert.strictEqual(open[0]?.finish, "length")
      assert.deepInclude(open[0]?.calls[0], { name: "wipe", arguments: null, malformed: "" })
    })
  )

  it.live("has no arguments instead of {}: openai-responses", () =>
    Effect.gen(function* () {
      const response = { ...responses.whole, ...incomplete, output: [functionCall("")] }
      const [streamed, answered] = yield* turnsOf(
        responses,
        [
          { type: "response.created", response: { id: "r", created_at: 1, model: "m" } },
          { type: "response.output_item.added", output_index: 0, item: functionCall("") },
          { type: "response.output_item.done", output_index: 0, item: functionCall("") },
          { type: "response.incomplete", response }
        ],
        response
      )
      for (const turn of [streamed, answered]) {
        assert.strictEqual(turn?.finish, "length")
        assert.deepInclude(turn?.calls[0], { name: "wipe", arguments: null, malformed: "" })
      }
    })
  )

  it.live(
    "has its arguments where they are whole, and {} where its turn finished without any",
    () =>
      Effect.gen(function* () {
        const full = asks('{"n":1}')
        const turns = yield* turnsOf(
          compatible,
          [delta({ tool_calls: [full] }), end("length")],
          saidWhole('{"n":1}', "length")
        )
        for (const turn of turns) assert.deepStrictEqual(turn.calls[0]?.arguments, { n: 1 })
        const free = yield* turnsOf(
          compatible,
          [delta({ tool_calls: [asks("")] }), end("tool_calls")],
          saidWhole("", "tool_calls")
        )
        for (const turn of free) assert.deepStrictEqual(turn.calls[0]?.arguments, {})
      })
  )

  it.live(
    "with an unknown finish reason ends its turn as other, whatever a client library makes of it",
    () =>
      Effect.gen(function* () {
        const response = {
          ...responses.whole,
          status: "incomplete",
          incomplete_details: { reason: "preempted" },
          output: [functionCall('{"n":1}')]
        }
        const { turn } = yield* turnOf(responses, [status(200, response)], plain)
        assert.deepStrictEqual([turn.finish, turn.finish_raw], ["other", "preempted"])
        const [odd] = yield* turnsOf(compatible, [
          delta({ tool_calls: [asks("{}")] }),
          end("hiccup")
        ])
        assert.strictEqual(odd?.finish, "other")
      })
  )
})

describe("a filter", () => {
  for (const wire of [openai, compatible]) {
    it.live(`of Azure without a message is a filtered end: ${wire.provider}`, () =>
      Effect.gen(function* () {
        const results = { hate: { filtered: true, severity: "high" } }
        const turns = yield* turnsOf(
          wire,
          [
            {
              id: "",
              object: "",
              created: 0,
              model: "",
              choices: [],
              prompt_filter_results: [{ prompt_index: 0, content_filter_results: results }]
            },
            {
              id: "",
              object: "",
              created: 0,
              model: "",
              choices: [
                {
                  index: 0,
                  finish_reason: "content_filter",
                  content_filter_results: results,
                  content_filter_offsets: { check_offset: 0, start_offset: 0, end_offset: 0 }
                }
              ]
            }
          ],
          {
            ...whole(undefined, "content_filter"),
            prompt_filter_results: [{ prompt_index: 0, content_filter_results: results }]
          }
        )
        for (const turn of turns) {
          assert.deepStrictEqual(
            [turn.text, turn.calls.length, turn.finish],
            ["", 0, "content_filter"]
          )
        }
      })
    )
  }

  it.live(
    "of a prompt, by Azure's 400 or OpenRouter's 403, is a refusal that names the filter",
    () =>
      Effect.gen(function* () {
        const azure = {
          error: {
            message: "The response was filtered",
            type: null,
            param: "prompt",
            code: "content_filter",
            status: 400,
            innererror: { code: "ResponsibleAIPolicyViolation", content_filter_result: {} }
          }
        }
        const moderated = {
          error: {
            code: 403,
            message: "Your input was flagged",
            metadata: { reasons: ["violence"], flagged_input: "…", provider_name: "p" }
          }
        }
        for (const [code, said] of [
          [400, azure],
          [403, moderated]
        ] as const) {
          for (const asking of [{}, plain]) {
            const server = yield* serve([status(code, said)])
            const failure = yield* Effect.flip(askAt(compatible, server, asking))
            assert.deepInclude(failure, { kind: "refused", reason: "content_filter" })
            assert.include(failure.message, said.error.message)
          }
        }
        const server = yield* serve([status(403, { error: { code: 403, message: "no" } })])
        const failure = yield* Effect.flip(askAt(compatible, server))
        assert.strictEqual(failure.kind, "configuration")
      }).pipe(Effect.scoped)
  )

  it.live("of Gemini's prompt is a filtered turn", () =>
    Effect.gen(function* () {
      const blocked = { promptFeedback: { blockReason: "PROHIBITED_CONTENT" } }
      for (const turn of yield* turnsOf(google, [blocked], blocked)) {
        assert.deepStrictEqual(
          [turn.text, turn.finish, turn.finish_raw],
          ["", "content_filter", "PROHIBITED_CONTENT"]
        )
      }
    })
  )
})

describe("a call that its provider cannot parse", () => {
  it.live("of Gemini goes back to the model with the provider's message", () =>
    Effect.gen(function* () {
      const answer = {
        candidates: [
          {
            content: {},
            finishReason: "MALFORMED_FUNCTION_CALL",
            finishMessage: "Malformed function call: print(wipe("
          }
        ]
      }
      for (const turn of yield* turnsOf(google, [answer], answer)) {
        assert.strictEqual(turn.finish, "other")
        assert.include(turn.unreadable, "print(wipe(")
      }
      const [through] = yield* turnsOf(compatible, [
        delta({ content: "" }),
        end("function_call_filter: MALFORMED_FUNCTION_CALL")
      ])
      assert.include(through?.unreadable, "MALFORMED_FUNCTION_CALL")
    })
  )

  it.live(
    "of Groq goes back to the model with the text of the call, from an error status or from the stream",
    () =>
      Effect.gen(function* () {
        const failed = {
          error: {
            message: "Failed to call a function.",
            type: "invalid_request_error",
            code: "tool_use_failed",
            failed_generation: "<function=wipe>{n:1}"
          }
        }
        const text = body(compatible, [delta({ content: "I w" }), failed])
        const all = [
          yield* turnOf(compatible, [status(400, failed)]),
          yield* turnOf(compatible, [status(400, failed)], plain),
          yield* turnOf(openai, [status(400, failed)]),
          yield* turnOf(compatible, [pieces(text, [7])])
        ]
        for (const { turn } of all) {
          assert.include(turn.unreadable, "<function=wipe>{n:1}")
          assert.deepStrictEqual([turn.text, turn.calls.length], ["", 0])
        }
        // The deltas that were sent of it are withdrawn.
        assert.deepStrictEqual(all[3]?.deltas.at(-1), { kind: "reasoning", text: "", offset: 0 })
      })
  )
})

describe("a body of another kind than its content type", () => {
  const labelled =
    (text: string, type: string): Answer =>
    async (reply) => {
      reply.writeHead(200, { "content-type": type })
      const bytes = Buffer.from(text)
      for (let at = 0; at < bytes.length; at += 7) reply.write(bytes.subarray(at, at + 7))
      reply.end()
    }

  for (const wire of [openai, compatible, responses, anthropic, google]) {
    it.live(`is read by its content: ${wire.provider}`, () =>
      Effect.gen(function* () {
        const events = yield* turnOf(wire, [pieces(body(wire), [7])])
        const json = yield* turnOf(wire, [labelled(`\n${body(wire)}`, "application/json")])
        assert.deepStrictEqual(json.turn, events.turn)
        const once = yield* turnOf(wire, [status(200, wire.whole)], plain)
        for (const type of ["application/json", "text/event-stream", "text/plain"]) {
          const given = yield* turnOf(wire, [labelled(JSON.stringify(wire.whole), type)])
          assert.deepStrictEqual(given.turn, once.turn, type)
          assert.strictEqual(given.asked.length, 1)
        }
      })
    )
  }

  it.live("that is Gemini's JSON list of events is read as a stream", () =>
    Effect.gen(function* () {
      const events = yield* turnOf(google, [pieces(body(google), [7])])
      const listed = yield* turnOf(google, [
        labelled(JSON.stringify(google.streamed), "application/json")
      ])
      assert.deepStrictEqual(listed.turn, events.turn)
    })
  )

  it.live("with an error after a turn that was cut is that turn, and no error", () =>
    Effect.gen(function* () {
      const said = delta({ content: "", reasoning: "Let me" })
      const error = {
        ...delta({ content: "" }),
        error: { code: 400, message: "Token limit reached" }
      }
      const [turn] = yield* turnsOf(compatible, [said, end("length"), error])
      assert.deepStrictEqual([turn?.text, turn?.finish], ["", "length"])
    })
  )
})
