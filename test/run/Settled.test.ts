/** Questions that are answered or closed, and calls that may not be settled. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Decision } from "../../src/approval/Approval.ts"
import { AgentName, callId, rootFrame } from "../../src/value/Ids.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import { cancelRun, decideApproval, expireApproval, settleCall } from "../../src/run/RunCommand.ts"
import type { ApprovalRequested } from "../../src/run/RunEvent.ts"
import { decide } from "../../src/run/RunDecider.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { fold } from "../../src/run/RunFold.ts"
import type { OnLoss } from "../../src/tool/ToolSpec.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Play } from "./Interleaving.ts"
import { begin, claim, command, give, run, turn } from "./Interleaving.ts"

const first = callId(rootFrame, 1, 0)
const second = callId(rootFrame, 1, 1)

/** The first of two calls waits for a person until 1,000 ms. */
const asking = () => {
  const play = begin(RunLimits.make({}))
  give(play, {
    _tag: "TurnFinished",
    turned: { _tag: "ModelTurned", frame: rootFrame, step: 1, ...turn(2) }
  })
  const { _tag, ...request } = Samples.approvalRequested(first, { expires_at: 1_000 })
  give(play, { _tag: "RequestsApproval", request })
  return { play, request }
}

const decideAt = (
  play: Play,
  request: Omit<ApprovalRequested, "_tag">,
  decision: Decision,
  now = 0
) =>
  decideApproval(
    fold(play.events),
    {
      call: request.call,
      approval: request.approval,
      decision,
      by: Samples.principal(["approver"]),
      digest: request.digest
    },
    now
  )

const approve: Decision = { _tag: "Approve" }

describe("a question with an expiry", () => {
  it("is refused as decided after an answer, whatever the answer and the time", () => {
    for (const decision of [
      approve,
      { _tag: "Deny", reason: "no" },
      { _tag: "RequestRevision", note: "smaller" },
      { _tag: "Modify", arguments: {} }
    ] satisfies ReadonlyArray<Decision>) {
      const { play, request } = asking()
      command(play, () => decideAt(play, request, decision))
      for (const now of [0, 5_000]) {
        const late = decideAt(play, request, approve, now)
        assert.deepStrictEqual(late.events, [])
        assert.isTrue(Result.isFailure(late.answer))
        if (!Result.isFailure(late.answer)) return
        const error = late.answer.failure
        assert.strictEqual(
          error._tag === "ApprovalSettled" ? error.status : error._tag,
          "decided",
          decision._tag
        )
      }
    }
  })

  it("is refused as cancelled after its run was cancelled", () => {
    const { play, request } = asking()
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    const { answer } = decideAt(play, request, approve, 5_000)
    const error = Result.isFailure(answer) ? answer.failure : undefined
    assert.strictEqual(error?._tag === "ApprovalSettled" ? error.status : error?._tag, "cancelled")
  })

  it("closes as expired by the runtime alone", () => {
    const { play, request } = asking()
    const { approval } = request
    const expected = [
      { _tag: "ApprovalClosed", call: first, approval, how: "expired", by: "system:expiry" },
      { _tag: "CallSettled", call: first, outcome: { _tag: "Expired" } }
    ]
    const swept = expireApproval(fold(play.events), first, approval, 1_000)
    assert.deepStrictEqual(swept.events, expected as never)
    assert.deepStrictEqual(decideAt(play, request, approve, 1_000).events, expected as never)
  })

  it("is not closed by a sweep that names a call which does not exist", () => {
    const { play, request } = asking()
    const unknown = callId(rootFrame, 9, 9)
    const { answer, events } = expireApproval(fold(play.events), unknown, request.approval, 5_000)
    assert.deepStrictEqual(events, [])
    assert.isTrue(Result.isSuccess(answer))
  })
})

