import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import type { CallId } from "../../src/value/Ids.ts"
import { AgentName, callId, FrameId, rootFrame } from "../../src/value/Ids.ts"
import { areReadable } from "../../src/run/Quarantine.ts"
import { GuardedText, GuardMode } from "../../src/run/GuardVerdict.ts"
import type { Outcome } from "../../src/run/RunEvent.ts"
import { errorClassOf, errorKindOf, RunEvent } from "../../src/run/RunEvent.ts"
import { MemoryAuthor, MemorySource, MemoryTier, Typology } from "../../src/memory/MemoryRow.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { idOf } from "../memory/Rows.ts"
import * as Samples from "../contracts/Samples.ts"
import { corrupted } from "./Corrupted.ts"

const call = callId(rootFrame, 1, 0)
const usage = {
  input_tokens: 5,
  output_tokens: 4,
  cached_tokens: 3,
  cache_write_tokens: 2,
  reasoning_tokens: 1
}
const cost = {
  _tag: "Priced",
  agent: Samples.operations,
  prices: "v1",
  currency: "USD",
  amount: "0.1"
} as const
const unpriced = {
  _tag: "Unpriced",
  agent: Samples.operations,
  prices: "v1",
  reason: "no_price"
} as const
const spent = { tool: "write", uses: [{ model: "m", turns: 2, usage, cost: unpriced }] }
const provider = { openai: { id: "r-1" } }
const summary = { through: 2, text: "before" }
const sources = [{ url: "https://example.org", title: "a page", document: "a.pdf" }]

const outcomes: Record<Outcome["_tag"], Outcome> = {
  Value: { _tag: "Value", json: '{"a":1}' },
  Failed: {
    _tag: "Failed",
    error: {
      class: "ToolTransientError",
      kind: "network",
      reason: "R",
      message: "m",
      retry_after_ms: 5
    }
  },
  Denied: { _tag: "Denied", by: "ada", reason: "no" },
  Revised: { _tag: "Revised", by: "ada", note: "smaller" },
  Expired: { _tag: "Expired" },
  Cancelled: { _tag: "Cancelled" },
  Unknown: { _tag: "Unknown" }
}

