import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { Decision } from "../../src/approval/Approval.ts"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { Role } from "../../src/principal/Principal.ts"
import { Principal } from "../../src/principal/Principal.ts"
import type { Amendment } from "../../src/run/RunCommand.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import {
  CallNotUnknown,
  cancelBy,
  cancelRun,
  decideApproval,
  expireApproval,
  inTenant,
  RunIsOver,
  RunNotFound,
  settleBy,
  settleCall
} from "../../src/run/RunCommand.ts"
import type { ApprovalRequested, RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import type { RunState } from "../../src/run/RunState.ts"
import { statusOf } from "../../src/run/RunState.ts"
import { fold } from "../../src/run/RunFold.ts"
import { wantedWork } from "../../src/run/RunWork.ts"
import * as Samples from "../contracts/Samples.ts"
import type { Play } from "./Interleaving.ts"
import { begin, claim, command, give, run, turn } from "./Interleaving.ts"

const first = callId(rootFrame, 1, 0)
const second = callId(rootFrame, 1, 1)

/** A run whose first call waits for a person; the second is proposed. */
const asking = (given: Partial<ApprovalRequested> = {}) => {
  const play = begin(RunLimits.make({}))
  give(play, {
    _tag: "TurnFinished",
    turned: { _tag: "ModelTurned", frame: rootFrame, step: 1, ...turn(2) }
  })
  const { _tag, ...request } = Samples.approvalRequested(first, given)
  give(play, { _tag: "RequestsApproval", request })
  return { play, request }
}

const decideBy = (
  play: Play,
  request: Omit<ApprovalRequested, "_tag">,
  decision: Decision = { _tag: "Approve" },
  roles: ReadonlyArray<Role> = ["approver"],
  now = 0
) =>
  decideApproval(
    fold(play.events),
    {
      call: request.call,
      approval: request.approval,
      decision,
      by: Samples.principal(roles),
      digest: request.digest
    },
    now
  )

const tagOf = <E extends { readonly _tag: string }>(
  amendment: Amendment<unknown, E>
): string | undefined =>
  Result.isFailure(amendment.answer) ? amendment.answer.failure._tag : undefined

/** It appends nothing, and fails with this error. */
const assertRefused = <E extends { readonly _tag: string }>(
  amendment: Amendment<unknown, E>,
  tag: string
): void => {
  assert.strictEqual(tagOf(amendment), tag)
  assert.deepStrictEqual(amendment.events, [])
}

const tags = (events: ReadonlyArray<RunEvent>) => events.map((event) => event._tag)

describe("decideApproval", () => {
  it("ST-29 an approval lets the call run with its arguments, and records who approved", () => {
    const { play, request } = asking()
    const before = play.state.calls.get(first)!.arguments
    assert.isTrue(command(play, () => decideBy(play, request)))
    const call = play.state.calls.get(first)!
    assert.strictEqual(call.phase._tag, "Decided")
    assert.strictEqual(call.approved_by, "ada")
    assert.deepStrictEqual(call.arguments, before)
    assert.isUndefined(call.modified)
    assert.strictEqual(statusOf(play.state), "processing")
    const wanted = wantedWork(play.state).find((each) => each.key === first)
    assert.isTrue(wanted?._tag === "RunCall" && wanted.start)
  })

  it("a decision of no known variant decides nothing", () => {
    for (const _tag of ["deny", "approve", "", undefined, "toString", "__proto__", 5]) {
      const { play, request } = asking()
      const amendment = decideBy(play, request, { _tag } as never)
      assert.strictEqual(tagOf(amendment), "DecisionUnfit")
      assert.deepStrictEqual(amendment.events, [])
    }
  })

  it("a refusal of an unknown variant lists the known ones, with at most 64 units of the unknown", () => {
    const { play, request } = asking()
    const { answer } = decideBy(play, request, { _tag: "x".repeat(65) } as never)
    assert.deepInclude(Result.isFailure(answer) ? answer.failure : {}, {
      decision: "x".repeat(64),
      fits: ["Approve", "Deny", "Modify", "RequestRevision"]
    })
  })

  it("a decision that names a call which does not exist decides nothing", () => {
    const { play, request } = asking()
    const elsewhere = { ...request, call: callId(rootFrame, 9, 9) }
    assertRefused(decideBy(play, elsewhere), "ApprovalSettled")
  })

  it("an answered question is reported as decided, also where a later one of its call expired", () => {
    const { play, request } = asking()
    command(play, () => decideBy(play, request))
    const later = { ...request, approval: Samples.approvalId(), proposal: "q", expires_at: 5 }
    give(play, { _tag: "RequestsApproval", request: later })
    command(play, (state) => expireApproval(state, first, later.approval, 5))
    assert.strictEqual(play.events.at(-1)!._tag, "CallSettled")
    assertRefused(decideBy(play, request), "ApprovalSettled")
    assertRefused(decideBy(play, later), "ApprovalExpired")
  })

  it("a question about a limit is approved or denied, once, and is closed when its run stops", () => {
    const reached = () => {
      const play = begin(RunLimits.make({ calls_max: 1, on_breach: "ask" }))
      const place = { frame: rootFrame, step: 1 }
      give(play, {
        _tag: "TurnFinished",
        turned: { _tag: "ModelTurned", ...place, ...turn(1) }
      })
      const outcome = { _tag: "Value", json: "1" } as const
      give(play, { _tag: "Finished", settled: { _tag: "CallSettled", call: first, outcome } })
      const call = "limit/calls_max.1" as typeof first
      const { _tag, ...request } = Samples.approvalRequested(call, { limit: "calls_max" })
      give(play, { _tag: "RequestsLimitApproval", request })
      return { play, request }
    }
    const { play, request } = reached()
    for (const decision of [
      { _tag: "Modify", arguments: {} },
      { _tag: "RequestRevision", note: "smaller" }
    ] satisfies ReadonlyArray<Decision>) {
      const amendment = decideBy(play, request, decision)
      assertRefused(amendment, "DecisionUnfit")
      const { answer } = amendment
      assert.deepInclude(Result.isFailure(answer) ? answer.failure : {}, {
        decision: decision._tag,
        fits: ["Approve", "Deny"]
      })
    }
    const statusAfter = () => {
      const late = decideBy(play, request)
      assertRefused(late, "ApprovalSettled")
      const { answer } = late
      return Result.isFailure(answer) && "status" in answer.failure ? answer.failure.status : ""
    }
    command(play, () => decideBy(play, request))
    assert.strictEqual(statusAfter(), "decided")
    const stopped = reached()
    command(stopped.play, (state) => cancelRun(state, run, "ada", "enough"))
    const { answer } = decideBy(stopped.play, stopped.request)
    const error = Result.isFailure(answer) ? answer.failure : undefined
    assert.strictEqual(error?._tag === "ApprovalSettled" ? error.status : error, "cancelled")
  })

  it("a denial and a revision are the call's result at once", () => {
    const denied = asking()
    command(denied.play, () =>
      decideBy(denied.play, denied.request, { _tag: "Deny", reason: "no" })
    )
    assert.deepStrictEqual(denied.play.events.at(-1), {
      _tag: "CallSettled",
      call: first,
      outcome: { _tag: "Denied", by: "ada", reason: "no" },
      by: "ada"
    })
    const revised = asking()
    const decision = { _tag: "RequestRevision", note: "smaller" } as const
    command(revised.play, () => decideBy(revised.play, revised.request, decision))
    assert.deepStrictEqual(revised.play.events.at(-1), {
      _tag: "CallSettled",
      call: first,
      outcome: { _tag: "Revised", by: "ada", note: "smaller" },
      by: "ada"
    })
    assert.isUndefined(revised.play.state.calls.get(first)!.approved_by)
  })

  it("a denied call is not asked again, a revised one is", () => {
    for (const [decision, expected] of [
      [{ _tag: "Deny", reason: "no" }, "CallSettled"],
      [{ _tag: "RequestRevision", note: "smaller" }, "ApprovalRequested"]
    ] as const) {
      const { play, request } = asking()
      command(play, () => decideBy(play, request, decision))
      const again = { ...request, call: second, approval: Samples.approvalId() }
      give(play, { _tag: "RequestsApproval", request: again })
      assert.strictEqual(play.events.at(-1)!._tag, expected)
    }
  })

  it("a modification replaces the arguments and records who made it", () => {
    const { play, request } = asking()
    const decision = { _tag: "Modify", arguments: { event_id: "e-2" } } as const
    command(play, () => decideBy(play, request, decision))
    const call = play.state.calls.get(first)!
    assert.deepStrictEqual(call.arguments, { event_id: "e-2" })
    assert.deepStrictEqual(call.modified, { by: "ada", arguments: { event_id: "e-2" } })
    assert.strictEqual(call.approved_by, "ada")
  })

  it("an unknown approval, and one of another tenant, is not found", () => {
    const { play, request } = asking()
    assertRefused(
      decideBy(play, { ...request, approval: Samples.approvalId() }),
      "ApprovalNotFound"
    )
    const stranger = decideApproval(
      fold(play.events),
      {
        call: first,
        approval: request.approval,
        decision: { _tag: "Approve" },
        by: Samples.principal(["admin"], Samples.tenant()),
        digest: request.digest
      },
      0
    )
    assertRefused(stranger, "ApprovalNotFound")
  })

  it("a principal that is not entitled is refused: a viewer, and one without the named roles", () => {
    const open = asking()
    for (const roles of [["viewer"], ["customer"], []] as const) {
      assertRefused(decideBy(open.play, open.request, undefined, roles), "NotEntitled")
    }
    for (const roles of [["approver"], ["operator"], ["admin"]] as const) {
      assert.isUndefined(tagOf(decideBy(open.play, open.request, undefined, roles)))
    }
    const named = asking({ approvers: ["operator"] })
    assertRefused(decideBy(named.play, named.request, undefined, ["approver"]), "NotEntitled")
    assert.isUndefined(tagOf(decideBy(named.play, named.request, undefined, ["operator"])))
  })

  it("a second decision is refused as settled, also when the first was on an older question", () => {
    const { play, request } = asking()
    command(play, () => decideBy(play, request))
    assertRefused(decideBy(play, request), "ApprovalSettled")
    const { call, ...rest } = request
    const newer = { ...rest, call, approval: Samples.approvalId(), proposal: "another" }
    give(play, { _tag: "RequestsApproval", request: newer })
    assert.strictEqual(play.state.awaiting, 1)
    assertRefused(decideBy(play, request), "ApprovalSettled")
    assert.isUndefined(tagOf(decideBy(play, newer)))
  })

  it("a decision at or after the expiry closes the question and is refused", () => {
    const { play, request } = asking({ expires_at: 1_000 })
    assert.isUndefined(tagOf(decideBy(play, request, undefined, undefined, 999)))
    const late = decideBy(play, request, undefined, undefined, 1_000)
    assert.strictEqual(tagOf(late), "ApprovalExpired")
    assert.deepStrictEqual(tags(late.events), ["ApprovalClosed", "CallSettled"])
    command(play, () => late)
    assert.strictEqual(statusOf(play.state), "processing")
    assertRefused(decideBy(play, request), "ApprovalExpired")
  })

  it("a decision after a cancel is refused as cancelled and changes nothing", () => {
    const { play, request } = asking()
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    const late = decideBy(play, request)
    assertRefused(late, "ApprovalSettled")
    const { answer } = late
    assert.strictEqual(
      Result.isFailure(answer) && answer.failure._tag === "ApprovalSettled"
        ? answer.failure.status
        : undefined,
      "cancelled"
    )
  })
})

describe("expireApproval", () => {
  it("closes a question at its expiry, not before and not twice", () => {
    const { play, request } = asking({ expires_at: 1_000 })
    const at = (now: number) => expireApproval(fold(play.events), first, request.approval, now)
    assert.deepStrictEqual(at(999).events, [])
    command(play, () => at(1_000))
    assert.deepStrictEqual(play.events.at(-1), {
      _tag: "CallSettled",
      call: first,
      outcome: { _tag: "Expired" }
    })
    assert.deepStrictEqual(at(2_000).events, [])
  })

  it("changes nothing of a question without an expiry, an answered one, and another one", () => {
    const forever = asking()
    assert.deepStrictEqual(
      expireApproval(fold(forever.play.events), first, forever.request.approval, 9e15).events,
      []
    )
    const { play, request } = asking({ expires_at: 1_000 })
    const other = Samples.approvalId()
    assert.deepStrictEqual(expireApproval(fold(play.events), first, other, 2_000).events, [])
    command(play, () => decideBy(play, request))
    const late = expireApproval(fold(play.events), first, request.approval, 2_000)
    assert.deepStrictEqual(late.events, [])
  })
})

describe("cancelRun", () => {
  it("closes the questions and ends a parked run in one amendment", () => {
    const { play } = asking()
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    assert.deepStrictEqual(tags(play.events.slice(4)), [
      "RunStopping",
      "ApprovalClosed",
      "CallSettled",
      "CallSettled",
      "RunEnded"
    ])
    assert.deepStrictEqual(play.state.ended, {
      _tag: "RunEnded",
      status: "cancelled",
      reason: "enough",
      text: "let me look"
    })
  })

  it("waits for a call in flight and starts no other", () => {
    const { play } = asking()
    give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "unknown" })
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    assert.isUndefined(play.state.ended)
    assert.deepStrictEqual(wantedWork(play.state), [
      { _tag: "RunCall", key: second, call: second, start: false }
    ])
    const outcome = { _tag: "Value", json: "1" } as const
    give(play, { _tag: "Finished", settled: { _tag: "CallSettled", call: second, outcome } })
    assert.strictEqual(play.state.ended!.status, "cancelled")
  })

  it("a second cancel changes nothing, and one of an ended run is refused", () => {
    const { play } = asking()
    give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "unknown" })
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    const twice = cancelRun(fold(play.events), run, "bob", "too")
    assert.deepStrictEqual(twice.events, [])
    assert.isUndefined(tagOf(twice))
    give(play, { _tag: "Lost", call: second })
    assert.isDefined(play.state.ended)
    assertRefused(cancelRun(fold(play.events), run, "bob", "too"), "RunIsOver")
  })

  it("is for operators and the sender of the message; a settlement is for operators alone", () => {
    const { play } = asking()
    const by = (id: string, ...roles: ReadonlyArray<Role>) =>
      new Principal({ id, tenant: Samples.acme, roles })
    const sender = fold(play.events).accepted.by
    const cancel = (who: Principal) => cancelBy(fold(play.events), run, who, "enough")
    const settle = (who: Principal) =>
      settleBy(fold(play.events), run, callId(rootFrame, 1, 0), { _tag: "RunAgain" }, who, 0)
    for (const roles of [[], ["viewer"], ["approver"], ["customer"]] as const) {
      assertRefused(cancel(by("eve", ...roles)), "NotEntitled")
      assertRefused(settle(by("eve", ...roles)), "NotEntitled")
      assertRefused(settle(by(sender, ...roles)), "NotEntitled")
      assert.isUndefined(tagOf(cancel(by(sender, ...roles))))
    }
    assert.isUndefined(tagOf(cancel(by("olga", "operator"))))
    assert.notStrictEqual(tagOf(settle(by("olga", "operator"))), "NotEntitled")
  })

  it("a run of another tenant does not exist", () => {
    const { play } = asking()
    const cancel = (tenant: typeof Samples.acme) => {
      const state = fold(play.events)
      return inTenant(state, tenant, run, () => cancelRun(state, run, "ada", "enough"))
    }
    assertRefused(cancel(Samples.tenant()), "RunNotFound")
    assert.isUndefined(tagOf(cancel(Samples.acme)))
  })
})

