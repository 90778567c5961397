import { assert, describe, it } from "@effect/vitest"
import { callId, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { breachOf } from "../../src/run/RunBreach.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { Outcome, RunEvent } from "../../src/run/RunEvent.ts"
import type { RunLimits } from "../../src/run/RunLimits.ts"
import { wantedWork } from "../../src/run/RunWork.ts"
import type { Play } from "./Interleaving.ts"
import { apply, give } from "./Interleaving.ts"
import {
  added,
  answersLimit,
  requestLimitApproval,
  delegates,
  ends,
  first,
  proposal,
  proposes,
  says,
  second,
  started,
  step,
  wantsTurn
} from "./Scenes.ts"

const requestOf = (play: Play) => {
  const { _tag, ...request } = play.state.requested!.at(-1)!
  return { ...request, approval: `00000000-0000-4000-8000-${"f".repeat(12)}` as never }
}

describe("a question about a limit", () => {
  const reached = (limits: Partial<RunLimits> = {}) => {
    const play = started({ calls_max: 1, on_breach: "ask", ...limits })
    step(play)
    return play
  }

  it("is not put while another waits, after it was put, or while the run stops", () => {
    const play = reached()
    const { request } = requestLimitApproval(play, "calls_max")
    const again = { ...request, approval: requestOf(play).approval }
    assert.deepStrictEqual(
      decide(play.state, { _tag: "RequestsLimitApproval", request: again }),
      []
    )
    answersLimit(play)
    step(play)
    assert.isDefined(play.state.ended)
    const stopping = reached()
    give(stopping, { _tag: "Stops", stopping: { status: "failed", by: "ada", reason: "r" } })
    assert.deepStrictEqual(decide(stopping.state, { _tag: "RequestsLimitApproval", request }), [])
    const waiting = started({ calls_max: 1, on_breach: "ask" })
    proposes(waiting, 1)
    give(waiting, { _tag: "Dispatches", call: first, key: "k", on_loss: "again" })
    assert.lengthOf(decide(waiting.state, { _tag: "RequestsLimitApproval", request }), 1)
    give(waiting, { _tag: "Stops", stopping: { status: "failed", by: "ada", reason: "r" } })
    assert.isUndefined(waiting.state.ended)
    assert.deepStrictEqual(decide(waiting.state, { _tag: "RequestsLimitApproval", request }), [])
  })

  it("is put once, also where its input is decided again after an answer", () => {
    const play = reached({ extensions_max: 2, extend_by: { calls_max: 1 } })
    const { request } = requestLimitApproval(play, "calls_max")
    answersLimit(play)
    step(play)
    assert.strictEqual(breachOf(play.state)?.limit, "calls_max")
    assert.deepStrictEqual(decide(play.state, { _tag: "RequestsLimitApproval", request }), [])
    const newer = { ...request, approval: requestOf(play).approval }
    assert.lengthOf(decide(play.state, { _tag: "RequestsLimitApproval", request: newer }), 1)
  })

  it("is put about the limit that is reached, and about no other", () => {
    assert.deepStrictEqual(requestLimitApproval(reached(), "steps_max").events, [])
    assert.deepStrictEqual(
      requestLimitApproval(started({ on_breach: "ask" }), "calls_max").events,
      []
    )
  })

  it("is not put where on_breach is answer", () => {
    assert.deepStrictEqual(
      requestLimitApproval(reached({ on_breach: "answer" }), "calls_max").events,
      []
    )
  })

  it("is not put while every frame waits for its calls, and holds back the turns of all", () => {
    const play = started({ calls_max: 2, on_breach: "ask" })
    proposes(play, 2)
    assert.isFalse(wantedWork(play.state).some((each) => each._tag === "RequestLimitApproval"))
    ends(play, first)
    assert.isFalse(wantedWork(play.state).some((each) => each._tag === "RequestLimitApproval"))
    ends(play, second)
    assert.deepStrictEqual(
      wantedWork(play.state).map((each) => each.key),
      ["0/2", "limit/calls_max.1"]
    )
    assert.isFalse(wantsTurn(play))
  })

  it("closes as cancelled when the run stops, and when the answer comes first", () => {
    const stopped = reached()
    const { request } = requestLimitApproval(stopped, "calls_max")
    const { approval, call } = request
    const stopping = { status: "failed", by: "bob", reason: "r" } as const
    const closed = (by: string): RunEvent => ({
      _tag: "ApprovalClosed",
      call,
      approval,
      how: "cancelled",
      by
    })
    const events = added(stopped, () => give(stopped, { _tag: "Stops", stopping }))
    assert.deepInclude(events, closed("bob"))
    assert.strictEqual(stopped.state.awaiting, 0)

    const answered = reached()
    const asked = requestLimitApproval(answered, "calls_max").request
    assert.deepStrictEqual(says(answered).slice(1), [
      { ...closed("runtime"), approval: asked.approval },
      { _tag: "RunEnded", status: "complete", reason: "complete", text: "said" }
    ] as ReadonlyArray<RunEvent>)
  })
})

describe("a limit that may not be extended", () => {
  it("stops the run with ask, and gives it a last turn with answer", () => {
    const reach = (on_breach: "ask" | "answer") => {
      const play = started({ calls_max: 1, extensions_max: 0, on_breach })
      step(play)
      return play
    }
    assert.strictEqual(reach("ask").state.ended?.reason, "calls_max")
    const answering = reach("answer")
    assert.isUndefined(answering.state.stopping)
    assert.lengthOf(wantedWork(answering.state), 1)
  })

  it("is not asked about, also before the run is stopped", () => {
    const play = started({ calls_max: 1, on_breach: "ask" })
    step(play)
    requestLimitApproval(play, "calls_max")
    answersLimit(play)
    const calls = [proposal("write", { n: 2 })]
    apply(play, [
      { _tag: "ModelTurned", frame: rootFrame, step: 2, text: "", calls, finish: "stop" }
    ])
    const call = callId(rootFrame, 2, 0)
    apply(play, [{ _tag: "CallSettled", call, outcome: { _tag: "Value", json: "1" } }])
    assert.deepStrictEqual(breachOf(play.state), { limit: "calls_max", reason: "calls_max" })
    assert.isFalse(wantedWork(play.state).some((each) => each._tag === "RequestLimitApproval"))
  })

  it("is not asked about where the run has its answer", () => {
    const play = started({ steps_max: 1, on_breach: "ask" })
    apply(play, [
      { _tag: "ModelTurned", frame: rootFrame, step: 1, text: "done", calls: [], finish: "stop" }
    ])
    assert.deepStrictEqual(wantedWork(play.state), [])
  })
})

describe("the reason of a stop", () => {
  it("names the last mistake only where mistakes_max was reached", () => {
    const play = started({ steps_max: 1 })
    says(play, { text: "" })
    assert.strictEqual(play.state.used.mistake, "an empty turn")
    assert.strictEqual(
      play.state.stopping?.message,
      "the run has used 1 of 1 model turns (steps_max)"
    )
  })

  it("is the limit that was asked about, where a denial comes when it is no longer reached", () => {
    const play = started({ mistakes_max: 1, on_breach: "ask" })
    says(play, { calls: [proposal("a"), proposal("b")] })
    delegates(play, first)
    give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "again" })
    const frame = frameOpenedBy(first)
    proposes(play, 1, frame)
    says(play, {}, rootFrame)
    const mistaken: Outcome = {
      _tag: "Failed",
      error: { class: "ToolUserError", kind: "invalid_args", reason: "INPUT_SCHEMA", message: "no" }
    }
    ends(play, callId(frame, 1, 0), mistaken)
    requestLimitApproval(play, "mistakes_max")
    assert.isDefined(play.state.question)
    // Another frame's work ends well while the question waits.
    apply(play, [
      { _tag: "CallSettled", call: first, outcome: { _tag: "Value", json: "1" } },
      { _tag: "CallSettled", call: second, outcome: { _tag: "Value", json: "1" } }
    ])
    assert.isUndefined(breachOf(play.state))
    answersLimit(play, { _tag: "Deny", reason: "enough" })
    assert.deepInclude(play.state.stopping, { by: "ada", reason: "mistakes_max" })
  })

  it("is given where an earlier release accepted a last turn without a text", () => {
    const play = started({ steps_max: 1, on_breach: "answer" })
    for (const step of [1, 2]) {
      const empty = { text: "", calls: [], finish: "stop", empty: true } as const
      apply(play, [{ _tag: "ModelTurned", frame: rootFrame, step, ...empty }])
      const next = conclude(play.state)
      assert.strictEqual(next?._tag, step === 1 ? undefined : "RunStopping", `after ${step}`)
    }
  })
})

