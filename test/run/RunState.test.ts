import { assert, describe, it } from "@effect/vitest"
import type { Spending } from "../../src/cost/Spending.ts"
import { callId, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { answerText } from "../../src/run/CallResult.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { CallSettled, ModelTurned, Outcome, RunEvent } from "../../src/run/RunEvent.ts"
import { extensionOf } from "../../src/run/RunBreach.ts"
import { isParkable, emptyState, statusOf } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import { wantedCalls, wantedWork } from "../../src/run/RunWork.ts"
import { model_copy_bytes_max } from "../../src/tool/ToolSpec.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Play } from "./Interleaving.ts"
import { apply, claim, give, settleDown } from "./Interleaving.ts"
import {
  added,
  delegated,
  delegates,
  ends,
  first,
  proposal,
  proposes,
  says,
  second,
  started,
  value
} from "./Scenes.ts"

const asks = (play: Play, call = first) => {
  const { _tag, ...request } = Samples.approvalRequested(call)
  give(play, { _tag: "RequestsApproval", request })
  return request
}

const loses = (play: Play, call = first, spent?: Spending) => {
  give(play, { _tag: "Dispatches", call, key: `key-${call}`, on_loss: "unknown" })
  return added(play, () =>
    give(play, { _tag: "Lost", call, ...(spent === undefined ? undefined : { spent }) })
  )
}

const transcript = (play: Play, frame = rootFrame) => play.state.frames.get(frame)!.transcript

describe("a fold", () => {
  it("begins with the acceptance of its run, and has one only", () => {
    const accepted = Samples.runAccepted(Samples.newTask())
    const claimed = { _tag: "RunClaimed", epoch: 1, owner: "owner-1" } as const
    assert.strictEqual(fold([accepted, claimed]).accepted, accepted)
    for (const events of [[], [claimed], [claimed, accepted], [accepted, accepted]]) {
      assert.throws(() => fold(events), TypeError)
    }
  })
})

describe("the status of a run", () => {
  it("is pending until it is claimed, and then what it waits for or how it ended", () => {
    assert.strictEqual(statusOf(emptyState()), "pending")
    const accepted = fold([Samples.runAccepted(Samples.newTask())])
    assert.strictEqual(statusOf(accepted), "pending")
    assert.strictEqual(conclude(accepted), undefined)
    const play = started()
    assert.strictEqual(statusOf(play.state), "processing")
    proposes(play, 2)
    asks(play)
    assert.strictEqual(statusOf(play.state), "awaiting_approval")
    loses(play, second)
    ends(play, first)
    assert.strictEqual(statusOf(play.state), "awaiting_approval")
    give(play, { _tag: "Stops", stopping: { status: "cancelled", by: "ada", reason: "enough" } })
    assert.strictEqual(statusOf(play.state), "cancelled")
  })
})

describe("a run may leave its process", () => {
  it("while it waits for people alone, and at no other time", () => {
    const play = started()
    assert.isFalse(isParkable(play.state))
    proposes(play, 2)
    assert.isFalse(isParkable(play.state))
    asks(play)
    assert.isFalse(isParkable(play.state), "the second call is still to run")
    asks(play, second)
    assert.isTrue(isParkable(play.state))
    give(play, { _tag: "Stops", stopping: { status: "cancelled", by: "ada", reason: "enough" } })
    assert.isDefined(play.state.ended)
    assert.isFalse(isParkable(play.state))
  })

  it("while a call is unknown, and not while another is in flight", () => {
    const play = started()
    proposes(play, 2)
    loses(play)
    give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "unknown" })
    assert.isFalse(isParkable(play.state))
    give(play, { _tag: "Lost", call: second })
    assert.isTrue(isParkable(play.state))
  })

  it("with a specialist whose call asks, and not while another's turn is in flight", () => {
    const play = started()
    proposes(play, 2)
    delegates(play, first)
    proposes(play, 1, frameOpenedBy(first))
    asks(play, callId(frameOpenedBy(first), 1, 0))
    assert.isFalse(isParkable(play.state), "the second call is still to run")
    delegates(play, second)
    assert.isFalse(isParkable(play.state), "the second specialist has its turn")
    says(play, {}, frameOpenedBy(second))
    assert.isTrue(isParkable(play.state))
  })
})

