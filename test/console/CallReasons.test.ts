/** Why each call of a run ran, waits or was refused. */
import { assert, describe, it } from "vitest"
import { reasonedCalls } from "../../layers/console/CallReasons.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"

const proposed = (...names: ReadonlyArray<string>) => ({
  _tag: "ModelTurned",
  frame: "0",
  step: 1,
  text: "",
  calls: names.map((name) => ({ model_id: "", name, arguments: { n: 1 } })),
  finish: "tool_calls"
})
const accepted = { _tag: "RunAccepted", by: "ada", address: { agent: "desk" }, message: "" }
const asked = {
  _tag: "ApprovalRequested",
  call: "0/1.0",
  approval: "a",
  approvers: [],
  policy_version: "p1"
}
const value = { _tag: "Value", json: "1" }
const refused = {
  class: "ToolPolicyError",
  kind: "permission",
  reason: "KILL_SWITCH",
  message: "All tools are stopped."
}

const callsOf = (...events: ReadonlyArray<object>) => {
  const entries = [accepted, ...events].map((event, seq) => ({ seq, at: seq, event }))
  return reasonedCalls(entries as unknown as ReadonlyArray<JournalEntry>)
}

const waysOf = (...events: ReadonlyArray<object>) =>
  callsOf(...events).map(({ reasons, tool }) => [
    tool,
    ...reasons.map(({ seq, words }) => `${seq} ${words}`)
  ])

describe("the way of a call", () => {
  it("is what was asked, who decided, and what came of it", () => {
    assert.deepStrictEqual(
      waysOf(
        proposed("pay"),
        asked,
        {
          _tag: "ApprovalDecided",
          call: "0/1.0",
          approval: "a",
          by: "olga",
          via: "desk",
          decision: { _tag: "Approve", note: "fine" }
        },
        { _tag: "CallDispatched", call: "0/1.0" },
        { _tag: "CallUnknown", call: "0/1.0" },
        { _tag: "CallReopened", call: "0/1.0", by: "otto" },
        { _tag: "CallDispatched", call: "0/1.0" },
        { _tag: "CallSettled", call: "0/1.0", outcome: value, started_at: 1, ended_at: 2 }
      ),
      [
        [
          "pay",
          "1 proposed by desk",
          "2 asked of any approver or operator, under policy p1",
          "3 approved by olga through desk: “fine”",
          "4 ran",
          "5 its outcome became unknown",
          "6 to run again, said otto",
          "7 ran",
          "8 gave a result"
        ]
      ]
    )
  })

  it("says who had authorised it, that nobody was asked, or why the gate refused it", () => {
    assert.deepStrictEqual(
      waysOf(
        proposed("pay", "look", "send"),
        { _tag: "CallDispatched", call: "0/1.0", authorized: { by: "boss" } },
        { _tag: "CallSettled", call: "0/1.0", outcome: value, started_at: 1, ended_at: 2 },
        { _tag: "CallSettled", call: "0/1.1", outcome: value, started_at: 1, ended_at: 2 },
        { _tag: "CallSettled", call: "0/1.2", outcome: { _tag: "Failed", error: refused } }
      ),
      [
        ["pay", "1 proposed by desk", "2 ran, authorised in advance by boss", "3 gave a result"],
        ["look", "1 proposed by desk", "4 ran without a question", "4 gave a result"],
        [
          "send",
          "1 proposed by desk",
          "5 refused by the gate (KILL_SWITCH): “All tools are stopped.”"
        ]
      ]
    )
  })

  it("ends with a denial, an expiry or an equal call that was made before", () => {
    assert.deepStrictEqual(
      waysOf(
        proposed("pay", "pay"),
        asked,
        {
          _tag: "ApprovalDecided",
          call: "0/1.0",
          approval: "a",
          by: "olga",
          decision: { _tag: "Deny", reason: "no" }
        },
        {
          _tag: "CallSettled",
          call: "0/1.0",
          by: "olga",
          outcome: { _tag: "Denied", by: "olga", reason: "no" }
        },
        { _tag: "CallSettled", call: "0/1.1", outcome: value, repeats: { run: "r", call: "0/1.0" } }
      ).map((way) => way.slice(-2)),
      [
        ["3 denied by olga: “no”", "4 did not run"],
        ["1 proposed by desk", "5 gave the result of an equal call, and did not run"]
      ]
    )
  })

  it("is settled with its outcome, and not while somebody may still say what that is", () => {
    const call = "0/1.0"
    const way = [
      proposed("pay"),
      { _tag: "CallDispatched", call },
      { _tag: "CallUnknown", call },
      { _tag: "CallSettled", call, outcome: { _tag: "Unknown" } },
      { _tag: "CallReopened", call, by: "otto" },
      { _tag: "CallSettled", call, outcome: value }
    ]
    assert.deepStrictEqual(
      way.map((_, at) => callsOf(...way.slice(0, at + 1))[0]?.isSettled),
      [false, false, false, false, false, true]
    )
  })

  it("names the specialist that was asked, and who settled what nobody knew", () => {
    assert.deepStrictEqual(
      waysOf(
        proposed("ask_clerk", "pay"),
        { _tag: "FrameOpened", frame: "0/1.0", call: "0/1.0", agent: "clerk", input: "" },
        { _tag: "CallSettled", call: "0/1.0", outcome: value },
        { _tag: "CallDispatched", call: "0/1.1" },
        { _tag: "CallUnknown", call: "0/1.1" },
        { _tag: "CallSettled", call: "0/1.1", by: "olga", via: "desk", outcome: value }
      ).map((way) => way.slice(2)),
      [
        ["2 clerk was asked", "3 gave a result"],
        [
          "4 ran without a question",
          "5 its outcome became unknown",
          "6 gave a result, said olga through desk"
        ]
      ]
    )
  })
})
