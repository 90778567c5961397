import { assert, describe, it } from "@effect/vitest"
import type { TurnCost } from "../../src/cost/TurnCost.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import { breachOf, extensionOf, extensionText, limitPlace, maxOf } from "../../src/run/RunBreach.ts"
import type { ModelTurned, Outcome } from "../../src/run/RunEvent.ts"
import type { LimitName, RunLimits } from "../../src/run/RunLimits.ts"
import { statusOf } from "../../src/run/RunState.ts"
import { wantedWork } from "../../src/run/RunWork.ts"
import type { Play } from "./Interleaving.ts"
import { give } from "./Interleaving.ts"
import {
  added,
  answersLimit,
  requestLimitApproval,
  delegates,
  first,
  proposal,
  priced,
  says,
  second,
  started,
  step,
  wantsTurn
} from "./Scenes.ts"

const unpriced: TurnCost = {
  _tag: "Unpriced",
  agent: "operations" as never,
  prices: "v1",
  reason: "no_price"
}

const broke: Outcome = {
  _tag: "Failed",
  error: { class: "ToolTransientError", kind: "timeout", message: "it took too long" }
}

interface Bound {
  readonly limits: Partial<RunLimits>
  /** Uses half of the limit; the second time it is reached. */
  readonly near: (play: Play) => void
  readonly reason: string
  readonly used: readonly [number | string, number | string]
  readonly thing: string
  readonly last?: string
}

const usage = { input_tokens: 7, output_tokens: 3 }

const bounds: Record<LimitName, Bound> = {
  steps_max: {
    limits: { steps_max: 2 },
    near: step,
    reason: "recursion_limit",
    used: [2, 2],
    thing: "model turns"
  },
  calls_max: {
    limits: { calls_max: 2 },
    near: step,
    reason: "calls_max",
    used: [2, 2],
    thing: "calls"
  },
  tokens_max: {
    limits: { tokens_max: 20 },
    near: (play) => step(play, { usage }),
    reason: "tokens_max",
    used: [20, 20],
    thing: "tokens"
  },
  cost_max: {
    limits: { cost_max: "0.5" },
    near: (play) => step(play, { cost: priced("0.250") }),
    reason: "cost_max",
    used: ["0.5", "0.5"],
    thing: "cost"
  },
  wall_ms_max: {
    limits: { wall_ms_max: 60_000 },
    near: (play) => {
      if (play.state.steps === 0) step(play)
      else give(play, { _tag: "TimeIsUp" })
    },
    reason: "wall_ms_max",
    used: [60_000, 60_000],
    thing: "ms of time"
  },
  repeats_max: {
    limits: { repeats_max: 2 },
    near: (play) => step(play, {}, broke),
    reason: "repeats_max",
    used: [2, 2],
    thing: "failures of the same call"
  },
  mistakes_max: {
    limits: { mistakes_max: 2 },
    near: (play) => says(play, { text: "" }),
    reason: "mistakes_max",
    used: [2, 2],
    thing: "turns of mistakes in a row",
    last: "; the last mistake: an empty turn"
  }
}

const names = Object.keys(bounds) as ReadonlyArray<LimitName>

const lastTurn = (play: Play) => play.state.frames.get(rootFrame)!.step + 1

