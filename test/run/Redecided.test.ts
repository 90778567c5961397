import { assert, describe, it } from "@effect/vitest"
import { decide } from "../../src/run/RunDecider.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { rootFrame } from "../../src/value/Ids.ts"
import { fold } from "../../src/run/RunFold.ts"
import * as Samples from "../contracts/Samples.ts"

describe("an input that is decided again", () => {
  it("puts a question once, also when it was answered before its append was acknowledged", () => {
    const asked = Samples.approvalRequested()
    const { _tag, ...request } = asked
    const input: RunInput = { _tag: "RequestsApproval", request }
    const before: ReadonlyArray<RunEvent> = [
      Samples.runAccepted(Samples.newTask()),
      { _tag: "RunClaimed", epoch: 1, owner: "a" },
      Samples.modelTurned(1, 1)
    ]
    assert.deepStrictEqual(
      decide(fold(before), input).map((event) => event._tag),
      [_tag]
    )
    const decided: RunEvent = {
      _tag: "ApprovalDecided",
      call: asked.call,
      approval: asked.approval,
      decision: { _tag: "Approve" },
      by: "ada",
      digest: asked.digest
    }
    assert.deepStrictEqual(decide(fold([...before, asked]), input), [])
    assert.deepStrictEqual(decide(fold([...before, asked, decided]), input), [])
  })

  it("has guards judge a text, and ask about it, once", () => {
    const { _tag, ...asked } = Samples.approvalRequested()
    const guarded = { by: "doubts", on: "message", frame: rootFrame, step: 1 } as const
    const question = { ...asked, guarded }
    const verdict = {
      _tag: "Guarded",
      guard: "doubts",
      mode: "enforce",
      on: "message",
      frame: rootFrame,
      step: 1,
      verdict: "ask",
      reason: "doubtful"
    } as const
    const input: RunInput = {
      _tag: "Guards",
      frame: rootFrame,
      step: 1,
      verdicts: [verdict],
      question
    }
    const events = (limits: Partial<RunLimits>): ReadonlyArray<RunEvent> => [
      { ...Samples.runAccepted(Samples.newTask()), limits: RunLimits.make(limits) },
      { _tag: "RunClaimed", epoch: 1, owner: "a" }
    ]
    const before = events({})
    const after = decide(fold(before), input)
    assert.deepStrictEqual(
      after.map((event) => event._tag),
      ["Guarded", _tag]
    )
    const decided: RunEvent = {
      _tag: "ApprovalDecided",
      call: asked.call,
      approval: asked.approval,
      decision: { _tag: "Approve" },
      by: "ada",
      digest: asked.digest
    }
    assert.deepStrictEqual(decide(fold([...before, ...after]), input), [])
    assert.deepStrictEqual(decide(fold([...before, ...after, decided]), input), [])

    const [, stopping] = decide(fold(events({ questions_max: 0 })), input)
    assert.deepInclude(stopping, { _tag: "RunStopping", reason: "guard_refused" })
  })
})
