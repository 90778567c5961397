import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"
import {
  foldWhole,
  QuarantinedRun,
  QuarantineReason,
  RawEvent,
  RunQuarantined
} from "../../src/run/Quarantine.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { fold } from "../../src/run/RunFold.ts"
import { CallId, FrameId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { corrupted } from "./Corrupted.ts"

const run_id = Samples.runId()
const { address, conversation } = Samples.newTask()
const accepted = Samples.runAccepted(Samples.newTask())
const claimed: RunEvent = { _tag: "RunClaimed", epoch: 1, owner: "o" }
const turned = Samples.modelTurned(1, 1)

const entries = (...events: ReadonlyArray<RunEvent>) =>
  events.map((event, seq) => ({ seq, at: 0, event }))

const reasonOf = (
  ...given: Parameters<typeof foldWhole> extends [unknown, ...infer Rest] ? Rest : never
) => {
  const folded = foldWhole(run_id, ...given)
  return Result.isFailure(folded) ? [folded.failure.reason, folded.failure.seq] : "folds"
}

describe("a journal", () => {
  it("without a gap folds to its state", () => {
    const events = [accepted, claimed, turned]
    assert.deepStrictEqual(foldWhole(run_id, entries(...events), 3), Result.succeed(fold(events)))
    assert.deepStrictEqual(
      foldWhole(run_id, entries(...events), 2),
      Result.succeed(fold([accepted, claimed]))
    )
  })

  it("that lacks an event, at its end or before, does not fold there", () => {
    const all = entries(accepted, claimed, turned)
    assert.deepStrictEqual(reasonOf(all, 4), ["gap", 3])
    assert.deepStrictEqual(reasonOf([all[0]!, all[2]!], 3), ["gap", 1])
    assert.deepStrictEqual(reasonOf([], 1), ["gap", 0])
  })

  it("that does not begin with its acceptance, or has two, does not fold there", () => {
    assert.deepStrictEqual(reasonOf(entries(claimed, accepted), 2), ["unfoldable", 0])
    assert.deepStrictEqual(reasonOf(entries(accepted, accepted), 2), ["unfoldable", 1])
  })

  it("with an event about a call, a frame or a question that the run does not have does not fold there", () => {
    const call = CallId.make("0/7.0")
    const frame = FrameId.make("0/7.0")
    const compacted = { frame, step: 1, cause: "bound", how: "truncated" } as const
    const strays: ReadonlyArray<RunEvent> = [
      Samples.callSettled(),
      Samples.approvalRequested(call),
      { ...turned, frame },
      { _tag: "FrameOpened", frame, call, agent: address.agent, input: "" },
      { _tag: "Compacted", ...compacted, tokens_before: 2, tokens_after: 1, tokens_max: 1 },
      { _tag: "CallUnknown", call },
      { _tag: "CallReopened", call, by: "ada" },
      {
        _tag: "ApprovalClosed",
        call,
        approval: Samples.approvalId(),
        how: "expired",
        by: "runtime"
      },
      {
        _tag: "ApprovalDecided",
        call,
        approval: Samples.approvalId(),
        digest: "",
        decision: { _tag: "Approve" },
        by: "ada"
      }
    ]
    for (const stray of strays) {
      const given = entries(accepted, claimed, stray)
      assert.deepStrictEqual(reasonOf(given, 3), ["unfoldable", 2], stray._tag)
    }
  })

  it("that does not fold fails with its run and the first event at fault", () => {
    const error = new RunQuarantined({ run_id: "r-1", reason: "gap", seq: 3 })
    assert.strictEqual(
      error.message,
      "run r-1 is in quarantine: its journal does not fold at event 3 (gap)"
    )
  })
})

describe("a run in quarantine", () => {
  const reasons = ["gap", "unreadable", "unknown_event", "unfoldable"] as const

  it("is decoded for each reason, and refused with a member of another type", () => {
    assert.deepStrictEqual(QuarantineReason.literals, reasons)
    for (const reason of reasons) {
      const found = {
        run_id,
        agent: address.agent,
        conversation,
        reason,
        seq: 3,
        length: 5,
        at: 7,
        waiting: 0
      }
      const decode = Schema.decodeUnknownSync(QuarantinedRun)
      assert.deepStrictEqual(decode(JSON.parse(JSON.stringify(found))), found)
      for (const [path, strange] of corrupted(found)) {
        assert.throws(() => decode(strange), undefined, undefined, path)
      }
      const error = new RunQuarantined({ run_id, reason, seq: 3 })
      assert.deepStrictEqual(Schema.encodeSync(RunQuarantined)(error), {
        _tag: "RunQuarantined",
        run_id,
        reason,
        seq: 3
      })
    }
  })

  it("is shown with its events as they are stored, also where a payload is no JSON", () => {
    const raw = { seq: 0, at: 7, type: "RunPaused", payload: "{" }
    const decode = Schema.decodeUnknownSync(RawEvent)
    assert.deepStrictEqual(decode(raw), raw)
    for (const [path, strange] of corrupted(raw)) {
      assert.throws(() => decode(strange), undefined, undefined, path)
    }
  })
})