describe("a limit of the run", () => {
  for (const name of names) {
    const { last = "", limits, near, reason, thing, used } = bounds[name]
    const sentence = `the run has used ${used[0]} of ${used[1]} ${thing} (${name})${last}`

    it(`${name} stops the run when it is reached, and not before`, () => {
      const play = started(limits)
      near(play)
      assert.isUndefined(play.state.stopping)
      assert.isUndefined(breachOf(play.state))
      assert.isTrue(wantsTurn(play))
      const events = added(play, () => near(play))
      const stops = events.filter((event) => event._tag === "RunStopping")
      const message = name === "wall_ms_max" ? undefined : { message: sentence }
      assert.deepStrictEqual(stops, [
        { _tag: "RunStopping", status: "failed", by: "runtime", reason, ...message }
      ])
      assert.strictEqual(play.state.ended?.reason, reason)
    })

    it(`${name} asks a person with ask, and one approval adds as much again`, () => {
      const play = started({ ...limits, on_breach: "ask" })
      near(play)
      assert.isFalse(wantedWork(play.state).some((each) => each._tag === "RequestLimitApproval"))
      near(play)
      const place = `limit/${name}.1`
      assert.strictEqual(limitPlace(play.state, name), place)
      assert.isUndefined(play.state.stopping)
      assert.deepStrictEqual(
        wantedWork(play.state).filter((each) => each._tag === "RequestLimitApproval"),
        [{ _tag: "RequestLimitApproval", key: place, limit: name }]
      )
      assert.isFalse(wantsTurn(play))
      assert.deepStrictEqual(extensionOf(play.state, name), {
        limit: name,
        max: used[1],
        used: used[0],
        extend_by: used[1]
      })
      assert.strictEqual(
        extensionText(extensionOf(play.state, name)),
        `The run has used ${used[0]} of ${used[1]} (${thing}, ${name}) and stands still. Approved, it may use ${used[1]} more; denied, it ends as failed.`
      )
      assert.deepStrictEqual(
        requestLimitApproval(play, name).events.map(({ _tag }) => _tag),
        ["ApprovalRequested"]
      )
      assert.strictEqual(statusOf(play.state), "awaiting_approval")
      assert.isTrue(
        wantedWork(play.state).every((each) => each._tag === "CallModel" && !each.start)
      )
      assert.deepStrictEqual(
        answersLimit(play).map(({ _tag }) => _tag),
        ["ApprovalDecided"]
      )
      assert.strictEqual(statusOf(play.state), "processing")
      assert.isUndefined(breachOf(play.state))
      assert.isTrue(wantsTurn(play))
      assert.strictEqual(limitPlace(play.state, name), `limit/${name}.2`)
    })

    it(`${name} is extended by extend_by, extensions_max times, and then stops the run`, () => {
      const declared = name === "cost_max" ? "0.25" : Math.max(1, Number(used[1]) / 2)
      const play = started({
        ...limits,
        on_breach: "ask",
        extensions_max: 2,
        extend_by: { [name]: declared }
      })
      near(play)
      const reach = () => {
        for (let i = 0; breachOf(play.state) === undefined && play.state.ended === undefined; i++) {
          if (i > 3) assert.fail("it is not reached")
          near(play)
        }
      }
      for (let times = 0; times < 2; times++) {
        reach()
        const { extend_by, max } = extensionOf(play.state, name)
        assert.strictEqual(extend_by, declared)
        assert.strictEqual(
          Number(max),
          Number(used[1]) + times * Number(declared),
          `after ${times}`
        )
        requestLimitApproval(play, name)
        answersLimit(play)
      }
      reach()
      assert.isDefined(play.state.ended)
      assert.strictEqual(play.state.ended?.reason, reason)
      if (name !== "wall_ms_max") {
        const most = Number(used[1]) + 2 * Number(declared)
        assert.include(play.state.stopping?.message, ` of ${most} ${thing} (${name})`)
      }
      if (name !== "cost_max") {
        assert.strictEqual(maxOf(play.state, name), Number(used[1]) + 2 * Number(declared))
      }
    })

    it(`${name} fails the run where a person denies the extension`, () => {
      const play = started({ ...limits, on_breach: "ask" })
      near(play)
      near(play)
      const { request } = requestLimitApproval(play, name)
      const decision = { _tag: "Deny", reason: "that will do" } as const
      assert.deepStrictEqual(answersLimit(play, decision).slice(0, 2), [
        {
          _tag: "ApprovalDecided",
          call: request.call,
          approval: request.approval,
          decision,
          by: "ada",
          digest: request.digest
        },
        { _tag: "RunStopping", status: "failed", by: "ada", reason, message: "that will do" }
      ])
      assert.deepInclude(play.state.ended, { status: "failed", reason })
      assert.strictEqual(extensionOf(play.state, name).max, used[1])
    })

    it(`${name} leaves one last turn without tools with answer`, () => {
      const play = started({ ...limits, on_breach: "answer" })
      for (let i = 0; breachOf(play.state) === undefined; i++) {
        if (i > 2) assert.fail("it is not reached")
        near(play)
      }
      const turn = lastTurn(play)
      assert.deepStrictEqual(wantedWork(play.state), [
        {
          _tag: "CallModel",
          key: `0/${turn}/answer`,
          frame: rootFrame,
          step: turn,
          tools: false,
          start: true
        }
      ])
      const events = says(play, { text: "so far", calls: [proposal("write", { n: 9 })] })
      assert.deepStrictEqual(
        events.map((event) => (event._tag === "ModelTurned" ? event.calls.length : event._tag)),
        [0, "RunEnded"]
      )
      assert.deepInclude(play.state.ended, { status: "complete", text: "so far" })
    })

    it(`${name} fails the run where the last turn has no text`, () => {
      for (const text of ["", "  "]) {
        const play = started({ ...limits, on_breach: "answer" })
        while (breachOf(play.state) === undefined) near(play)
        assert.deepStrictEqual(
          says(play, { text }).find(({ _tag }) => _tag === "RunStopping"),
          {
            _tag: "RunStopping",
            status: "failed",
            by: "runtime",
            reason,
            message: "the last turn was to answer without tools, and said nothing"
          }
        )
      }
    })
  }
})

