import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { callId, frameOpenedBy, rootFrame } from "../../src/value/Ids.ts"
import { conclude } from "../../src/run/RunConclusion.ts"
import { decide } from "../../src/run/RunDecider.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import { cancelRun, settleCall } from "../../src/run/RunCommand.ts"
import type { Outcome, RunEvent } from "../../src/run/RunEvent.ts"
import type { RunLimits } from "../../src/run/RunLimits.ts"
import { wantedWork } from "../../src/run/RunWork.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Play } from "./Interleaving.ts"
import { apply, claim, command, give, run } from "./Interleaving.ts"
import {
  added,
  analyst,
  answersLimit,
  requestLimitApproval,
  compaction,
  delegated,
  delegates,
  ends,
  first,
  proposal,
  proposes,
  says,
  second,
  started
} from "./Scenes.ts"

const stops = (play: Play) =>
  added(play, () =>
    give(play, { _tag: "Stops", stopping: { status: "cancelled", by: "bob", reason: "enough" } })
  )

const asks = (play: Play, call = first) => {
  const { _tag, ...request } = Samples.approvalRequested(call)
  give(play, { _tag: "RequestsApproval", request })
  return request
}

const settled = (call: typeof first, outcome: Outcome): RunEvent => ({
  _tag: "CallSettled",
  call,
  outcome
})
const cancelled: Outcome = { _tag: "Cancelled" }
const unknown: Outcome = { _tag: "Unknown" }

const policy = (reason: string, message: string): Outcome => ({
  _tag: "Failed",
  error: { class: "ToolPolicyError", kind: "permission", reason, message }
})

describe("a run that is stopped", () => {
  const begun: ReadonlyArray<RunEvent> = [
    { _tag: "RunStopping", status: "cancelled", by: "bob", reason: "enough" }
  ]
  const over: ReadonlyArray<RunEvent> = [
    { _tag: "RunEnded", status: "cancelled", reason: "enough", text: "said" }
  ]
  const sends = (play: Play, on_loss: "again" | "unknown" | "ask" = "again"): void =>
    give(play, { _tag: "Dispatches", call: first, key: "k", on_loss, over_at: 100 })

  it("closes its calls at once, each by its phase", () => {
    for (const [what, bring, expected] of [
      ["proposed", () => undefined, [settled(first, cancelled)]],
      [
        "decided",
        (play: Play) => {
          const { approval, digest } = asks(play)
          const decision = { _tag: "Approve" } as const
          apply(play, [
            { _tag: "ApprovalDecided", call: first, approval, decision, by: "ada", digest }
          ])
        },
        [settled(first, cancelled)]
      ],
      [
        "unknown",
        (play: Play) => {
          sends(play)
          give(play, { _tag: "Lost", call: first })
        },
        [settled(first, unknown)]
      ],
      [
        "of an older owner",
        (play: Play) => {
          sends(play)
          claim(play)
        },
        [settled(first, unknown)]
      ]
    ] as const) {
      const play = started()
      proposes(play, 1)
      bring(play)
      assert.deepStrictEqual(stops(play), [...begun, ...expected, ...over], what)
      assert.deepStrictEqual(stops(play), [], what)
    }
  })

  it("closes a question about a limit, by the principal that stopped it", () => {
    const play = started()
    proposes(play, 1)
    const { approval } = asks(play)
    assert.deepStrictEqual(stops(play), [
      ...begun,
      { _tag: "ApprovalClosed", call: first, approval, how: "cancelled", by: "bob" },
      settled(first, cancelled),
      ...over
    ])
  })

  it("waits for what is in flight, and is stopped once", () => {
    const play = started()
    proposes(play, 1)
    sends(play)
    assert.deepStrictEqual(stops(play), begun)
    assert.deepStrictEqual(stops(play), [])
    assert.strictEqual(conclude(play.state), undefined)
    const result: Outcome = { _tag: "Value", json: "1" }
    assert.deepStrictEqual(ends(play, first, result), [settled(first, result), ...over])
  })

  it("closes a specialist's calls before its delegation, which is cancelled", () => {
    const { frame, play } = delegated()
    proposes(play, 2, frame)
    const at = (index: number) => callId(frame, 1, index)
    assert.deepStrictEqual(stops(play), [
      ...begun,
      settled(at(0), cancelled),
      settled(at(1), cancelled),
      settled(first, cancelled),
      ...over
    ])
  })

  it("keeps a delegation open while a call of its specialist is in flight", () => {
    const { frame, play } = delegated()
    proposes(play, 1, frame)
    const call = callId(frame, 1, 0)
    give(play, { _tag: "Dispatches", call, key: "k", on_loss: "unknown" })
    assert.deepStrictEqual(stops(play), begun)
    assert.deepStrictEqual(ends(play, call, cancelled), [
      settled(call, cancelled),
      settled(first, cancelled),
      ...over
    ])
  })

  it("has no further turn, and a late one changes nothing", () => {
    const play = started()
    proposes(play, 1)
    sends(play)
    stops(play)
    ends(play, first)
    assert.isDefined(play.state.ended)
    for (const step of [1, 2, 3]) {
      const place = { frame: rootFrame, step }
      const turned = {
        _tag: "ModelTurned",
        ...place,
        text: "t",
        calls: [],
        finish: "stop"
      } as const
      const failed = { reason: "r", message: "m", transient: true }
      assert.deepStrictEqual(decide(play.state, { _tag: "TurnFinished", turned }), [])
      assert.deepStrictEqual(decide(play.state, { _tag: "TurnFailed", ...place, ...failed }), [])
    }
  })
})