describe("wall_ms_max that has passed", () => {
  const timeIsUp = (play: Play) => decide(play.state, { _tag: "TimeIsUp" })
  const stops: ReadonlyArray<RunEvent> = [
    { _tag: "RunStopping", status: "failed", by: "runtime", reason: "wall_ms_max" }
  ]
  const reached: ReadonlyArray<RunEvent> = [{ _tag: "LimitReached", limit: "wall_ms_max" }]

  it("stops a run at once with stop, and takes effect at the next turn with ask or answer", () => {
    for (const [on_breach, expected] of [
      ["stop", stops],
      ["ask", reached],
      ["answer", reached]
    ] as const) {
      const play = started({ wall_ms_max: 1, on_breach })
      proposes(play, 1)
      assert.deepStrictEqual(timeIsUp(play), expected, on_breach)
    }
  })

  it("changes nothing of a run without that limit, of one that stops, and when it comes twice", () => {
    for (const on_breach of ["stop", "ask", "answer"] as const) {
      assert.deepStrictEqual(timeIsUp(started({ on_breach })), [], on_breach)
      const play = started({ wall_ms_max: 1, on_breach })
      proposes(play, 1)
      give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "unknown" })
      give(play, { _tag: "TimeIsUp" })
      assert.deepStrictEqual(timeIsUp(play), [], `${on_breach}, twice`)
      const stopping = started({ wall_ms_max: 1, on_breach })
      proposes(stopping, 1)
      give(stopping, { _tag: "Dispatches", call: first, key: "k", on_loss: "unknown" })
      give(stopping, { _tag: "Stops", stopping: { status: "failed", by: "ada", reason: "r" } })
      assert.isUndefined(stopping.state.ended)
      assert.deepStrictEqual(timeIsUp(stopping), [], `${on_breach}, stopping`)
    }
  })

  it("stops a run whose limit was extended as often as it may be", () => {
    const play = started({ wall_ms_max: 1, on_breach: "ask" })
    step(play)
    give(play, { _tag: "TimeIsUp" })
    requestLimitApproval(play, "wall_ms_max")
    answersLimit(play)
    assert.deepStrictEqual(timeIsUp(play), stops)
  })
})