describe("what is reserved for a last turn", () => {
  const turns = (limits: Partial<RunLimits>, given: (turn: number) => Partial<ModelTurned>) => {
    const play = started({ on_breach: "answer", ...limits })
    let turn = 0
    while (breachOf(play.state) === undefined) step(play, given(++turn))
    return turn
  }
  const token = () => ({ usage: { input_tokens: 1, output_tokens: 0 } })

  it("is a tenth of the tokens, or answer_tokens", () => {
    assert.strictEqual(turns({ tokens_max: 20 }, token), 18)
    assert.strictEqual(turns({ tokens_max: 19 }, token), 18)
    assert.strictEqual(turns({ tokens_max: 20, answer_tokens: 0 }, token), 20)
    assert.strictEqual(turns({ tokens_max: 20, answer_tokens: 15 }, token), 5)
  })

  it("is a tenth of the cost, or answer_cost", () => {
    const tenth = () => ({ cost: priced("0.1") })
    assert.strictEqual(turns({ cost_max: "2" }, tenth), 18)
    assert.strictEqual(turns({ cost_max: "2", answer_cost: "0" }, tenth), 20)
    assert.strictEqual(turns({ cost_max: "2", answer_cost: "1.5" }, tenth), 5)
  })

  it("is nothing with stop and ask", () => {
    for (const on_breach of ["stop", "ask"] as const) {
      const limits = { answer_tokens: 15, answer_cost: "1.5", on_breach }
      assert.strictEqual(turns({ tokens_max: 20, ...limits }, token), 20)
      assert.strictEqual(
        turns({ cost_max: "2", ...limits }, () => ({ cost: priced("0.1") })),
        20
      )
    }
  })
})

describe("several limits", () => {
  it("are breached in a fixed order, whichever is declared first", () => {
    const play = started({
      steps_max: 2,
      calls_max: 2,
      tokens_max: 20,
      cost_max: "0.5",
      wall_ms_max: 1,
      repeats_max: 2,
      mistakes_max: 2,
      on_breach: "ask",
      extensions_max: 1
    })
    const mistaken: Outcome = {
      _tag: "Failed",
      error: {
        class: "ToolUserError",
        kind: "invalid_args",
        reason: "INPUT_SCHEMA",
        message: "no"
      }
    }
    for (let i = 0; i < 2; i++) step(play, { usage, cost: priced("0.25") }, mistaken)
    give(play, { _tag: "TimeIsUp" })
    const met: Array<string> = []
    for (let at = breachOf(play.state); at !== undefined; at = breachOf(play.state)) {
      met.push(at.limit)
      requestLimitApproval(play, at.limit)
      answersLimit(play)
      if (met.length > 7) break
    }
    assert.deepStrictEqual(met, [
      "steps_max",
      "calls_max",
      "tokens_max",
      "cost_max",
      "wall_ms_max",
      "repeats_max",
      "mistakes_max"
    ])
  })

  it("of 0 limit nothing", () => {
    const play = started({
      tokens_max: 0,
      wall_ms_max: 0,
      repeats_max: 0,
      mistakes_max: 0,
      steps_max: 100
    })
    const args = proposal("write", { n: 1 })
    for (let i = 0; i < 20; i++) {
      step(play, { usage, cost: unpriced, calls: [args] }, broke)
      says(play, { text: "" })
    }
    assert.isUndefined(breachOf(play.state))
    assert.isUndefined(play.state.stopping)
  })
})

