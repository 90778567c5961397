import { assert, describe, it } from "@effect/vitest"
import { AgentName, callId, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import { decide } from "../../src/run/RunDecider.ts"
import { cancelRun } from "../../src/run/RunCommand.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { isParkable, emptyState, statusOf } from "../../src/run/RunState.ts"
import { evolve, fold } from "../../src/run/RunFold.ts"
import { wantedWork } from "../../src/run/RunWork.ts"
import { either } from "../Long.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Play } from "./Interleaving.ts"
import {
  apply,
  begin,
  claim,
  command,
  drain,
  give,
  interleave,
  run,
  seeded,
  turn
} from "./Interleaving.ts"
import {
  assertCounters,
  assertFacts,
  assertLimits,
  assertOrder,
  assertTranscripts
} from "./Invariants.ts"

/** Tens of millions of assertions: a busy machine needs more than half a minute. */
const patient = { timeout: 180_000 }

const seeds = Array.from({ length: either(400, 2_500) }, (_, seed) => seed)

/** Says which seed failed. */
const each = (body: (seed: number) => void): void => {
  for (const seed of seeds) {
    try {
      body(seed)
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error })
    }
  }
}

const assertAll = (play: Play): void => {
  assertCounters(play.state)
  assertOrder(play)
  assertTranscripts(play.state)
  assertLimits(play)
  assertFacts(play)
}

describe("any interleaving", () => {
  it(
    "keeps one result per call, one end, valid transcripts, right counters and the limits",
    patient,
    () => {
      each((seed) => {
        const play = interleave(seed, ({ state }) => assertCounters(state))
        assertAll(play)
      })
    }
  )

  it("folds at every prefix to the state that grew event by event", () => {
    each((seed) => {
      const { events } = interleave(seed, () => undefined)
      const grown = emptyState()
      const compared = 1 + Math.floor(seeded(seed)() * events.length)
      for (const [i, event] of events.entries()) {
        evolve(grown, event)
        const folded = fold(events.slice(0, i + 1))
        if (folded.length !== i + 1) assert.fail(`prefix of ${i + 1} has ${folded.length}`)
        if (i + 1 === compared || i + 1 === events.length) assert.deepStrictEqual(folded, grown)
      }
    })
  })

  it("does not change the state by deciding, concluding or wanting", () => {
    each((seed) => {
      const { events, state } = interleave(seed, () => undefined)
      conclude(state)
      wantedWork(state)
      decide(state, { _tag: "Recovered" })
      assert.deepStrictEqual(state, fold(events))
    })
  })

  it("ends when its work is done and people answer, with one result for every call", () => {
    each((seed) => {
      const play = interleave(seed, () => undefined)
      drain(play)
      assert.isDefined(play.state.ended)
      assertAll(play)
      assert.strictEqual(play.events.at(-1)!._tag, "RunEnded")
      assert.strictEqual(conclude(play.state), undefined)
      assert.deepStrictEqual(wantedWork(play.state), [])
    })
  })

  it("ends without a new act when it is stopped and its dispatched calls have results", () => {
    each((seed) => {
      const play = interleave(seed, () => undefined)
      const stopping = { status: "cancelled", by: "ada", reason: "enough" } as const
      give(play, { _tag: "Stops", stopping })
      for (const each of wantedWork(play.state)) {
        if (each._tag !== "RunCall" || each.start) return assert.fail(`${each.key} is started`)
        const { phase } = play.state.calls.get(each.call)!
        assert.strictEqual(phase._tag === "Dispatched" ? phase.epoch : 0, play.state.epoch)
        give(play, { _tag: "Lost", call: each.call })
      }
      assert.isDefined(play.state.ended)
      assertAll(play)
    })
  })

  it("meets every event and every outcome", () => {
    const met = new Map<string, number>()
    const add = (name: string) => met.set(name, (met.get(name) ?? 0) + 1)
    each((seed) => {
      const play = interleave(seed, () => undefined)
      drain(play)
      for (const event of play.events) {
        add(event._tag)
        if (event._tag === "CallSettled") add(event.outcome._tag)
        if (event._tag === "CallDispatched") add(`on loss: ${event.on_loss}`)
        if (event._tag === "CallSettled" && event.outcome._tag === "Failed")
          add(event.outcome.error.reason ?? "")
        if (event._tag === "ApprovalRequested" && event.limit !== undefined)
          add(`asked for ${event.limit}`)
        if (event._tag === "ApprovalDecided" && event.call.startsWith("limit/"))
          add(`a limit: ${event.decision._tag}`)
        if (event._tag === "RunEnded") add(`${event.status} ${event.reason}`)
      }
      add(`${Math.min(play.state.frames.size, 3)} frames`)
    })
    const tags = [
      "ModelTurned",
      "FrameOpened",
      "ApprovalRequested",
      "ApprovalDecided",
      "ApprovalClosed",
      "CallDispatched",
      "on loss: ask",
      "CallUnknown",
      "CallReopened",
      "CallSettled",
      "LimitReached",
      "RunStopping",
      "RunEnded"
    ]
    const outcomes = ["Value", "Failed", "Denied", "Revised", "Expired", "Cancelled", "Unknown"]
    const ends = [
      "complete complete",
      "failed recursion_limit",
      "failed calls_max",
      "failed tokens_max",
      "failed cost_max",
      "failed cost_unknown",
      "failed wall_ms_max",
      "failed repeats_max",
      "failed mistakes_max",
      "asked for steps_max",
      "asked for calls_max",
      "asked for tokens_max",
      "asked for cost_max",
      "asked for wall_ms_max",
      "asked for repeats_max",
      "asked for mistakes_max",
      "a limit: Approve",
      "a limit: Deny",
      "DUPLICATE_CALL",
      "DEPTH_MAX",
      "cancelled enough",
      "failed model_unavailable",
      "1 frames",
      "2 frames",
      "3 frames"
    ]
    for (const name of [...tags, ...outcomes, ...ends])
      assert.isAtLeast(met.get(name) ?? 0, either(2, 20), name)
  })
})

