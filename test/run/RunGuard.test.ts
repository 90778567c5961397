import { assert, describe, it } from "@effect/vitest"
import { callId, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { Outcome, ProposedCall, RunEvent } from "../../src/run/RunEvent.ts"
import { isParkable } from "../../src/run/RunState.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Play } from "./Interleaving.ts"
import { apply, claim, command, give } from "./Interleaving.ts"
import { decideApproval } from "../../src/run/RunCommand.ts"
import {
  added,
  analyst,
  delegates,
  ends,
  first,
  proposal,
  proposes,
  says,
  second,
  started
} from "./Scenes.ts"

const dispatches = (play: Play, call = second): ReadonlyArray<RunEvent> =>
  decide(play.state, { _tag: "Dispatches", call, key: "k", on_loss: "unknown" })

const twice = (name: string, number: number): Outcome => ({
  _tag: "Failed",
  error: {
    class: "ToolUserError",
    kind: "invalid_args",
    reason: "DUPLICATE_CALL",
    message: `this turn asks for the same thing twice: "${name}" with these arguments is call ${number} of it, and runs once. If you mean it twice, call it again in your next turn.`
  }
})

/** A run whose only turn proposes these calls. */
const proposed = (...calls: ReadonlyArray<ProposedCall>): Play => {
  const play = started()
  says(play, { calls })
  return play
}

describe("two calls of one turn", () => {
  const same: ReadonlyArray<readonly [ProposedCall["arguments"], ProposedCall["arguments"]]> = [
    [{}, {}],
    [
      { a: 1, b: [1, { c: null }] },
      { b: [1, { c: null }], a: 1 }
    ],
    [null, null],
    ["text", "text"],
    [[], []]
  ]
  const different: ReadonlyArray<readonly [ProposedCall["arguments"], ProposedCall["arguments"]]> =
    [
      [{ a: 1 }, { a: 2 }],
      [{ a: 1 }, { a: "1" }],
      [{ a: 1 }, { b: 1 }],
      [{ a: null }, { b: null }],
      [{}, { a: 1 }],
      [{ a: 1, b: 2 }, { a: 1 }],
      [{ a: { b: 1 } }, { a: { b: 2 } }],
      [{ a: [1, 2] }, { a: [2, 1] }],
      [{ a: [1] }, { a: { 0: 1 } }],
      [{ a: { 0: 1 } }, { a: [1] }],
      [[], {}],
      [{}, []],
      [null, {}],
      [{}, null],
      [{}, "text"],
      ["text", {}],
      [{ a: null }, { a: 0 }],
      [{ a: true }, { a: false }],
      [0, false],
      [0, {}],
      [{}, 0],
      ["", {}],
      [{}, ""],
      ["", []],
      [[], ""]
    ]

  it("with equal arguments run once: the second has its result at once, whatever it waits for", () => {
    for (const [a, b] of same) {
      const play = proposed(proposal("write", a), proposal("write", b))
      const expected = [{ _tag: "CallSettled", call: second, outcome: twice("write", 1) }]
      assert.deepStrictEqual(dispatches(play), expected as never, JSON.stringify([a, b]))
      const { _tag, ...request } = Samples.approvalRequested(second)
      assert.deepStrictEqual(
        decide(play.state, { _tag: "RequestsApproval", request }),
        expected as never
      )
      const input = { _tag: "Delegates", call: second, agent: analyst, input: "do" } as const
      assert.deepStrictEqual(decide(play.state, input), expected as never)
      assert.strictEqual(dispatches(play, first)[0]?._tag, "CallDispatched")
    }
  })

  it("with different arguments both run", () => {
    for (const [a, b] of different) {
      const play = proposed(proposal("write", a), proposal("write", b))
      const tags = dispatches(play).map(({ _tag }) => _tag)
      assert.deepStrictEqual(tags, ["CallDispatched"], JSON.stringify([a, b]))
    }
    const play = proposed(proposal("write", { a: 1 }), proposal("erase", { a: 1 }))
    assert.strictEqual(dispatches(play)[0]?._tag, "CallDispatched")
  })

  it("are compared with those before them in their turn only", () => {
    const a = proposal("write", { a: 1 })
    const third = callId(rootFrame, 1, 2)
    const play = proposed(proposal("write", { b: 1 }), a, a)
    assert.deepStrictEqual(dispatches(play, third), [
      { _tag: "CallSettled", call: third, outcome: twice("write", 2) }
    ])
    assert.strictEqual(dispatches(play, second)[0]?._tag, "CallDispatched")
    for (const call of [first, second, third]) ends(play, call)
    says(play, { calls: [proposal("write", { b: 1 }), a] })
    assert.strictEqual(dispatches(play, callId(rootFrame, 2, 1))[0]?._tag, "CallDispatched")
  })

  it("names at most 64 units of what the model calls a tool", () => {
    const long = proposal("n".repeat(65))
    const [event] = dispatches(proposed(long, long))
    assert.deepStrictEqual(event, {
      _tag: "CallSettled",
      call: second,
      outcome: twice("n".repeat(64), 1)
    })
  })

  it("both run if a modification made the second equal to the first", () => {
    const play = proposed(proposal("write", { a: 1 }), proposal("write", { a: 2 }))
    const { _tag, ...request } = Samples.approvalRequested(second)
    give(play, { _tag: "RequestsApproval", request })
    const { approval, digest } = request
    const by = Samples.principal()
    const decision = { _tag: "Modify", arguments: { a: 1 } } as const
    command(play, (state) =>
      decideApproval(state, { call: second, approval, decision, by, digest }, 0)
    )
    assert.strictEqual(dispatches(play)[0]?._tag, "CallDispatched")
  })

  it("of which an earlier release dispatched the second: it is sent again", () => {
    const twin = proposal("write", { a: 1 })
    const play = proposed(twin, twin)
    const call = second
    apply(play, [{ _tag: "CallDispatched", call, key: "k", epoch: 1, on_loss: "again" }])
    claim(play)
    const again = { _tag: "Dispatches", call, key: "k", on_loss: "again" } as const
    assert.strictEqual(decide(play.state, again)[0]?._tag, "CallDispatched")
  })

  it("of which one was dispatched: it is sent again, also where the other was lost with its owner", () => {
    const play = proposed(proposal("write", { a: 1 }), proposal("write", { a: 2 }))
    const again = { _tag: "Dispatches", call: second, key: "k", on_loss: "again" } as const
    give(play, again)
    claim(play)
    assert.strictEqual(decide(play.state, again)[0]?._tag, "CallDispatched")
  })
})

/** Why the run stops, if it does. */
const reasonOf = (play: Play): string | undefined => play.state.stopping?.reason

const failed = (reason: string | undefined, message = "no"): Outcome => ({
  _tag: "Failed",
  error: {
    class: "ToolUserError",
    kind: "invalid_args",
    ...(reason === undefined ? undefined : { reason }),
    message
  }
})

describe("a mistake of the model", () => {
  const reasons = [
    "MALFORMED_JSON",
    "INPUT_SCHEMA",
    "UNKNOWN_TOOL",
    "NOT_ALLOWED",
    "ROLE_DENIED",
    "DUPLICATE_CALL",
    "TURN_CUT"
  ]

  for (const reason of reasons) {
    it(`is a turn with nothing but ${reason}, and the end of the run names it`, () => {
      const play = started({ mistakes_max: 1 })
      proposes(play, 2)
      ends(play, second, failed("INPUT_SCHEMA"))
      ends(play, first, failed(reason, "it is wrong"))
      assert.strictEqual(
        play.state.stopping?.message,
        `the run has used 1 of 1 turns of mistakes in a row (mistakes_max); the last mistake: ${reason} of "write": it is wrong`
      )
    })
  }

  it("is no turn with one other result, and the count begins anew after that", () => {
    for (const other of [
      { _tag: "Value", json: "1" },
      { _tag: "Cancelled" },
      failed(undefined),
      failed("SOMETHING_ELSE")
    ] satisfies ReadonlyArray<Outcome>) {
      for (const [a, b] of [
        [first, second],
        [second, first]
      ] as const) {
        const play = started({ mistakes_max: 2, repeats_max: 0 })
        says(play, { text: "" })
        assert.strictEqual(play.state.used.mistakes, 1)
        proposes(play, 2)
        const at = (call: typeof first) => callId(rootFrame, 2, call === first ? 0 : 1)
        ends(play, at(a), failed("INPUT_SCHEMA"))
        ends(play, at(b), other)
        assert.strictEqual(play.state.used.mistakes, 0)
        says(play, { text: "" })
        assert.strictEqual(reasonOf(play), undefined)
        says(play, { text: "" })
        assert.strictEqual(reasonOf(play), "mistakes_max")
      }
    }
  })

  it("is described in at most 300 units, with at most 64 of the tool's name", () => {
    const play = started({ mistakes_max: 1 })
    says(play, { calls: [proposal("n".repeat(65))] })
    ends(play, first, failed("UNKNOWN_TOOL", "m".repeat(400)))
    const told = `UNKNOWN_TOOL of "${"n".repeat(64)}": ${"m".repeat(400)}`.slice(0, 300)
    assert.strictEqual(play.state.used.mistake, told)
    assert.isTrue(play.state.stopping?.message?.endsWith(`the last mistake: ${told}`))
  })
})

describe("an empty turn", () => {
  const shown = (play: Play) => play.state.frames.get(rootFrame)!.transcript.slice(1)

  it("is asked for again, and its model reads that it was empty", () => {
    for (const text of ["", " \n"]) {
      const play = started()
      const [event, ...none] = says(play, { text })
      assert.isTrue(event?._tag === "ModelTurned" && event.empty)
      assert.deepStrictEqual(none, [])
      assert.deepStrictEqual(shown(play), [
        {
          role: "user",
          text: "[runtime] Your last turn was empty: it had neither text nor a call. Answer the user in words, or call a tool."
        }
      ])
      assert.strictEqual(play.state.used.mistake, "an empty turn")
      assert.deepStrictEqual(play.state.frames.get(rootFrame)!.calls, [])
      assert.strictEqual(play.state.frames.get(rootFrame)!.step, 1)
      assert.isFalse(isParkable(play.state))
      assert.strictEqual(says(play).at(-1)?._tag, "RunEnded")
    }
  })

  it("with an unreadable call is asked for again with the reason, also where it has a text", () => {
    const play = started()
    says(play, { text: "I call", unreadable: `${"u".repeat(2_000)}beyond` })
    assert.deepStrictEqual(shown(play), [
      {
        role: "user",
        text: `[runtime] Your last turn was lost: it called a tool in a way that could not be read. Call it again with its name and with arguments that are valid JSON, or answer in words. What was wrong: ${"u".repeat(2_000)}`
      }
    ])
    assert.strictEqual(play.state.used.mistake, "an unreadable call")
    assert.isUndefined(play.state.ended)
  })

  it("is not one that has a call, even with another that was unreadable", () => {
    const play = started()
    const [event] = says(play, { text: "", calls: [proposal("write")], unreadable: "half" })
    assert.notProperty(event, "empty")
    assert.lengthOf(play.state.open, 1)
  })
})

describe("the same call that fails again and again", () => {
  /** The count of failures after calls with these arguments have failed once each. */
  const repeats = (...calls: ReadonlyArray<ProposedCall>): number => {
    const play = started({ repeats_max: 100, mistakes_max: 0, steps_max: 100 })
    for (const call of calls) {
      says(play, { calls: [call] })
      ends(play, play.state.open[0]!.id, failed(undefined))
    }
    return play.state.used.repeats
  }

  it("is the same by its tool and its arguments, in any order of keys", () => {
    const args = { a: [1, null, "x", { b: true }], c: {} }
    const turned = { c: {}, a: [1, null, "x", { b: true }] }
    assert.strictEqual(repeats(proposal("write", args), proposal("write", turned)), 2)
    assert.strictEqual(repeats(proposal("write", args), proposal("erase", args)), 1)
  })

  it("is not the same with other arguments", () => {
    const all: ReadonlyArray<ProposedCall["arguments"]> = [
      null,
      {},
      [],
      "",
      "[]",
      "null",
      0,
      false,
      { a: 1 },
      { a: "1" },
      { a: [1] },
      { a: [1, 2] },
      { a: [[1], 2] },
      { a: [[1, 2]] },
      { a: [1, [], 2] },
      { a: [1, [2]] },
      { a: [12] },
      { b: 1 },
      { a: { b: 1 } },
      { a: { b: {} } },
      { a: {}, b: {} },
      { a: 1, b: 2 },
      { a: 2, b: 1 },
      { ab: 1 },
      { a: { b: 1, c: 2 } },
      { a: { b: 1 }, c: 2 },
      [{ a: 1 }],
      [{ a: 1 }, { b: 2 }],
      [{ a: 1, b: 2 }],
      [[{ a: 1 }], { b: 2 }]
    ]
    for (const [i, a] of all.entries()) {
      for (const b of all.slice(i + 1)) {
        const text = JSON.stringify([a, b])
        assert.strictEqual(repeats(proposal("write", a), proposal("write", b)), 1, text)
      }
    }
    const malformed = (text: string) => ({ ...proposal("write", null), malformed: text })
    assert.strictEqual(repeats(malformed("{1"), malformed("{2")), 1)
    assert.strictEqual(repeats(malformed("{1"), proposal("write", null), malformed("{1")), 2)
  })

  it("counts from its own last success", () => {
    const play = started({ repeats_max: 3, mistakes_max: 0 })
    const once = (n: number, outcome?: Outcome) => {
      says(play, { calls: [proposal("write", { n })] })
      ends(play, play.state.open[0]!.id, outcome)
    }
    once(1, failed(undefined))
    once(2, failed(undefined))
    once(1, failed(undefined))
    once(1)
    once(1, failed(undefined))
    once(1, failed(undefined))
    assert.strictEqual(reasonOf(play), undefined)
    once(2)
    once(1, failed(undefined))
    assert.strictEqual(reasonOf(play), "repeats_max")
  })

  it("counts failures alone", () => {
    const play = started({ repeats_max: 1 })
    for (const outcome of [
      { _tag: "Denied", by: "ada", reason: "no" },
      { _tag: "Cancelled" },
      { _tag: "Expired" }
    ] satisfies ReadonlyArray<Outcome>) {
      proposes(play, 1)
      ends(play, play.state.open[0]!.id, outcome)
    }
    assert.strictEqual(play.state.used.repeats, 0)
    assert.isUndefined(play.state.stopping)
  })

  it("of a specialist is a delegation that fails", () => {
    const play = started({ repeats_max: 2 })
    for (const step of [1, 2]) {
      proposes(play, 1)
      const call = callId(rootFrame, step, 0)
      delegates(play, call)
      const events = added(play, () =>
        give(play, {
          _tag: "TurnFailed",
          frame: frameOpenedBy(call),
          step: 1,
          reason: "model_unavailable",
          message: "no",
          transient: step === 1
        })
      )
      assert.deepStrictEqual(events[0], {
        _tag: "CallSettled",
        call,
        outcome: {
          _tag: "Failed",
          error: {
            class: step === 1 ? "ToolTransientError" : "ToolTerminalError",
            kind: "external",
            reason: "model_unavailable",
            message: "no"
          }
        }
      })
    }
    assert.strictEqual(play.state.stopping?.reason, "repeats_max")
  })
})