/** Events of each tag with all of their members, and all of their literals. */
const whole: {
  readonly [Tag in RunEvent["_tag"]]: ReadonlyArray<Extract<RunEvent, { readonly _tag: Tag }>>
} = {
  MemoryRecalled: [
    {
      _tag: "MemoryRecalled",
      lines: MemoryTier.literals.map((tier, i) => ({
        id: idOf(i + 1),
        text: "told",
        tier,
        typology: Typology.literals[i]!,
        source: MemorySource.literals[i % 2]!,
        author: MemoryAuthor.literals[i]!,
        run: Samples.runId(),
        step: 1,
        at: 5
      })),
      tokens: 7,
      failure: "the store is away"
    }
  ],
  Guarded: GuardedText.literals.flatMap((on) =>
    (["pass", "change", "refuse", "ask"] as const).flatMap((verdict) =>
      GuardMode.literals.map((mode) => ({
        _tag: "Guarded" as const,
        guard: "words",
        mode,
        on,
        frame: rootFrame,
        step: 1,
        call,
        verdict,
        reason: "r",
        text: "t"
      }))
    )
  ),
  RunBeside: [
    {
      _tag: "RunBeside",
      run: Samples.runId(),
      length: 3,
      message: "pay it back",
      questions: (["approval", "client", "limit", "unknown"] as const).map((kind) => ({
        call,
        approval: Samples.approvalId(),
        kind,
        tool_name: "pay",
        summary: "order 1003"
      }))
    }
  ],
  RunAccepted: [
    {
      ...Samples.runAccepted(Samples.newTask()),
      agent: AgentName.make("billing"),
      handed_by: [AgentName.make("triage")],
      context: { customer: "1003" },
      context_secrets: ["token"],
      roles: ["operator"],
      via: "web",
      span_id: "b7ad6b7169203331",
      tracestate: "rojo=00f067aa0ba902b7",
      sampled: false,
      limits: RunLimits.make({
        tokens_max: 1,
        cost_max: "0.5",
        wall_ms_max: 2,
        on_breach: "ask",
        answer_tokens: 3,
        answer_cost: "0.1",
        extend_by: {
          steps_max: 1,
          calls_max: 2,
          tokens_max: 3,
          cost_max: "0.4",
          wall_ms_max: 5,
          repeats_max: 6,
          mistakes_max: 7
        }
      })
    }
  ],
  RunClaimed: [{ _tag: "RunClaimed", epoch: 2, owner: "owner-1" }],
  ModelTurned: (
    ["stop", "tool_calls", "length", "content_filter", "refusal", "other"] as const
  ).map((finish) => ({
    _tag: "ModelTurned",
    frame: rootFrame,
    step: 1,
    text: "said",
    calls: [{ model_id: "m", name: "write", arguments: { n: 1 }, malformed: "{", provider }],
    finish,
    finish_raw: "raw",
    reasoning: [{ text: "hm", provider }],
    parts: [
      { of: "text", units: 4, provider },
      { of: "reasoning" },
      { of: "call" },
      { of: "custom", kind: "k", provider }
    ],
    origin: "p/m",
    usage,
    model: "m",
    cost,
    ran: [
      {
        id: "r",
        name: "search",
        arguments: "{}",
        arguments_units: 2,
        result: "[]",
        result_units: 2,
        failed: true
      }
    ],
    sources,
    unreadable: "what",
    given: { digest: "d", without: ["refund"] },
    empty: true
  })),
  Compacted: (["bound", "refused"] as const).flatMap((cause) =>
    (["truncated", "summarised"] as const).map((how) => ({
      _tag: "Compacted" as const,
      frame: rootFrame,
      step: 2,
      cause,
      how,
      history: { dropped: 1, elided: 2, summary },
      own: { dropped: 3, elided: 4, capped: 5, summary },
      tokens_before: 9,
      tokens_after: 8,
      tokens_max: 7,
      usage,
      model: "m",
      cost,
      fallback: "why"
    }))
  ),
  FrameOpened: [
    {
      _tag: "FrameOpened",
      frame: FrameId.make(call),
      call,
      agent: AgentName.make("analyst"),
      input: "look"
    }
  ],
  HandedOff: [
    {
      _tag: "HandedOff",
      call,
      from: AgentName.make("triage"),
      to: AgentName.make("billing")
    }
  ],
  ApprovalRequested: (
    [
      "steps_max",
      "calls_max",
      "tokens_max",
      "cost_max",
      "wall_ms_max",
      "repeats_max",
      "mistakes_max"
    ] as const
  ).map((limit) =>
    Samples.approvalRequested("limit/x.1" as CallId, {
      limit,
      shown_digest: "s",
      tool_digest: "t",
      approvers: ["approver", "admin"],
      expires_at: 5
    })
  ),
  ApprovalDecided: (
    [
      { _tag: "Approve", note: "yes" },
      { _tag: "Deny", reason: "no" },
      { _tag: "RequestRevision", note: "smaller" },
      { _tag: "Modify", arguments: { n: 2 }, note: "so" }
    ] as const
  ).map((decision) => ({
    _tag: "ApprovalDecided",
    call,
    approval: Samples.approvalId(),
    decision,
    by: "ada",
    via: "web",
    digest: "d"
  })),
  ClientRequested: [
    Samples.clientRequested(call, {
      shown_digest: "s",
      tool_digest: "t",
      expires_at: 9,
      client: { output_schema: { type: "string" } }
    })
  ],
  ApprovalClosed: (["expired", "cancelled", "answered"] as const).map((how) => ({
    _tag: "ApprovalClosed",
    call,
    approval: Samples.approvalId(),
    how,
    by: "ada",
    via: "web"
  })),
  CallDispatched: (["again", "unknown", "ask"] as const).map((on_loss) => ({
    _tag: "CallDispatched",
    call,
    key: "k",
    epoch: 1,
    on_loss,
    tool: "shop.refund@1",
    over_at: 5,
    via: "queue"
  })),
  CallUnknown: [{ _tag: "CallUnknown", call, tool: "write", spent }],
  CallReopened: [{ _tag: "CallReopened", call, by: "bob", via: "web" }],
  CallSettled: Object.values(outcomes).map((outcome) => ({
    _tag: "CallSettled",
    call,
    outcome,
    by: "bob",
    via: "web",
    permission: "ask",
    stop: true,
    texts: true,
    spent,
    started_at: 1,
    ended_at: 2
  })),
  LimitReached: [{ _tag: "LimitReached", limit: "wall_ms_max" }],
  RunStopping: (["complete", "failed", "cancelled"] as const).map((status) => ({
    _tag: "RunStopping",
    status,
    by: "ada",
    via: "web",
    reason: "r",
    message: "m",
    told: "t"
  })),
  RunEnded: (["complete", "failed", "cancelled"] as const).map((status) => ({
    _tag: "RunEnded",
    status,
    reason: "r",
    text: "t",
    agent: AgentName.make("billing"),
    finish: "length",
    sources
  }))
}