/** A model that never stops asking for one call, which succeeds. */
const runaway = (play: Play): void => {
  for (let i = 0; i < 2_000 && play.state.ended === undefined; i++) {
    const [next] = wantedWork(play.state)
    if (next === undefined) break
    if (next._tag === "CallModel") {
      const { frame, step, tools } = next
      give(play, {
        _tag: "TurnFinished",
        turned: { _tag: "ModelTurned", frame, step, ...turn(tools ? 1 : 0) }
      })
    } else if (next._tag === "RunCall") {
      const outcome = { _tag: "Value", json: "1" } as const
      give(play, { _tag: "Finished", settled: { _tag: "CallSettled", call: next.call, outcome } })
    }
  }
}

const analyst = AgentName.make("analyst")
const first = (index: number) => callId(rootFrame, 1, index)

/** A run whose first turn asks for `calls` calls. */
const turned = (calls: number, limits: Partial<RunLimits> = {}): Play => {
  const play = begin(RunLimits.make(limits))
  give(play, {
    _tag: "TurnFinished",
    turned: { _tag: "ModelTurned", frame: rootFrame, step: 1, ...turn(calls) }
  })
  return play
}

const reasonOf = (play: Play, index: number): string | undefined => {
  const { phase } = play.state.calls.get(first(index))!
  return phase._tag === "Settled" && phase.outcome._tag === "Failed"
    ? phase.outcome.error.reason
    : undefined
}

const delegate = (play: Play, index: number): void =>
  give(play, { _tag: "Delegates", call: first(index), agent: analyst, input: "look" })

