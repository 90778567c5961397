import { assert, describe, it } from "@effect/vitest"
import type { FinishReason, ModelTurned, ProposedCall, RunEvent } from "../../src/run/RunEvent.ts"
import { frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { delegated, first, proposal, says, second, started } from "./Scenes.ts"

const turn = (given: Partial<ModelTurned>): RunEvent => ({
  _tag: "ModelTurned",
  frame: rootFrame,
  step: 1,
  text: "said",
  calls: [],
  finish: "stop",
  ...given
})

const withheld = (call: typeof first, message: string): RunEvent => ({
  _tag: "CallSettled",
  call,
  outcome: {
    _tag: "Failed",
    error: { class: "ToolUserError", kind: "invalid_args", reason: "TURN_CUT", message }
  }
})

const why: Record<Exclude<FinishReason, "stop" | "tool_calls">, string> = {
  length:
    "the turn was cut at the limit of its length, before the arguments of this call were complete: it did not run. Call again with shorter arguments, or with less before the call.",
  refusal: "the turn was cut: its provider says that it was refused, so none of its calls ran.",
  content_filter: "the turn was cut: its provider filtered it, so none of its calls ran.",
  other:
    "the turn was cut: nothing says that the arguments of this call are complete, so it did not run. Call again."
}

const whole = proposal("write", { n: 1 })
const unsure: ReadonlyArray<readonly [string, ProposedCall]> = [
  ["an object of nothing", proposal("write", {})],
  ["a list", proposal("write", [1])],
  ["null", proposal("write", null)],
  ["a text", proposal("write", "text")],
  ["a number", proposal("write", 1)],
  ["text that is no JSON", { ...proposal("write", { n: 1 }), malformed: '{"n": 1' }],
  ["text that is no JSON, and null", { ...proposal("write", null), malformed: "" }]
]

const stopping = (reason: string, message: string): RunEvent => ({
  _tag: "RunStopping",
  status: "failed",
  by: "runtime",
  reason,
  message
})

describe("a call of a turn that is whole", () => {
  for (const finish of ["stop", "tool_calls"] as const) {
    for (const [what, call] of [["whole arguments", whole] as const, ...unsure]) {
      it(`may run after ${finish} with ${what}`, () => {
        const play = started()
        assert.deepStrictEqual(says(play, { calls: [call], finish }), [
          turn({ calls: [call], finish })
        ])
        assert.lengthOf(play.state.open, 1)
        assert.isUndefined(play.state.frames.get(rootFrame)!.finish)
      })
    }
  }
})

describe("a call of a turn that was cut", () => {
  for (const finish of ["length", "other"] as const) {
    it(`may run after ${finish} where its arguments are whole`, () => {
      const play = started()
      assert.deepStrictEqual(says(play, { calls: [whole], finish }), [
        turn({ calls: [whole], finish })
      ])
    })

    for (const [what, call] of unsure) {
      it(`does not run after ${finish} with ${what}, and its result has the reason`, () => {
        const play = started()
        assert.deepStrictEqual(says(play, { calls: [call, whole], finish }), [
          turn({ calls: [call, whole], finish }),
          withheld(first, why[finish])
        ])
        assert.deepStrictEqual(
          play.state.open.map(({ id }) => id),
          [second]
        )
      })
    }
  }

  for (const [finish, reason, what] of [
    ["refusal", "refused", "the model refused to go on"],
    ["content_filter", "content_filtered", "the provider filtered"]
  ] as const) {
    it(`never runs after ${finish}, even with whole arguments, and the run ends`, () => {
      for (const [finish_raw, raw] of [
        [undefined, ""],
        ["safety", " (safety)"]
      ] as const) {
        const given = {
          calls: [whole, proposal("write", { n: 2 })],
          finish,
          ...(finish_raw === undefined ? undefined : { finish_raw })
        }
        const events = says(started(), given)
        assert.deepStrictEqual(events.slice(0, 4), [
          turn(given),
          withheld(first, why[finish]),
          withheld(second, why[finish]),
          stopping(reason, `${what}${raw}; none of its calls ran`)
        ])
        assert.deepStrictEqual(events.slice(4), [
          { _tag: "RunEnded", status: "failed", reason, text: "said", finish }
        ])
      }
    })
  }
})

describe("a turn without a call that did not end well", () => {
  for (const text of ["", " \n"]) {
    for (const [finish, reason, message] of [
      ["refusal", "refused", "the model refused to go on (raw) and said nothing"],
      ["content_filter", "content_filtered", "the provider filtered (raw) and said nothing"],
      [
        "length",
        "truncated",
        "the turn was cut at the limit of its output before it said anything (raw): raise max_output_tokens, or ask for less reasoning. It is not repeated, because the same prompt has the same limit."
      ]
    ] as const) {
      it(`ends the run after ${finish} with the text ${JSON.stringify(text)}`, () => {
        const given = { text, finish, finish_raw: "raw" }
        assert.deepStrictEqual(says(started(), given), [
          turn(given),
          stopping(reason, message),
          { _tag: "RunEnded", status: "failed", reason, text: "", finish }
        ])
      })
    }

    it(`is asked for again after other with the text ${JSON.stringify(text)}`, () => {
      const play = started()
      const given = { text, finish: "other" } as const
      assert.deepStrictEqual(says(play, given), [turn({ ...given, empty: true })])
      assert.isUndefined(play.state.frames.get(rootFrame)!.answer)
    })
  }

  for (const finish of ["length", "refusal", "content_filter", "other"] as const) {
    it(`is the answer after ${finish} if it has a text, and RunEnded has the finish`, () => {
      assert.deepStrictEqual(says(started(), { finish }), [
        turn({ finish }),
        { _tag: "RunEnded", status: "complete", reason: "complete", text: "said", finish }
      ])
    })
  }
})

describe("a specialist's turn that did not end well", () => {
  const said = (given: Partial<ModelTurned>) => {
    const { frame, play } = delegated()
    return says(play, given, frame)[1]
  }

  for (const [finish, note] of [
    ["stop", ""],
    ["length", "\n[runtime] This answer was cut at the limit of its length."],
    ["refusal", "\n[runtime] This answer was refused by the model."],
    ["content_filter", "\n[runtime] This answer was filtered by the provider."],
    ["other", ""]
  ] as const) {
    it(`is its supervisor's result after ${finish}, with a note where it was cut`, () => {
      const json = JSON.stringify(`half of it${note}`)
      assert.deepStrictEqual(said({ text: "half of it", finish }), {
        _tag: "CallSettled",
        call: first,
        outcome: { _tag: "Value", json }
      })
    })
  }

  it("fails its call with a terminal error if it has no text, and its supervisor goes on", () => {
    const { frame, play } = delegated()
    assert.deepStrictEqual(says(play, { text: "", finish: "refusal" }, frame)[1], {
      _tag: "CallSettled",
      call: first,
      outcome: {
        _tag: "Failed",
        error: {
          class: "ToolTerminalError",
          kind: "external",
          reason: "refused",
          message: "the model refused to go on and said nothing"
        }
      }
    })
    assert.strictEqual(frameOpenedBy(first), frame)
    assert.isUndefined(play.state.ended)
    assert.deepStrictEqual(
      play.state.openFrames.map(({ id }) => id),
      [rootFrame]
    )
  })
})
