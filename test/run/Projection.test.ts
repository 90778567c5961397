import { assert, describe, it } from "@effect/vitest"
import { callId, rootFrame } from "../../src/value/Ids.ts"
import type { Projection } from "../../src/run/Projection.ts"
import { project } from "../../src/run/Projection.ts"
import type { RunEnded, RunEvent } from "../../src/run/RunEvent.ts"
import * as Samples from "../contracts/Samples.ts"

const run = Samples.runId()
const call = callId(rootFrame, 1, 0)
const nothing: Projection = {
  requested: [],
  answered: [],
  task: undefined,
  answer: undefined,
  costs: [],
  unknown: [],
  known: []
}

const shows = (events: ReadonlyArray<RunEvent>, expected: Partial<Projection>, what?: string) =>
  assert.deepStrictEqual(project(run, events, 7), { ...nothing, ...expected }, what)

const known = { agent: Samples.operations, prices: "v1" }
const priced = { _tag: "Priced", ...known, currency: "USD", amount: "0.1" } as const
const unpriced = { _tag: "Unpriced", ...known, reason: "no_usage" } as const
const usage = { input_tokens: 5, output_tokens: 2 }
const turn: RunEvent = {
  _tag: "ModelTurned",
  frame: rootFrame,
  step: 1,
  text: "",
  calls: [],
  finish: "stop"
}

describe("what commits beside events", () => {
  it("is one shared empty projection for events that project nothing", () => {
    const none: ReadonlyArray<RunEvent> = [
      turn,
      { _tag: "CallDispatched", call, key: "k", epoch: 1, on_loss: "again" },
      { _tag: "LimitReached", limit: "wall_ms_max" },
      { _tag: "RunStopping", status: "failed", by: "ada", reason: "r" },
      { _tag: "CallSettled", call, outcome: { _tag: "Value", json: "1" } }
    ]
    shows(none, {})
    shows([], {})
    assert.strictEqual(project(run, none, 7), project(run, [], 8))
  })

  it("is the last status of its task", () => {
    const claimed: RunEvent = { _tag: "RunClaimed", epoch: 1, owner: "o" }
    shows([claimed], { task: { status: "processing" } })
    const ended = (status: RunEnded["status"]) =>
      Samples.runEnded({ status, reason: "r", text: "" })
    shows([claimed, ended("complete")], { task: { status: "complete" } })
    for (const status of ["failed", "cancelled"] as const) {
      shows([claimed, ended(status)], { task: { status: "failed", reason: "r" } })
    }
  })

  it("is the answer, with its finish, and with the reason where the run did not complete", () => {
    const sources = [{ url: "https://example.org" }]
    const answer = (given: Partial<RunEnded>) =>
      project(run, [Samples.runEnded({ reason: "r", ...given })], 7).answer
    assert.isUndefined(answer({ text: "" }))
    assert.deepStrictEqual(answer({ text: "t" }), { content: "t" })
    assert.deepStrictEqual(answer({ text: "t", status: "failed" }), { content: "t" })
    assert.deepStrictEqual(answer({ text: "t", sources }), { content: "t", sources })
    assert.deepStrictEqual(answer({ text: "t", finish: "length" }), {
      content: "t",
      finish: "length"
    })
    for (const text of ["", "t"]) {
      assert.deepStrictEqual(answer({ text, finish: "refusal", status: "failed" }), {
        content: text,
        finish: "refusal",
        reason: "r"
      })
    }
  })

  it("is a record of each question, and its decision or closing", () => {
    const least = Samples.approvalRequested(call)
    const { _tag, approval: id, proposal: _, ...rest } = least
    const record = { id, run_id: run, ...rest, requested_at: 7, status: "pending" } as const
    shows([least], { requested: [record] })
    const shown = { shown_digest: "s", expires_at: 9 }
    shows([{ ...least, ...shown }], { requested: [{ ...record, ...shown }] })
    const decision = { _tag: "Approve" } as const
    shows([{ _tag: "ApprovalDecided", call, approval: id, decision, by: "ada", digest: "d" }], {
      answered: [{ id, status: "decided", decision, by: "ada" }]
    })
    const closed = { _tag: "ApprovalClosed", call, approval: id } as const
    shows(
      [
        { ...closed, how: "expired" },
        { ...closed, how: "cancelled", by: "ada" }
      ],
      {
        answered: [
          { id, status: "expired" },
          { id, status: "cancelled", by: "ada" }
        ]
      }
    )
  })

  it("is an unknown call, until an operator or the end of its run settles it", () => {
    const second = callId(rootFrame, 1, 1)
    const settled = { _tag: "CallSettled", call, outcome: { _tag: "Value", json: "1" } } as const
    shows(
      [
        { _tag: "CallUnknown", call, tool: "write" },
        { _tag: "CallUnknown", call: second }
      ],
      {
        unknown: [
          { call, tool: "write" },
          { call: second, tool: "" }
        ]
      }
    )
    shows(
      [
        { _tag: "CallReopened", call, by: "bob" },
        { ...settled, call: second, by: "bob" }
      ],
      {
        known: [call, second]
      }
    )
    shows([{ ...settled, outcome: { _tag: "Unknown" } }], { known: [call] })
    shows([{ ...settled, outcome: { _tag: "Cancelled" } }], {})
  })

  it("is the cost of a turn, of a summary and of a body, each with the offset of its event", () => {
    const compacted: RunEvent = {
      _tag: "Compacted",
      frame: rootFrame,
      step: 1,
      cause: "bound",
      how: "summarised",
      tokens_before: 1,
      tokens_after: 1,
      tokens_max: 1,
      cost: unpriced
    }
    const entry = {
      agent: Samples.operations,
      prices: "v1",
      currency: undefined,
      amount: undefined,
      model: "",
      usage: { input_tokens: 0, output_tokens: 0 }
    }
    const paid = { ...entry, currency: "USD", amount: "0.1", model: "m", usage }
    const spent = {
      tool: "w\0rite",
      uses: [
        { model: "free" },
        { model: "m", usage, cost: priced },
        { model: "", cost: unpriced, turns: 3 }
      ]
    }
    const by = { tool: "write", part: 1, turns: 1 }
    shows(
      [
        turn,
        { ...turn, model: "m", usage, cost: priced },
        compacted,
        { _tag: "CallSettled", call, outcome: { _tag: "Value", json: "1" }, spent }
      ],
      {
        costs: [
          { ...paid, offset: 1 },
          { ...entry, offset: 2 },
          { ...paid, offset: 3, by },
          { ...entry, offset: 3, by: { ...by, part: 2, turns: 3 } }
        ]
      }
    )
    shows([{ _tag: "CallUnknown", call, tool: "write", spent }], {
      unknown: [{ call, tool: "write" }],
      costs: [
        { ...paid, offset: 0, by },
        { ...entry, offset: 0, by: { ...by, part: 2, turns: 3 } }
      ]
    })
  })

  it("has names of models that a database accepts: well-formed, without NUL, at most 200 units", () => {
    const modelOf = (model: string) =>
      project(run, [{ ...turn, model, cost: priced }], 7).costs[0]?.model
    assert.strictEqual(modelOf("a\0b\0c"), "abc")
    assert.strictEqual(modelOf("m".repeat(201)), "m".repeat(200))
    assert.strictEqual(modelOf(`${"m".repeat(199)}\u{1f600}`), "m".repeat(199))
  })
})