describe("steps_max", () => {
  it("ST-22 stops a runaway loop at 25 steps", () => {
    const play = begin(RunLimits.make({}))
    runaway(play)
    assert.strictEqual(play.state.steps, 25)
    assertAll(play)
  })

  it("ST-22 stops at 3 where 3 is configured", () => {
    const play = begin(RunLimits.make({ steps_max: 3 }))
    runaway(play)
    assert.strictEqual(play.state.steps, 3)
    assertAll(play)
  })

  it("ST-23 a run that hits the limit fails with reason recursion_limit", () => {
    const play = begin(RunLimits.make({ steps_max: 3 }))
    runaway(play)
    assert.deepStrictEqual(play.events.slice(-2), [
      {
        _tag: "RunStopping",
        status: "failed",
        by: "runtime",
        reason: "recursion_limit",
        message: "the run has used 3 of 3 model turns (steps_max)"
      },
      { _tag: "RunEnded", status: "failed", reason: "recursion_limit", text: "let me look" }
    ])
    assert.strictEqual(statusOf(play.state), "failed")
  })

  it("a run that answers at the limit completes", () => {
    const play = begin(RunLimits.make({ steps_max: 1 }))
    give(play, {
      _tag: "TurnFinished",
      turned: { _tag: "ModelTurned", frame: rootFrame, step: 1, ...turn(0) }
    })
    assert.strictEqual(play.state.ended?.status, "complete")
  })

  it("with answer, one turn more without tools completes the run", () => {
    const play = begin(RunLimits.make({ steps_max: 3, on_breach: "answer" }))
    runaway(play)
    assert.strictEqual(play.state.steps, 4)
    assert.strictEqual(play.state.ended?.status, "complete")
    assert.strictEqual(play.state.ended?.text, "done")
  })

  it("with answer, calls in the last turn are dropped", () => {
    const play = turned(1, { steps_max: 1, on_breach: "answer" })
    const outcome = { _tag: "Value", json: "1" } as const
    give(play, { _tag: "Finished", settled: { _tag: "CallSettled", call: first(0), outcome } })
    assert.deepStrictEqual(wantedWork(play.state), [
      { _tag: "CallModel", key: "0/2/answer", frame: rootFrame, step: 2, tools: false, start: true }
    ])
    give(play, {
      _tag: "TurnFinished",
      turned: { _tag: "ModelTurned", frame: rootFrame, step: 2, ...turn(2, "sorry") }
    })
    assert.strictEqual(play.state.ended?.text, "sorry")
    assert.strictEqual(play.state.calls.size, 1)
  })

  it("with answer, specialists never take the last turn from the supervisor", () => {
    const play = turned(2, { steps_max: 2, on_breach: "answer" })
    delegate(play, 0)
    delegate(play, 1)
    const wanted = wantedWork(play.state).filter((each) => each._tag === "CallModel")
    assert.deepStrictEqual(
      wanted.map((each) => each.frame),
      [frameOpenedBy(first(0))]
    )
    give(play, {
      _tag: "TurnFinished",
      turned: { _tag: "ModelTurned", frame: frameOpenedBy(first(0)), step: 1, ...turn(0) }
    })
    assert.strictEqual(reasonOf(play, 1), "STEPS_MAX")
    const [last, ...none] = wantedWork(play.state)
    assert.deepStrictEqual(none, [])
    assert.strictEqual(last?._tag === "CallModel" ? last.frame : undefined, rootFrame)
    runaway(play)
    assert.strictEqual(play.state.ended?.status, "complete")
    assert.strictEqual(play.state.steps, 3)
    assertAll(play)
  })

  it("a turn that comes when the steps are used up is dropped", () => {
    const play = turned(2, { steps_max: 2 })
    delegate(play, 0)
    delegate(play, 1)
    // Both turns are decided in one pass, before anything is concluded from the first.
    for (const index of [0, 1]) {
      const frame = frameOpenedBy(first(index))
      apply(
        play,
        decide(play.state, {
          _tag: "TurnFinished",
          turned: { _tag: "ModelTurned", frame, step: 1, ...turn(0) }
        })
      )
    }
    assert.strictEqual(play.state.steps, 2)
  })
})

/** A call with on_loss ask that an older owner dispatched. */
const lostAsk = () => {
  const play = turned(1)
  give(play, { _tag: "Dispatches", call: first(0), key: "k", on_loss: "ask", over_at: 100 })
  claim(play)
  give(play, { _tag: "Recovered" })
  return play
}

const resultOf = ({ state }: Play) => {
  const { phase } = state.calls.get(first(0))!
  return phase._tag === "Settled" ? phase.outcome : undefined
}