describe("what a model is shown", () => {
  const assistant = { role: "assistant", text: "said", calls: [] } as const

  it("is its turn, with what goes back to its provider", () => {
    const reasoning = [{ text: "hm" }]
    const parts = [{ of: "text", units: 4 }] as const
    for (const [given, expected] of [
      [{}, {}],
      [{ reasoning }, { reasoning }],
      [{ origin: "p/m" }, { origin: "p/m" }],
      [
        { reasoning, parts, origin: "p/m" },
        { reasoning, parts, origin: "p/m" }
      ],
      [{ parts }, {}]
    ] satisfies ReadonlyArray<readonly [Partial<ModelTurned>, object]>) {
      const play = started()
      says(play, given)
      assert.deepStrictEqual(transcript(play), [
        { role: "user", text: "what is stuck?" },
        { ...assistant, ...expected }
      ])
    }
  })

  it("has the results of a turn together, in the model's order, once the last is there", () => {
    const play = started()
    proposes(play, 2)
    ends(play, second, { _tag: "Value", json: "2" })
    assert.lengthOf(transcript(play), 2)
    ends(play, first)
    const result = (call: typeof first, json: string) => ({
      role: "tool",
      call,
      model_id: "m",
      name: "write",
      outcome: { _tag: "Value", json }
    })
    assert.deepStrictEqual(transcript(play).slice(2), [
      result(first, "1"),
      result(second, "2")
    ] as never)
  })

  const settles = (given: Partial<CallSettled>) => {
    const play = started()
    proposes(play, 1)
    apply(play, [{ _tag: "CallSettled", call: first, outcome: value, ...given }])
    settleDown(play)
    return { play, entry: transcript(play)[2] }
  }
  const json = (units: number) => JSON.stringify("x".repeat(units - 2))

  it("has a whole result up to its bound, and beyond that a copy with a note of the cut", () => {
    const most = settles({ outcome: { _tag: "Value", json: json(model_copy_bytes_max) } })
    assert.notProperty(most.entry, "copy")
    const { entry, play } = settles({
      outcome: { _tag: "Value", json: json(model_copy_bytes_max + 1) }
    })
    const { phase } = play.state.calls.get(first)!
    assert.isTrue(phase._tag === "Settled" && phase.copy)
    const outcome = phase._tag === "Settled" ? phase.outcome : undefined
    assert.deepStrictEqual(entry, {
      role: "tool",
      call: first,
      model_id: "m",
      name: "write",
      outcome: {
        _tag: "Value",
        json: `${json(model_copy_bytes_max + 1).slice(0, model_copy_bytes_max)}\n[cut at 32768 bytes; 1 characters more are kept in the journal]`
      },
      copy: true
    })
    assert.deepStrictEqual(outcome, entry?.role === "tool" ? entry.outcome : undefined)
  })

  it("has a cleaned copy of a result, and the journal keeps the result", () => {
    const outcome: Outcome = { _tag: "Value", json: '"a<|im_start|>b"' }
    const { entry, play } = settles({ outcome })
    const { phase } = play.state.calls.get(first)!
    assert.deepStrictEqual(phase, { _tag: "Settled", outcome })
    assert.deepInclude(entry, { copy: true })
    assert.notDeepEqual(entry?.role === "tool" ? entry.outcome : undefined, outcome)
  })

  it("is unescaped in a result with `texts`, long or short", () => {
    for (const long of ["", "x".repeat(model_copy_bytes_max)]) {
      const text = { _tag: "Value", json: JSON.stringify({ a: `<b>${long}` }) } as const
      const shownOf = (given: Partial<CallSettled>) => {
        const { entry } = settles({ outcome: text, ...given })
        return entry?.role === "tool" && entry.outcome._tag === "Value" ? entry.outcome.json : ""
      }
      assert.include(shownOf({ texts: true }), "<b>")
      assert.notInclude(shownOf({}), "<b>")
    }
  })

  it("has the arguments that a person gave in place of the model's", () => {
    const play = started()
    proposes(play, 1)
    const { approval, digest } = asks(play)
    const args = { n: 5 }
    apply(play, [
      {
        _tag: "ApprovalDecided",
        call: first,
        approval,
        decision: { _tag: "Modify", arguments: args },
        by: "ada",
        digest
      }
    ])
    ends(play, first)
    assert.deepStrictEqual(transcript(play)[2], {
      role: "tool",
      call: first,
      model_id: "m",
      name: "write",
      outcome: value,
      modified: { by: "ada", arguments: args }
    })
  })
})

