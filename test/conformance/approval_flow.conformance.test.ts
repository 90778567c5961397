import { assert } from "@effect/vitest"
import { Effect, Result, Schema } from "effect"
import { Approval, Decision } from "../../src/approval/Approval.ts"
import { decisionOf, decodeResponse } from "../../src/semstreams/ApprovalMessages.ts"
import type { LoopState } from "../../src/semstreams/Loop.ts"
import * as Loop from "../../src/semstreams/Loop.ts"
import { resultText } from "../../src/conversation/Transcript.ts"
import type { RunId } from "../../src/value/Ids.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { errorClassOf } from "../../src/run/RunEvent.ts"
import { RunLimits } from "../../src/run/RunLimits.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { StageTool } from "./Stage.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord, rowsOf } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

/** Checks a result against `ok`, or against an error whose text contains the case's. */
const matches = (result: Result.Result<unknown, string>, expect: unknown) => {
  if (hasShape(expect, ["error"]) && expect.error !== null) {
    assert.isTrue(Result.isFailure(result), "it should have been refused")
    if (Result.isFailure(result) && typeof expect.error === "string") {
      assert.include(result.failure, expect.error)
    }
  } else {
    assert.isTrue(Result.isSuccess(result), Result.isFailure(result) ? result.failure : "")
  }
}

const validate = (response: unknown, expect: unknown): Driven => ({
  rows: "SM-52",
  run: Effect.sync(() => {
    const read = decodeResponse(response)
    matches(read, expect)
    if (Result.isSuccess(read)) {
      const decision = decisionOf(read.success)
      assert.deepEqual(Schema.decodeUnknownSync(Decision)(decision), decision)
    }
  })
})

const pendingOf = (fields: Fields): Loop.PendingApproval => ({
  call_id: String(fields.call_id ?? ""),
  tool_name: String(fields.tool ?? fields.tool_name ?? "")
})

/** The transitions of a loop's gate, from which `loopOf` folds a run. */
const record = (input: Fields, expect: Fields | string): Driven => ({
  rows: input.resolve === true ? "SM-60" : "SM-50",
  run: Effect.sync(() => {
    let at: Result.Result<Loop.Loop, string> = Result.succeed({
      ...Loop.newLoop(RunLimits.make({})),
      state: input.state as LoopState,
      before_approval: (input.before ?? "") as LoopState | "",
      pending: isRecord(input.pending) ? pendingOf(input.pending) : null
    })
    const begins = input.begin === undefined ? [] : [input.begin].flat()
    for (const each of begins) {
      at = Result.flatMap(at, (loop) => Loop.beginAwaiting(loop, pendingOf(each as Fields)))
    }
    if (input.resolve === true) at = Result.flatMap(at, Loop.resolveAwaiting)
    matches(at, expect)
    if (Result.isFailure(at) || !isRecord(expect)) return
    const { before_approval: before, pending, state } = at.success
    const shown: Fields = { before, state, pending }
    for (const [key, value] of Object.entries(expect)) {
      if (key === "pending" && isRecord(value)) assert.deepInclude({ ...pending }, { ...value })
      else assert.deepEqual(shown[key], value, key)
    }
  })
})

interface Seen {
  readonly args: unknown
  readonly approved_by: string | undefined
}

/** A mutating tool that records what its body receives. */
const gated = (seen: Array<Seen>, expires_ms?: number): StageTool => ({
  governance: {
    side_effects: "write",
    ...(expires_ms === undefined ? undefined : { approval_expires_ms: expires_ms })
  },
  body: (args, context) =>
    Effect.sync(() => {
      seen.push({ args, approved_by: context.approved_by })
      return "done"
    })
})

const proposing = (id: unknown, tool: string, args: unknown = {}): Turn => {
  const turn = call(tool, args as never)
  return { ...turn, calls: turn.calls.map((each) => ({ ...each, model_id: String(id) })) }
}

/** What can be observed of a run, under the names that cases use. */
const looks = Effect.fnUntraced(function* (run: RunId, seen: ReadonlyArray<Seen>, error: unknown) {
  const all = yield* Stage.events(run)
  const loop = yield* Stage.loop(run)
  const first = Stage.tagged(all, "CallSettled")[0]
  return {
    error,
    dispatches: Stage.tagged(all, "CallDispatched").length,
    dispatchedArgs: seen[0]?.args,
    approved_by: seen[0]?.approved_by,
    approvalPendingEvents: Stage.tagged(all, "ApprovalRequested").length,
    modelCalledAgain: Stage.tagged(all, "ModelTurned").length > 1,
    bodyExecuted: seen.length > 0,
    state: loop.state,
    pending: loop.pending,
    pendingCall: loop.pending?.call_id,
    resultText: first === undefined ? "" : shownToModel(all, first.call)
  }
})