describe("a turn", () => {
  const late = (play: Play, frame = rootFrame, step = 2): ReadonlyArray<RunEvent> => {
    const failed = { reason: "r", message: "m", transient: true }
    const input: RunInput = { _tag: "TurnFailed", frame, step, ...failed }
    const turned = {
      _tag: "ModelTurned",
      frame,
      step,
      text: "t",
      calls: [],
      finish: "stop"
    } as const
    return [
      ...decide(play.state, input),
      ...decide(play.state, { _tag: "TurnFinished", turned }),
      ...decide(play.state, { _tag: "Compacts", compaction: compaction({ frame, step }) })
    ]
  }

  it("is accepted where its frame waits for exactly that turn", () => {
    const play = started()
    proposes(play, 1)
    assert.deepStrictEqual(late(play), [], "a call has no result yet")
    ends(play, first)
    assert.lengthOf(late(play), 3)
    for (const step of [0, 1, 3]) assert.deepStrictEqual(late(play, rootFrame, step), [])
    assert.deepStrictEqual(late(play, frameOpenedBy(second), 1), [], "there is no such frame")
  })

  it("of a run that is stopping, of a frame that has answered or is closed, is dropped", () => {
    const { frame, play } = delegated()
    assert.lengthOf(late(play, frame, 1), 3)
    says(play, {}, frame)
    assert.deepStrictEqual(late(play, frame, 2), [])
    const { frame: closed, play: failed } = delegated()
    give(failed, {
      _tag: "TurnFailed",
      frame: closed,
      step: 1,
      reason: "r",
      message: "m",
      transient: false
    })
    assert.deepStrictEqual(late(failed, closed, 1), [])
    const stopping = started()
    proposes(stopping, 2)
    delegates(stopping, second)
    give(stopping, { _tag: "Dispatches", call: first, key: "k", on_loss: "unknown" })
    assert.lengthOf(late(stopping, frameOpenedBy(second), 1), 3)
    command(stopping, (state) => cancelRun(state, run, "ada", "enough"))
    assert.isUndefined(stopping.state.ended)
    assert.deepStrictEqual(late(stopping, frameOpenedBy(second), 1), [])
  })

  it("that failed ends the run with its reason if it is the supervisor's", () => {
    const play = started()
    const events = added(play, () =>
      give(play, {
        _tag: "TurnFailed",
        frame: rootFrame,
        step: 1,
        reason: "model_unavailable",
        message: "no answer",
        transient: true
      })
    )
    const reason = "model_unavailable"
    assert.deepStrictEqual(events, [
      { _tag: "RunStopping", status: "failed", by: "runtime", reason, message: "no answer" },
      { _tag: "RunEnded", status: "failed", reason, text: "" }
    ])
  })
})