describe("a dispatched call", () => {
  const settlements: ReadonlyArray<Settlement> = [
    { _tag: "Succeeded", json: "1" },
    { _tag: "Failed", message: "never sent" },
    { _tag: "RunAgain" }
  ]
  /** The second call is dispatched. */
  const dispatched = (on_loss: OnLoss) => {
    const { play } = asking()
    give(play, { _tag: "Dispatches", call: second, key: "k", on_loss, over_at: 100 })
    return play
  }

  it("cannot be settled while its owner may have it, nor before it is unknown", () => {
    for (const [on_loss, isGone] of [
      ["again", false],
      ["unknown", false],
      ["unknown", true]
    ] as const) {
      for (const settlement of settlements) {
        const play = dispatched(on_loss)
        if (isGone) claim(play)
        const { answer, events } = settleCall(
          fold(play.events),
          run,
          second,
          settlement,
          "bob",
          9_000
        )
        assert.deepStrictEqual(events, [], `${on_loss} ${settlement._tag}`)
        assert.isTrue(Result.isFailure(answer))
      }
    }
  })

  it("fails with a terminal error where an operator settles it as failed", () => {
    const play = dispatched("unknown")
    give(play, { _tag: "Lost", call: second })
    const failed: Settlement = { _tag: "Failed", message: "never sent" }
    const { events } = settleCall(fold(play.events), run, second, failed, "bob", 0)
    assert.deepStrictEqual(events, [
      {
        _tag: "CallSettled",
        call: second,
        by: "bob",
        outcome: {
          _tag: "Failed",
          error: {
            class: "ToolTerminalError",
            kind: "external",
            reason: "SETTLED_BY_OPERATOR",
            message: "never sent"
          }
        }
      }
    ])
  })

  it("may not be dispatched, asked about or delegated again by its owner", () => {
    for (const on_loss of ["again", "unknown", "ask"] as const) {
      const { events, state } = dispatched(on_loss)
      const { length } = events
      const { _tag, ...request } = Samples.approvalRequested(second)
      assert.deepStrictEqual(
        [
          ...decide(state, { _tag: "Dispatches", call: second, key: "k", on_loss }),
          ...decide(state, { _tag: "RequestsApproval", request }),
          ...decide(state, {
            _tag: "Delegates",
            call: second,
            agent: AgentName.make("helper"),
            input: "do"
          })
        ],
        []
      )
      assert.lengthOf(events, length)
    }
  })

  it("with on_loss unknown becomes unknown when its run has a new owner, and no other does", () => {
    for (const [on_loss, expected] of [
      ["again", []],
      ["ask", []],
      ["unknown", ["CallUnknown"]]
    ] as const) {
      const play = dispatched(on_loss)
      const tagsOf = () => decide(play.state, { _tag: "Recovered" }).map(({ _tag }) => _tag)
      assert.deepStrictEqual(tagsOf(), [], `${on_loss}, same owner`)
      claim(play)
      assert.deepStrictEqual(tagsOf(), [...expected], `${on_loss}, new owner`)
    }
  })
})

describe("a run that is stopping or over", () => {
  it("starts, asks and delegates nothing more", () => {
    for (const isOver of [false, true]) {
      const { play } = asking()
      if (!isOver) {
        give(play, { _tag: "Dispatches", call: first, key: "k", on_loss: "unknown" })
        give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "unknown" })
      }
      command(play, (state) => cancelRun(state, run, "ada", "enough"))
      assert.strictEqual(play.state.ended !== undefined, isOver)
      const { _tag, ...request } = Samples.approvalRequested(first)
      for (const call of [first, second]) {
        const inputs = [
          { _tag: "Dispatches", call, key: "k", on_loss: "again" },
          { _tag: "RequestsApproval", request: { ...request, call } },
          { _tag: "Delegates", call, agent: AgentName.make("helper"), input: "do" }
        ] as const
        for (const input of inputs) {
          assert.deepStrictEqual(decide(play.state, input), [], `${input._tag}, over: ${isOver}`)
        }
      }
    }
  })
})