/** A call's result as its model reads it. */
const shownToModel = (all: ReadonlyArray<RunEvent>, id: string): string => {
  const settled = Stage.tagged(all, "CallSettled").find((event) => event.call === id)!
  return resultText({
    role: "tool",
    call: settled.call,
    model_id: "",
    name: "",
    outcome: settled.outcome
  })
}

type Looks = Effect.Success<ReturnType<typeof looks>>

const meets = (seen: Looks, expect: Fields) => {
  for (const [key, value] of Object.entries(expect)) {
    switch (key) {
      case "state":
        if (typeof value === "string" && value.startsWith("not ")) {
          assert.notStrictEqual(seen.state as string, value.slice(4))
        } else assert.strictEqual(seen.state as string, value)
        break
      case "error":
        if (typeof value === "string") assert.include(String(seen.error), value)
        else assert.strictEqual(seen.error !== null, value === true)
        break
      case "resultErrorPrefix":
        assert.isTrue(seen.resultText.startsWith(String(value)), seen.resultText)
        break
      case "maxDispatches":
        assert.isAtMost(seen.dispatches, Number(value))
        break
      default:
        assert.property(seen, key, `the driver does not know ${key}`)
        assert.deepEqual(seen[key as keyof Looks], value, key)
    }
  }
}

const answered = (given: Fields | null, response: Fields | undefined): string => {
  const meant = response?.call_id === undefined || response.call_id === given?.call_id
  const decision = given !== null && meant ? response?.decision : undefined
  return rowsOf(
    [given !== null, "ST-26 SM-50"],
    [decision === "approve", "ST-29 SM-53"],
    [decision === "modify", "SM-54"],
    [decision === "reject", "SM-55"],
    [response !== undefined && decision === undefined, "ST-33 SM-57"]
  )
}

/** One call that needs an approval, and a response to it, to another call, or none. */
const gate = (given: Fields | null, response: Fields | undefined, expect: Fields): Driven => {
  const seen: Array<Seen> = []
  const tool = String(given?.tool ?? "delete_rule")
  const turn = given === null ? text("nothing to do") : proposing(given.call_id, tool, given.args)
  return {
    rows: answered(given, response),
    run: Stage.stage(
      { tools: { [tool]: gated(seen) }, script: [turn, text("so be it")] },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        const before = yield* looks(run, seen, null)
        if (given !== null) {
          assert.strictEqual(before.state, "awaiting_approval")
          assert.isFalse(before.bodyExecuted)
          assert.isFalse(before.modelCalledAgain)
        }
        const error =
          response === undefined
            ? null
            : yield* Stage.answer(run, { call_id: given?.call_id, ...response })
        meets(yield* looks(run, seen, error), expect)
        const ended = Stage.tagged(yield* Stage.events(run), "RunEnded")
        assert.isAtMost(ended.length, 1)
      })
    )
  }
}

/** Many responses to one approval at once, alternately approving and rejecting. */
const race = (given: Fields, responses: number, expect: Fields): Driven => {
  const seen: Array<Seen> = []
  const tool = String(given.tool)
  return {
    rows: "SM-56",
    run: Stage.stage(
      {
        tools: { [tool]: gated(seen) },
        script: [proposing(given.call_id, tool, given.args), text("so be it")]
      },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        const answers = Array.from({ length: responses }, (_, n) => ({
          call_id: given.call_id,
          decision: n % 2 === 0 ? "approve" : "reject",
          approved_by: `person-${n}`
        }))
        yield* Effect.forEach(answers, (each) => Stage.answer(run, each), {
          concurrency: "unbounded",
          discard: true
        })
        yield* Stage.settle
        meets(yield* looks(run, seen, null), expect)
        const decided = Stage.tagged(yield* Stage.events(run), "ApprovalDecided")
        assert.strictEqual(decided.length, 1)
      })
    )
  }
}