describe("a call that is refused by a limit of the run", () => {
  const proposed = (calls: number, limits: Partial<RunLimits> = {}) => {
    const play = started(limits)
    proposes(play, calls)
    return play
  }
  const delegation = (call: typeof first): RunInput => ({
    _tag: "Delegates",
    call,
    agent: analyst,
    input: "do"
  })

  it("has the reason: calls, questions, writes, depth, delegations, and an earlier denial", () => {
    const third = callId(rootFrame, 1, 2)
    const many = proposed(3, { calls_max: 2 })
    const message = "this run may make no more calls"
    assert.deepStrictEqual(many.events.at(-1), settled(third, policy("CALLS_MAX", message)))

    const asking = proposed(1, { questions_max: 0 })
    const { _tag, ...request } = Samples.approvalRequested(first)
    assert.deepStrictEqual(decide(asking.state, { _tag: "RequestsApproval", request }), [
      settled(first, policy("QUESTIONS_MAX", "this run may ask no more questions"))
    ])

    const writing = proposed(1, { writes_max: 0 })
    const send = { _tag: "Dispatches", call: first, key: "k", on_loss: "unknown" } as const
    assert.deepStrictEqual(decide(writing.state, send), [
      settled(first, policy("WRITES_MAX", "this run may write no more"))
    ])

    const flat = proposed(1, { depth_max: 0 })
    const deep = "delegations go at most 0 deep: do it yourself"
    assert.deepStrictEqual(decide(flat.state, delegation(first)), [
      settled(first, policy("DEPTH_MAX", deep))
    ])
    const { frame, play } = delegated({ depth_max: 1 })
    proposes(play, 1, frame)
    const below = callId(frame, 1, 0)
    assert.deepStrictEqual(decide(play.state, delegation(below)), [
      settled(below, policy("DEPTH_MAX", "delegations go at most 1 deep: do it yourself"))
    ])

    const alone = proposed(2, { delegations_per_turn_max: 1 })
    delegates(alone, first)
    assert.deepStrictEqual(decide(alone.state, delegation(second)), [
      settled(second, policy("DELEGATIONS_MAX", "at most 1 delegations in one turn"))
    ])
  })

  it("is one with an equal proposal that a person denied, and no other", () => {
    const play = proposed(2)
    const { approval, digest, proposal: same } = asks(play)
    const decision = { _tag: "Deny", reason: "no" } as const
    give(play, {
      _tag: "Finished",
      settled: { _tag: "CallSettled", call: second, outcome: cancelled }
    })
    command(play, () => ({
      events: [
        { _tag: "ApprovalDecided", call: first, approval, decision, by: "ada", digest },
        settled(first, { _tag: "Denied", by: "ada", reason: "no" })
      ],
      answer: Result.succeed(undefined)
    }))
    proposes(play, 1)
    const call = callId(rootFrame, 2, 0)
    const { _tag, ...request } = Samples.approvalRequested(call, { proposal: same })
    const message = "a person denied this same call before; it is not asked again"
    assert.deepStrictEqual(decide(play.state, { _tag: "RequestsApproval", request }), [
      settled(call, policy("APPROVAL_DENIED", message))
    ])
    const other = { ...request, proposal: "another" }
    assert.deepStrictEqual(decide(play.state, { _tag: "RequestsApproval", request: other }), [
      { _tag: "ApprovalRequested", ...other }
    ])
  })
})

describe("a dispatch", () => {
  const sends = (play: Play, given: object = {}) =>
    decide(play.state, {
      _tag: "Dispatches",
      call: first,
      key: "k",
      on_loss: "again",
      ...given
    } as RunInput)

  it("has its epoch, on_loss, over_at and via", () => {
    const play = started()
    proposes(play, 1)
    const event = { _tag: "CallDispatched", call: first, key: "k", epoch: 1 }
    assert.deepStrictEqual(sends(play), [{ ...event, on_loss: "again" }] as never)
    for (const given of [
      { on_loss: "ask", over_at: 5 },
      { on_loss: "unknown", via: "queue" },
      { on_loss: "again", tool: "shop.refund@1" }
    ]) {
      assert.deepStrictEqual(sends(play, given), [{ ...event, ...given }] as never)
    }
  })

  it("with on_loss ask is sent again only after its tool was asked, with a later over_at each time", () => {
    const play = started()
    proposes(play, 1)
    give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "ask" })
    claim(play)
    assert.deepStrictEqual(sends(play, { on_loss: "ask", reconciled: true }), [])
    assert.deepStrictEqual(sends(play, { on_loss: "ask", reconciled: true, over_at: 0 }), [])
    assert.deepStrictEqual(sends(play, { on_loss: "ask", over_at: 1 }), [])
    assert.lengthOf(sends(play, { on_loss: "ask", reconciled: true, over_at: 1 }), 1)
  })

  it("that was not lost has the result that comes, also where its tool reconciled it", () => {
    for (const reconciled of [undefined, true] as const) {
      const play = started()
      proposes(play, 1)
      give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "again" })
      const finished = { _tag: "Finished", settled: settled(first, cancelled) } as RunInput
      const given = reconciled === undefined ? finished : ({ ...finished, reconciled } as RunInput)
      assert.deepStrictEqual(decide(play.state, given), [settled(first, cancelled)])
      claim(play)
      // Only a tool with on_loss ask reports what became of a lost call.
      assert.deepStrictEqual(decide(play.state, given), [
        { _tag: "CallUnknown", call: first, tool: "write" }
      ])
    }
  })

  it("that was lost becomes unknown when its call asks or delegates", () => {
    const play = started()
    proposes(play, 1)
    give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "again" })
    claim(play)
    const lost = [{ _tag: "CallUnknown", call: first, tool: "write" }]
    const { _tag, ...request } = Samples.approvalRequested(first)
    assert.deepStrictEqual(decide(play.state, { _tag: "RequestsApproval", request }), lost as never)
    const input = { _tag: "Delegates", call: first, agent: analyst, input: "do" } as const
    assert.deepStrictEqual(decide(play.state, input), lost as never)
  })

  it("with on_loss unknown is not sent again, also by the next owner", () => {
    const play = started()
    proposes(play, 1)
    give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "unknown" })
    claim(play)
    assert.deepStrictEqual(sends(play), [])
    assert.deepStrictEqual(wantedWork(play.state), [
      { _tag: "RunCall", key: first, call: first, start: false }
    ])
  })
})