describe("a result that stops its loop", () => {
  const stopsWith = (outcome: Outcome, given: Partial<CallSettled> = {}) => {
    const play = started()
    proposes(play, 1)
    apply(play, [{ _tag: "CallSettled", call: first, outcome, stop: true, ...given }])
    settleDown(play)
    return play
  }

  it("is the whole answer: a text as it is, anything else as JSON", () => {
    const long = JSON.stringify("x".repeat(model_copy_bytes_max * 2))
    for (const [json, text] of [
      ['"done"', "done"],
      [' "done" ', "done"],
      ["1", "1"],
      ['{"a":1}', '{"a":1}'],
      ["null", "null"],
      [long, JSON.parse(long)]
    ] as const) {
      assert.strictEqual(answerText(json), text)
      for (const texts of [undefined, true] as const) {
        const play = stopsWith({ _tag: "Value", json }, texts === undefined ? {} : { texts })
        assert.deepInclude(play.state.ended, { status: "complete", text })
        assert.deepStrictEqual(play.state.calls.get(first)!.phase, {
          _tag: "Settled",
          outcome: { _tag: "Value", json },
          stop: true,
          ...(texts === undefined ? undefined : { texts })
        })
      }
    }
  })

  it("does not stop it if it is no value", () => {
    const play = stopsWith({ _tag: "Cancelled" })
    assert.isUndefined(play.state.ended)
    assert.lengthOf(wantedWork(play.state), 1)
  })

  it("is the first of several, without the finish of its turn", () => {
    const play = started()
    says(play, {
      calls: [proposal("write", { n: 1 }), proposal("write", { n: 2 })],
      finish: "length"
    })
    const stop = (call: typeof first, json: string): RunEvent => ({
      _tag: "CallSettled",
      call,
      outcome: { _tag: "Value", json },
      stop: true
    })
    apply(play, [stop(second, '"two"'), stop(first, '"one"')])
    settleDown(play)
    assert.deepStrictEqual(play.state.ended, {
      _tag: "RunEnded",
      status: "complete",
      reason: "complete",
      text: "one"
    })
  })
})

describe("an end", () => {
  const sources = [{ url: "https://example.org" }]

  it("has the sources of its answer, and its finish if it is not whole", () => {
    const end = (given: Partial<ModelTurned>) => says(started(), given).at(-1)
    const whole = { _tag: "RunEnded", status: "complete", reason: "complete", text: "said" }
    assert.deepStrictEqual(end({}), whole as never)
    assert.deepStrictEqual(end({ sources }), { ...whole, sources } as never)
    assert.deepStrictEqual(end({ finish: "length" }), { ...whole, finish: "length" } as never)
    assert.deepStrictEqual(end({ finish: "length", sources }), {
      ...whole,
      finish: "length",
      sources
    } as never)
  })

  it("of a stopped run has the supervisor's last text, without its sources", () => {
    const play = started()
    says(play, { text: "first", calls: [proposal("write", { n: 1 })] })
    ends(play, first)
    says(play, { text: " ", calls: [proposal("write", { n: 2 })], sources, finish: "length" })
    give(play, { _tag: "Stops", stopping: { status: "failed", by: "ada", reason: "r" } })
    assert.deepStrictEqual(play.state.ended, {
      _tag: "RunEnded",
      status: "failed",
      reason: "r",
      text: "first",
      finish: "length"
    })
    const silent = started()
    give(silent, { _tag: "Stops", stopping: { status: "failed", by: "ada", reason: "r" } })
    assert.deepStrictEqual(silent.state.ended, {
      _tag: "RunEnded",
      status: "failed",
      reason: "r",
      text: ""
    })
  })

  it("of a specialist's frame is its call's value, without sources", () => {
    const { frame, play } = delegated()
    assert.deepStrictEqual(says(play, { text: 'a "b"', sources }, frame).slice(1), [
      { _tag: "CallSettled", call: first, outcome: { _tag: "Value", json: '"a \\"b\\""' } }
    ])
    assert.deepStrictEqual(
      play.state.openFrames.map(({ id }) => id),
      [rootFrame]
    )
  })
})

