import { assert, describe, it } from "@effect/vitest"
import { decide } from "../../src/run/RunDecider.ts"
import type { RunInput } from "../../src/run/RunDecider.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
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
})