describe("limits", () => {
  it("calls_max refuses the calls beyond it and fails the run at its next turn", () => {
    const play = turned(3, { calls_max: 2 })
    assert.strictEqual(reasonOf(play, 2), "CALLS_MAX")
    assert.strictEqual(play.state.open.length, 2)
    runaway(play)
    assert.strictEqual(play.state.ended?.reason, "calls_max")
    assertAll(play)
  })

  it("questions_max settles the call that would ask once more", () => {
    const play = turned(2, { questions_max: 1 })
    for (const index of [0, 1]) {
      const { _tag, ...request } = Samples.approvalRequested(first(index), {
        proposal: `p-${index}`
      })
      give(play, { _tag: "RequestsApproval", request })
    }
    assert.strictEqual(play.state.awaiting, 1)
    assert.strictEqual(reasonOf(play, 1), "QUESTIONS_MAX")
  })

  it("writes_max settles the call that would write once more, and not one sent again", () => {
    const play = turned(2, { writes_max: 1 })
    const dispatch = (index: number) =>
      give(play, { _tag: "Dispatches", call: first(index), key: `k${index}`, on_loss: "again" })
    dispatch(0)
    dispatch(1)
    assert.strictEqual(reasonOf(play, 1), "WRITES_MAX")
    claim(play)
    dispatch(0)
    assert.strictEqual(play.state.dispatches, 1)
    const { phase } = play.state.calls.get(first(0))!
    assert.strictEqual(phase._tag === "Dispatched" ? phase.epoch : 0, 2)
  })

  it("SA-07 a turn opens at most two frames", () => {
    const play = turned(3)
    for (const index of [0, 1, 2]) delegate(play, index)
    assert.strictEqual(play.state.frames.size, 3)
    assert.strictEqual(reasonOf(play, 2), "DELEGATIONS_MAX")
  })

  it("a lost dispatch with on_loss unknown becomes unknown", () => {
    const play = turned(2)
    for (const index of [0, 1]) {
      const call = first(index)
      give(play, { _tag: "Dispatches", call, key: `k${index}`, on_loss: "again" })
    }
    claim(play)
    const { _tag, ...request } = Samples.approvalRequested(first(0))
    give(play, { _tag: "RequestsApproval", request })
    delegate(play, 1)
    assert.strictEqual(play.state.unknown, 2)
    assert.strictEqual(play.state.questions, 0)
  })

  it("a lost dispatch that the gate now refuses becomes unknown, because it may have had its side effect", () => {
    const play = turned(1)
    const call = first(0)
    give(play, { _tag: "Dispatches", call, key: "k", on_loss: "again" })
    claim(play)
    const refused = { _tag: "Cancelled" } as const
    give(play, { _tag: "Finished", settled: { _tag: "CallSettled", call, outcome: refused } })
    assert.strictEqual(play.state.calls.get(call)?.phase._tag, "Unknown")
  })

  it("a lost dispatch with on_loss ask is wanted work, and has the result that its tool reports", () => {
    const play = lostAsk()
    assert.strictEqual(play.state.unknown, 0)
    assert.deepStrictEqual(wantedWork(play.state), [
      { _tag: "RunCall", key: first(0), call: first(0), start: true }
    ])
    assert.isFalse(isParkable(play.state))
    const outcome = { _tag: "Value", json: "1" } as const
    const settled = { _tag: "CallSettled", call: first(0), outcome } as const
    give(play, { _tag: "Finished", settled, reconciled: true })
    assert.deepStrictEqual(resultOf(play), outcome)
    assertAll(play)
  })

  it("a lost dispatch with on_loss ask is unknown where anything but its tool gives a result", () => {
    const play = lostAsk()
    const settled = { _tag: "CallSettled", call: first(0), outcome: { _tag: "Cancelled" } } as const
    give(play, { _tag: "Finished", settled })
    assert.strictEqual(play.state.unknown, 1)
  })

  it("a lost dispatch with on_loss ask is sent again after its tool reconciled it, once each time", () => {
    const play = lostAsk()
    const again = { _tag: "Dispatches", call: first(0), key: "k", on_loss: "ask" } as const
    const dispatches = () => play.events.filter((event) => event._tag === "CallDispatched").length
    give(play, { ...again, over_at: 200 })
    give(play, { ...again, over_at: 100, reconciled: true })
    assert.strictEqual(dispatches(), 1)
    for (const over_at of [200, 200, 300]) give(play, { ...again, over_at, reconciled: true })
    assert.strictEqual(dispatches(), 3)
    assert.strictEqual(play.state.dispatches, 1)
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    give(play, { ...again, over_at: 400, reconciled: true })
    assert.strictEqual(dispatches(), 3)
    assertAll(play)
  })

  it("a lost dispatch with on_loss ask is unknown when its run is stopped", () => {
    const play = lostAsk()
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    assert.deepStrictEqual(resultOf(play), { _tag: "Unknown" })
    assert.strictEqual(play.state.ended?.status, "cancelled")
  })

  it("tokens_max fails the run before its next turn", () => {
    const play = turned(1, { tokens_max: 10 })
    runaway(play)
    assert.strictEqual(play.state.ended?.reason, "tokens_max")
    assert.strictEqual(play.state.steps, 1)
  })
})