describe("what a tool's body spent", () => {
  const priced = (amount: string) =>
    ({
      _tag: "Priced",
      agent: Samples.operations,
      prices: "v1",
      currency: "USD",
      amount
    }) as const
  const spent: Spending = {
    tool: "write",
    uses: [
      { model: "m", usage: { input_tokens: 5, output_tokens: 2 }, cost: priced("0.2") },
      { model: "m", usage: { input_tokens: 3, output_tokens: 1 }, cost: priced("0.1") },
      { model: "" }
    ]
  }

  it("counts with a result and with an unknown outcome, and does not raise the reserve for turns", () => {
    const play = started({ cost_max: "9" })
    proposes(play, 2)
    apply(play, [{ _tag: "CallSettled", call: first, outcome: value, spent }])
    assert.strictEqual(play.state.tokens, 11)
    assert.deepStrictEqual(loses(play, second, spent), [
      { _tag: "CallUnknown", call: second, tool: "write", spent }
    ])
    assert.strictEqual(play.state.tokens, 22)
    assert.strictEqual(extensionOf(play.state, "cost_max").used, "0.6")
    assert.strictEqual(play.state.used.turn_tokens_most, 0)
    assert.isUndefined(play.state.used.turn_cost_most)
    assert.strictEqual(play.state.used.unpriced_turns, 0)
  })

  it("without a price counts as many unpriced turns as it had", () => {
    const cost = { _tag: "Unpriced", agent: Samples.operations, prices: "v1", reason: "no_price" }
    const play = started()
    proposes(play, 2)
    const uses = [
      { model: "m", cost },
      { model: "m", cost, turns: 3 }
    ] as Spending["uses"]
    apply(play, [
      { _tag: "CallSettled", call: first, outcome: value, spent: { tool: "write", uses } }
    ])
    assert.strictEqual(play.state.used.unpriced_turns, 4)
    assert.strictEqual(play.state.tokens, 0)
  })

  it("counts of a lost call whose result is not trusted", () => {
    const play = started()
    proposes(play, 1)
    give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "again" })
    claim(play)
    const settled = { _tag: "CallSettled", call: first, outcome: value, spent } as const
    assert.deepStrictEqual(decide(play.state, { _tag: "Finished", settled }), [
      { _tag: "CallUnknown", call: first, tool: "write", spent }
    ])
  })

  it("is absent where nothing was spent", () => {
    const play = started()
    proposes(play, 1)
    assert.deepStrictEqual(loses(play), [{ _tag: "CallUnknown", call: first, tool: "write" }])
    assert.deepStrictEqual(play.state.calls.get(first)!.phase, { _tag: "Unknown" })
  })
})

describe("the calls among wanted work", () => {
  it("are those that wait for no person, and of a stopping run those in flight", () => {
    const play = started()
    says(play, {
      calls: ["a", "b", "c"].map((name) => proposal(name))
    })
    const third = callId(rootFrame, 1, 2)
    asks(play, first)
    give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "again" })
    const piece = (call: typeof first, start: boolean) => ({
      _tag: "RunCall",
      key: call,
      call,
      start
    })
    assert.deepStrictEqual(wantedCalls(play.state), [
      piece(second, false),
      piece(third, true)
    ] as never)
    claim(play)
    assert.deepStrictEqual(wantedCalls(play.state), [
      piece(second, true),
      piece(third, true)
    ] as never)
    apply(play, [{ _tag: "RunStopping", status: "failed", by: "ada", reason: "r" }])
    assert.deepStrictEqual(wantedCalls(play.state), [piece(second, false)] as never)
  })
})