describe("settleCall", () => {
  const unknown = () => {
    const { play } = asking()
    give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "unknown" })
    give(play, { _tag: "Lost", call: second })
    return play
  }

  it("settles a call that may be reconciled, once its time is over or its owner is gone", () => {
    const dispatched = () => {
      const { play } = asking()
      give(play, { _tag: "Dispatches", call: second, key: "k", on_loss: "ask", over_at: 100 })
      return play
    }
    const settle = (of: RunState, settlement: Settlement, now: number) =>
      settleCall(of, run, second, settlement, "bob", now)
    const succeeded = { _tag: "Succeeded", json: "1" } as const
    const play = dispatched()
    assertRefused(settle(fold(play.events), succeeded, 99), "CallNotUnknown")
    assertRefused(settle(fold(play.events), { _tag: "RunAgain" }, 100), "CallNotUnknown")
    assert.strictEqual(settle(fold(play.events), succeeded, 100).events.length, 1)
    claim(play)
    assert.isTrue(command(play, (state) => settle(state, succeeded, 0)))
    // What its tool reports comes too late.
    const late = { _tag: "CallSettled", call: second, outcome: { _tag: "Cancelled" } } as const
    const { length } = play.events
    give(play, { _tag: "Finished", settled: late, reconciled: true })
    give(play, { _tag: "Lost", call: second })
    assert.strictEqual(play.events.length, length)
  })

  it("settles an unknown call as succeeded or failed, by an operator", () => {
    const succeeded = unknown()
    command(succeeded, (state) =>
      settleCall(state, run, second, { _tag: "Succeeded", json: '{"sent":true}' }, "bob", 0)
    )
    assert.deepStrictEqual(succeeded.events.at(-1), {
      _tag: "CallSettled",
      call: second,
      outcome: { _tag: "Value", json: '{"sent":true}' },
      by: "bob"
    })
    const failed = unknown()
    command(failed, (state) =>
      settleCall(state, run, second, { _tag: "Failed", message: "never sent" }, "bob", 0)
    )
    const { phase } = failed.state.calls.get(second)!
    const { outcome } = phase._tag === "Settled" ? phase : { outcome: undefined }
    assert.strictEqual(
      outcome?._tag === "Failed" ? outcome.error.reason : undefined,
      "SETTLED_BY_OPERATOR"
    )
  })

  it("a call that is run again passes the whole gate again", () => {
    const play = unknown()
    command(play, (state) => settleCall(state, run, second, { _tag: "RunAgain" }, "bob", 0))
    const call = play.state.calls.get(second)!
    assert.strictEqual(call.phase._tag, "Proposed")
    assert.isUndefined(call.approved_by)
    assert.strictEqual(play.state.unknown, 0)
    const wanted = wantedWork(play.state).find((each) => each.key === second)
    assert.isTrue(wanted?._tag === "RunCall" && wanted.start)
  })

  it("settles a call that may be sent again once its owner is gone, and it is not sent again", () => {
    const { play } = asking()
    const dispatches = { _tag: "Dispatches", call: second, key: "k", on_loss: "again" } as const
    give(play, dispatches)
    const settle = (of: RunState, settlement: Settlement) =>
      settleCall(of, run, second, settlement, "bob", 1e15)
    const succeeded = { _tag: "Succeeded", json: "1" } as const
    assertRefused(settle(fold(play.events), succeeded), "CallNotUnknown")
    claim(play)
    assertRefused(settle(fold(play.events), { _tag: "RunAgain" }), "CallNotUnknown")
    assert.isTrue(command(play, (state) => settle(state, succeeded)))
    const { length } = play.events
    give(play, dispatches)
    assert.strictEqual(play.events.length, length)
  })

  it("refuses a call that is not unknown, and a call of an ended run", () => {
    const { play } = asking()
    const settle = (call: typeof first) =>
      settleCall(fold(play.events), run, call, { _tag: "RunAgain" }, "bob", 0)
    for (const call of [first, second, callId(rootFrame, 9, 9)]) {
      assertRefused(settle(call), "CallNotUnknown")
    }
    command(play, (state) => cancelRun(state, run, "ada", "enough"))
    assertRefused(settle(first), "RunIsOver")
  })
})

describe("a command that is refused", () => {
  it("names its run or call, and its status or phase", () => {
    assert.strictEqual(new RunNotFound({ run_id: "r-1" }).message, 'there is no run "r-1"')
    const over = new RunIsOver({ run_id: "r-1", status: "failed" })
    assert.strictEqual(over.message, "run r-1 is failed")
    assert.strictEqual(
      new CallNotUnknown({ call: "0/1.0", phase: "Settled" }).message,
      'call "0/1.0" is in phase Settled; only an unknown one can be settled'
    )
  })
})