describe("a cost that is not known", () => {
  for (const [what, cost] of [
    ["a turn without a price", unpriced],
    ["a turn in another currency", priced("0.1", "EUR")]
  ] as const) {
    it(`is a breach of cost_max after ${what}`, () => {
      const play = started({ cost_max: "9" })
      step(play, { cost: priced("0.1") })
      assert.isUndefined(play.state.stopping)
      step(play, { cost })
      assert.deepStrictEqual(play.state.stopping, {
        _tag: "RunStopping",
        status: "failed",
        by: "runtime",
        reason: "cost_unknown",
        message:
          "what the run has cost is not known: a turn has no price, no count of its tokens, or another currency (cost_max)"
      })
      const unbound = started()
      step(unbound, { cost: priced("0.1") })
      step(unbound, { cost })
      assert.isUndefined(unbound.state.stopping)
    })
  }

  it("may be extended, and what has a price still counts", () => {
    const play = started({ cost_max: "0.5", on_breach: "ask", extensions_max: 2 })
    step(play, { cost: unpriced })
    assert.deepStrictEqual(extensionOf(play.state, "cost_max"), {
      limit: "cost_max",
      max: "0.5",
      used: "0",
      extend_by: "0.5"
    })
    requestLimitApproval(play, "cost_max")
    answersLimit(play)
    assert.isUndefined(breachOf(play.state))
    step(play, { cost: priced("0.9") })
    assert.isUndefined(breachOf(play.state))
    step(play, { cost: priced("0.1") })
    assert.deepStrictEqual(breachOf(play.state), { limit: "cost_max", reason: "cost_max" })
  })

  it("has a limit of 0 where cost_max is not declared", () => {
    assert.deepStrictEqual(extensionOf(started().state, "cost_max"), {
      limit: "cost_max",
      max: "0",
      used: "0",
      extend_by: "0"
    })
  })
})

describe("turns of several frames at once", () => {
  /** The supervisor has taken one turn of this size, and two specialists wait for their first. */
  const two = (limits: Partial<RunLimits>, given: Partial<ModelTurned> = {}) => {
    const play = started(limits)
    says(play, { calls: [proposal("a"), proposal("b")], ...given })
    delegates(play, first)
    delegates(play, second)
    return wantedWork(play.state).map((each) =>
      each._tag === "CallModel" ? each.start : each._tag
    )
  }

  it("leave room for another as large as the largest so far", () => {
    const cost = priced("0.2")
    assert.deepStrictEqual(two({}), [true, true])
    assert.deepStrictEqual(two({ tokens_max: 21 }, { usage }), [true, true])
    assert.deepStrictEqual(two({ tokens_max: 20 }, { usage }), [true, false])
    assert.deepStrictEqual(two({ tokens_max: 10 }, { usage }), [])
    assert.deepStrictEqual(two({ cost_max: "0.41" }, { cost }), [true, true])
    assert.deepStrictEqual(two({ cost_max: "0.4" }, { cost }), [true, false])
    assert.deepStrictEqual(two({ cost_max: "0.2" }, { cost }), [])
    assert.deepStrictEqual(two({ cost_max: "0.41", tokens_max: 20 }, { cost, usage }), [
      true,
      false
    ])
  })

  it("never share the last step", () => {
    assert.deepStrictEqual(two({ steps_max: 3 }), [true, true])
    assert.deepStrictEqual(two({ steps_max: 2 }), [true])
  })

  it("are taken to be as large as the largest turn, not the last", () => {
    const after = (limits: Partial<RunLimits>) => {
      const play = started(limits)
      step(play, { usage: { input_tokens: 12, output_tokens: 8 }, cost: priced("0.2") })
      step(play, { usage: { input_tokens: 1, output_tokens: 0 }, cost: priced("0.01") })
      says(play, { calls: [proposal("a"), proposal("b")] })
      delegates(play, callId(rootFrame, 3, 0))
      delegates(play, callId(rootFrame, 3, 1))
      return wantedWork(play.state).map((each) =>
        each._tag === "CallModel" ? each.start : each._tag
      )
    }
    assert.deepStrictEqual(after({ tokens_max: 42 }), [true, true])
    assert.deepStrictEqual(after({ tokens_max: 41 }), [true, false])
    assert.deepStrictEqual(after({ cost_max: "0.42" }), [true, true])
    assert.deepStrictEqual(after({ cost_max: "0.41" }), [true, false])
  })
})