/** A turn with several calls, of which some need an approval. */
const batch = (members: ReadonlyArray<Fields>, expect: Fields): Driven => {
  const seen: Array<Seen> = []
  const read: StageTool = { governance: { side_effects: "read" }, body: () => Effect.succeed("ok") }
  const turns = members.map((each) => proposing(each.id, String(each.tool)))
  const turn = calls(turns)
  const ids = members.map((each) => String(each.id))
  return {
    rows: "SM-58",
    run: Stage.stage(
      {
        tools: Object.fromEntries(
          members.map((each) => [String(each.tool), each.gated === true ? gated(seen) : read])
        ),
        script: [
          { ...turn, calls: turn.calls.map((each, n) => ({ ...each, model_id: ids[n]! })) },
          text("so be it")
        ]
      },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        const { siblingResultKept, ...rest } = expect
        meets(yield* looks(run, seen, null), rest)
        const settled = Stage.tagged(yield* Stage.events(run), "CallSettled")
        const siblings = members.filter((each) => each.gated !== true).length
        assert.strictEqual(settled.length === siblings && siblings > 0, siblingResultKept)
        assert.isTrue(settled.every((event) => event.outcome._tag === "Value"))
      })
    )
  }
}

/** An approval that has been pending for `agoSec`, with a limit of `timeoutSec`; 0 = no limit. */
const timeout = (agoSec: number, timeoutSec: number, expect: Fields): Driven => {
  const seen: Array<Seen> = []
  const expires_ms = timeoutSec > 0 ? timeoutSec * 1_000 : undefined
  return {
    rows: "SM-59",
    run: Stage.stage(
      {
        tools: { delete_rule: gated(seen, expires_ms) },
        script: [proposing("call-T", "delete_rule"), text("so be it")]
      },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        yield* Stage.after(agoSec * 1_000)
        yield* ApprovalDesk.use((desk) => desk.expire(100))
        yield* Stage.settle
        const all = yield* Stage.events(run)
        const shown = yield* looks(run, seen, null)
        assert.isFalse(shown.bodyExecuted)
        const [closed] = Stage.tagged(all, "ApprovalClosed")
        assert.strictEqual(closed?.how === "expired", expect.autoReject)
        if (expect.autoReject !== true) {
          assert.strictEqual(shown.state, "awaiting_approval")
          return
        }
        if (typeof expect.resultErrorPrefix === "string") {
          assert.isTrue(shown.resultText.startsWith(expect.resultErrorPrefix), shown.resultText)
        }
        for (const word of (expect.mentions ?? []) as ReadonlyArray<string>) {
          assert.include(shown.resultText, word)
        }
        assert.match(closed?.by ?? "", /^system:/)
        assert.strictEqual(Stage.tagged(all, "RunEnded")[0]?.status, "complete")
      })
    )
  }
}

/** The pending approval of a real run through JSON and back, as SemStreams' record and as the desk's. */
const roundTrip = (fields: Fields): Driven => {
  const tool = String(fields.tool ?? fields.tool_name)
  const args = (fields.arguments ?? {}) as Fields
  const timeout_ms = Number(fields.timeoutSec ?? 0) * 1_000
  return {
    rows: "SM-51 SA-26",
    run: Stage.stage(
      {
        tools: { [tool]: gated([], timeout_ms > 0 ? timeout_ms : undefined) },
        script: [proposing(fields.call_id, tool, args)]
      },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        const { pending } = yield* Stage.loop(run)
        assert.deepInclude(pending, {
          call_id: String(fields.call_id),
          tool_name: tool,
          arguments: args as never,
          requested_at: 0,
          timeout_ms,
          // Stamped by this runtime; the case has that of another.
          trace_id: (yield* Stage.stateOf(run)).accepted!.trace_id
        })
        const codec = Schema.fromJsonString(Loop.PendingApproval)
        const json = Schema.encodeSync(codec)(pending!)
        assert.deepEqual(Schema.decodeUnknownSync(codec)(json), pending)
        const [approval] = yield* Stage.pending
        assert.deepEqual(approval?.arguments, args as never)
        const ours = Schema.fromJsonString(Approval)
        const text = Schema.encodeSync(ours)(approval!)
        assert.deepEqual(Schema.decodeUnknownSync(ours)(text), approval)
      })
    )
  }
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The payload that an approver is shown. */
const payloadKeys = (tool: string, keys: ReadonlyArray<string>): Driven => ({
  rows: "ST-27",
  run: Stage.stage(
    { tools: { [tool]: gated([]) }, script: [proposing("c", tool, { event_id: "e-1" })] },
    Effect.gen(function* () {
      yield* Stage.begin
      const [approval] = yield* Stage.pending
      assert.sameMembers(Object.keys(approval!.payload), [...keys])
      assert.strictEqual(approval!.payload.tool_name, tool)
      assert.match(approval!.payload.correlation_id, uuid)
    })
  )
})