describe("a settlement", () => {
  it("is refused for a call that does not exist, with phase none", () => {
    const play = started()
    const { answer } = settleCall(play.state, run, first, { _tag: "RunAgain" }, "bob", 0)
    assert.deepInclude(answer, { _tag: "Failure" })
    assert.deepInclude("failure" in answer ? answer.failure : {}, { call: first, phase: "none" })
  })
})

describe("the supervisor's last turn", () => {
  it("is kept without calls, and loses its calls", () => {
    const play = started({ steps_max: 1, on_breach: "answer" })
    proposes(play, 1)
    ends(play, first)
    const frame = rootFrame
    const turned = { _tag: "ModelTurned", frame, step: 2, text: "t", finish: "stop" } as const
    const plain = { ...turned, calls: [] }
    assert.strictEqual(decide(play.state, { _tag: "TurnFinished", turned: plain })[0], plain)
    const asking = { ...turned, calls: [proposal("write")] }
    assert.deepStrictEqual(decide(play.state, { _tag: "TurnFinished", turned: asking }), [plain])
  })

  it("is not a specialist's, nor a turn of a run within its limits", () => {
    const play = started({ steps_max: 2, on_breach: "ask" })
    proposes(play, 1)
    ends(play, first)
    proposes(play, 1)
    ends(play, callId(rootFrame, 2, 0))
    requestLimitApproval(play, "steps_max")
    answersLimit(play)
    proposes(play, 1)
    assert.strictEqual(play.state.calls.size, 3)
  })
})

describe("a specialist at a limit", () => {
  it("fails its call with answer, and its supervisor has the last turn", () => {
    const { frame, play } = delegated({ calls_max: 2, on_breach: "answer" })
    says(play, { calls: [proposal("read", { n: 1 })] }, frame)
    const events = ends(play, callId(frame, 1, 0))
    assert.deepStrictEqual(events[1], {
      _tag: "CallSettled",
      call: first,
      outcome: {
        _tag: "Failed",
        error: {
          class: "ToolPolicyError",
          kind: "permission",
          reason: "CALLS_MAX",
          message: "this run has reached calls_max: a specialist has no more turns in it"
        }
      }
    })
    assert.isUndefined(play.state.stopping)
    assert.deepStrictEqual(
      wantedWork(play.state).map(({ key }) => key),
      ["0/2/answer"]
    )
  })

  it("stops the run with stop, and asks about the run with ask", () => {
    const reach = (on_breach: "stop" | "ask") => {
      const { frame, play } = delegated({ calls_max: 2, on_breach })
      says(play, { calls: [proposal("read", { n: 1 })] }, frame)
      ends(play, callId(frame, 1, 0))
      return play
    }
    const stopped = reach("stop")
    assert.strictEqual(stopped.state.ended?.reason, "calls_max")
    const asking = reach("ask")
    assert.isUndefined(asking.state.stopping)
    assert.isDefined(wantedWork(asking.state).find((each) => each._tag === "RequestLimitApproval"))
  })
})