const decode = Schema.decodeUnknownSync(RunEvent)
const encode = Schema.encodeUnknownSync(RunEvent)

describe("an event", () => {
  for (const [tag, events] of Object.entries(whole)) {
    it(`${tag} is decoded from its text with all of its members`, () => {
      for (const event of events) {
        const text = JSON.stringify(encode(event))
        assert.deepStrictEqual(decode(JSON.parse(text)), event)
        assert.deepStrictEqual(JSON.parse(text), JSON.parse(JSON.stringify(event)))
        assert.isTrue(areReadable([event]), text)
      }
    })
  }

  it("with a member of another type is not decoded", () => {
    for (const events of Object.values(whole)) {
      for (const event of events) {
        for (const [path, strange] of corrupted(event, [
          "arguments",
          "context",
          "output_schema",
          "provider"
        ])) {
          assert.throws(() => decode(strange), undefined, undefined, `${event._tag}.${path}`)
        }
      }
    }
  })

  it("of an unknown tag, or with an unknown literal, is not decoded", () => {
    const strange = [
      { _tag: "RunPaused" },
      { _tag: "" },
      { _tag: "CallSettled", call, outcome: { _tag: "Lost" } },
      { _tag: "CallSettled", call, outcome: outcomes.Value, stop: false },
      { _tag: "CallSettled", call, outcome: outcomes.Value, texts: false },
      { _tag: "LimitReached", limit: "steps_max" },
      { _tag: "CallDispatched", call, key: "k", epoch: 1, on_loss: "again", via: "" },
      { ...whole.ModelTurned[0], empty: false },
      { ...whole.ModelTurned[0], finish: "" },
      { _tag: "RunStopping", status: "", by: "ada", reason: "r" }
    ]
    for (const event of strange) {
      assert.throws(() => decode(event), undefined, undefined, JSON.stringify(event))
      assert.isFalse(areReadable([whole.RunClaimed[0], event]))
    }
    assert.isTrue(areReadable([]))
  })
})

describe("an outcome", () => {
  it("ST-09 SM-27 has a class and a kind of error, and neither if it is a value", () => {
    const policy = ["ToolPolicyError", "permission"] as const
    const expected: Record<Outcome["_tag"], readonly [string | null, string | null]> = {
      Value: [null, null],
      Failed: ["ToolTransientError", "network"],
      Denied: policy,
      Revised: policy,
      Expired: policy,
      Cancelled: ["ToolTransientError", "timeout"],
      Unknown: ["ToolTerminalError", "unknown"]
    }
    for (const outcome of Object.values(outcomes)) {
      assert.deepStrictEqual(
        [errorClassOf(outcome), errorKindOf(outcome)],
        [...expected[outcome._tag]]
      )
    }
  })
})