const spectralDecision = (input: Fields): Decision | undefined => {
  const note = String(input.note ?? input.reason ?? "because")
  switch (input.decision) {
    case "approve":
      return { _tag: "Approve" }
    case "deny":
      return { _tag: "Deny", reason: note }
    case "request_revision":
      return { _tag: "RequestRevision", note }
    case "modify":
      return { _tag: "Modify", arguments: (input.arguments ?? {}) as never }
    default:
      return undefined
  }
}

/** An operator's decision at the desk, and its effect on the call. */
const spectral = (decision: Decision, expect: Fields): Driven => {
  const seen: Array<Seen> = []
  const again = decision._tag === "RequestRevision"
  const script = [proposing("c-1", "replay_dlq_event", { event_id: "e-1", reason: "retry" })]
  if (again) script.push(proposing("c-2", "replay_dlq_event", { event_id: "e-1", reason: "X" }))
  return {
    rows: "ST-29 ST-30 ST-31 ST-32",
    run: Stage.stage(
      { tools: { replay_dlq_event: gated(seen) }, script: [...script, text("so be it")] },
      Effect.gen(function* () {
        const run = yield* Stage.begin
        const [first] = yield* Stage.pending
        yield* ApprovalDesk.use((desk) => desk.decide(first!.id, decision, Stage.operator))
        yield* Stage.settle
        const all = yield* Stage.events(run)
        const [settled] = Stage.tagged(all, "CallSettled")
        const [second] = yield* Stage.pending
        const told = shownToModel(all, settled!.call)
        for (const [key, value] of Object.entries(expect)) {
          switch (key) {
            case "bodyExecuted":
              assert.strictEqual(seen.length > 0, value)
              break
            case "errorClass":
              assert.strictEqual(errorClassOf(settled!.outcome), value)
              break
            case "reason":
              assert.include(told, String(value))
              break
            case "nextApprovalRequestExpected":
              assert.strictEqual(second !== undefined, value)
              break
            case "newCorrelationId":
              assert.strictEqual(
                second?.payload.correlation_id !== first!.payload.correlation_id,
                value
              )
              break
            default:
              assert.fail(`the driver does not know ${key}`)
          }
        }
        if (again && "note" in decision) assert.include(told, decision.note)
        const [audited] = Stage.tagged(all, "ApprovalDecided")
        assert.strictEqual(audited?.by, Stage.operator.id)
        assert.strictEqual(audited?.approval, first!.payload.correlation_id)
      })
    )
  }
}

const drive = (input: unknown, expect: unknown): Driven => {
  if (hasShape(input, ["validate"])) return validate(input.validate, expect)
  if (hasShape(input, ["state"], ["before", "begin", "pending", "resolve"]) && expect !== null) {
    return record(input, expect as Fields | string)
  }
  if (hasShape(input, ["roundTrip"]) && isRecord(input.roundTrip)) return roundTrip(input.roundTrip)
  if (hasShape(input, ["decision"], ["note", "reason", "arguments"]) && isRecord(expect)) {
    const decision = spectralDecision(input)
    return decision === undefined ? undefined : spectral(decision, expect)
  }
  if (!isRecord(expect)) return undefined
  if (hasShape(input, ["gate"], ["response"])) {
    const { gate: given, response } = input
    if (given !== null && !isRecord(given)) return undefined
    return gate(given, isRecord(response) ? response : undefined, expect)
  }
  if (hasShape(input, ["gate", "responses"], ["mix"]) && isRecord(input.gate)) {
    return race(input.gate, Number(input.responses), expect)
  }
  if (hasShape(input, ["batch"]) && Array.isArray(input.batch)) return batch(input.batch, expect)
  if (hasShape(input, ["requestedAgoSec", "timeoutSec"])) {
    return timeout(Number(input.requestedAgoSec), Number(input.timeoutSec), expect)
  }
  if (hasShape(input, ["approvalRequestFor"]) && Array.isArray(expect.keys)) {
    return payloadKeys(String(input.approvalRequestFor), expect.keys as ReadonlyArray<string>)
  }
  return undefined
}

conformance("approval_flow", ({ expect, input }) => drive(input, expect))
