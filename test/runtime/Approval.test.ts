import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { ApprovalRecords } from "../../services/ApprovalRecords.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunReader } from "../../services/RunReader.ts"
import { decideApproval } from "../../src/run/RunCommand.ts"
import type { ScriptedTurn } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

/** Arguments and approvers of every run of the body. */
interface Ran {
  readonly n: number
  readonly by: string | undefined
}

const gated = (script: ReadonlyArray<ScriptedTurn>, more: Partial<H.Options> = {}) => {
  const ran: Array<Ran> = []
  const tool = H.asks((n, { approved_by: by }) =>
    Effect.sync(() => {
      ran.push({ n, by })
      return n
    })
  )
  return { ran, layer: H.layer({ tools: { replay: tool }, script, ...more }) }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

describe("a call that needs an approval", () => {
  it.live("ST-26 ST-27 waits with exactly five fields shown, before its body runs", () => {
    const { layer, ran } = gated([call("replay", { n: 7 })])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.question(run)
      const [record] = yield* H.pending
      assert.deepStrictEqual(Object.keys(record!.payload).sort(), [
        "agent_name",
        "args_summary",
        "correlation_id",
        "effect_description",
        "tool_name"
      ])
      assert.deepInclude(record!.payload, {
        tool_name: "replay",
        agent_name: "tester",
        args_summary: "n: 7",
        effect_description: "Changes something."
      })
      assert.match(record!.payload.correlation_id, uuid)
      assert.strictEqual(record!.id, record!.payload.correlation_id)
      assert.deepStrictEqual(record!.arguments, { n: 7 })
      const head = yield* RunReader.use((reader) => reader.head(run))
      assert.strictEqual(head.status, "awaiting_approval")
      assert.deepStrictEqual(ran, [])
      assert.strictEqual((yield* H.requests).length, 1)
    }).pipe(Effect.provide(layer))
  })

  it.live(
    "ST-29 runs once with the proposed arguments when it is approved, and its journal says who approved it",
    () => {
      const { layer, ran } = gated([call("replay", { n: 7 }), text("done")])
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        yield* H.decide(approval, H.approve)
        const all = yield* H.ended(run)
        assert.deepStrictEqual(ran, [{ n: 7, by: "alice" }])
        assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "7" })
        assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
        assert.strictEqual(H.count(all, "CallDispatched"), 1)
      }).pipe(Effect.provide(layer))
    }
  )

  it.live(
    "ST-29 runs with the proposed arguments although the caller changed its object afterwards",
    () => {
      const args = { n: 7 }
      const { layer, ran } = gated([call("replay", args), text("done")])
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        const { approval } = yield* H.question(run)
        args.n = 999
        yield* H.decide(approval, H.approve)
        const all = yield* H.ended(run)
        assert.deepStrictEqual(ran, [{ n: 7, by: "alice" }])
        assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      }).pipe(Effect.provide(layer))
    }
  )

  it.live(
    "ST-30 SM-55 never runs when it is denied, and the same call needs no second decision",
    () => {
      const { layer, ran } = gated([
        call("replay", { n: 7 }),
        call("replay", { n: 7 }),
        call("replay", { n: 8 }),
        text("done")
      ])
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        yield* H.decide((yield* H.question(run)).approval, H.deny)
        // The second proposal is refused at once; the third is another one.
        yield* H.decide((yield* H.question(run, 2)).approval, H.deny)
        const all = yield* H.ended(run)
        assert.deepStrictEqual(ran, [])
        assert.strictEqual(H.count(all, "ApprovalRequested"), 2)
        assert.strictEqual(H.count(all, "CallDispatched"), 0)
        const [first, second, third] = H.settled(all).map(({ outcome }) => outcome)
        assert.deepStrictEqual(first, { _tag: "Denied", by: "alice", reason: "not today" })
        assert.strictEqual(third?._tag, "Denied")
        assert.strictEqual(second?._tag, "Failed")
        if (second?._tag === "Failed") {
          assert.strictEqual(second.error.class, "ToolPolicyError")
          assert.strictEqual(second.error.reason, "APPROVAL_DENIED")
        }
        const [shown] = H.resultsShown((yield* H.requests)[1])
        assert.match(shown!, /^approval_rejected: ToolPolicyError \(permission, APPROVAL_DENIED\)/)
        assert.include(shown, "not today")
        assert.strictEqual(H.end(all)?.status, "complete")
      }).pipe(Effect.provide(layer))
    }
  )

  it.live("ST-31 gives a person's note to the model, whose next proposal is a new question", () => {
    const { layer, ran } = gated([call("replay", { n: 7 }), call("replay", { n: 8 }), text("done")])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const first = yield* H.question(run)
      yield* H.decide(first.approval, { _tag: "RequestRevision", note: "use eight" })
      const second = yield* H.question(run, 2)
      assert.notStrictEqual(second.approval, first.approval)
      assert.include(H.resultsShown((yield* H.requests)[1])[0], "use eight")
      assert.deepStrictEqual(ran, [])
      yield* H.decide(second.approval, H.approve)
      yield* H.ended(run)
      assert.deepStrictEqual(ran, [{ n: 8, by: "alice" }])
    }).pipe(Effect.provide(layer))
  })

  it.live("SM-54 runs with a person's arguments, and the model is told who changed them", () => {
    const { layer, ran } = gated([call("replay", { n: 7 }), text("done")])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* H.decide(approval, { _tag: "Modify", arguments: { n: 1 } })
      const all = yield* H.ended(run)
      assert.deepStrictEqual(ran, [{ n: 1, by: "alice" }])
      assert.strictEqual(H.count(all, "ApprovalRequested"), 1)
      const [shown] = H.resultsShown((yield* H.requests)[1])
      assert.include(shown, 'A person changed the arguments to {"n":1}')
    }).pipe(Effect.provide(layer))
  })

  it.live("goes on waiting where its schema refuses a person's arguments, who is told why", () => {
    const { layer, ran } = gated([call("replay", { n: 7 }), text("done")])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      const refused = yield* Effect.flip(
        H.decide(approval, { _tag: "Modify", arguments: { n: "one" } })
      )
      assert.strictEqual(refused._tag, "InvalidInput")
      if (refused._tag !== "InvalidInput") return
      assert.strictEqual(refused.field, "decision.arguments.n")
      assert.include(refused.message, '["n"]')
      assert.strictEqual((yield* H.pending).length, 1)
      yield* H.decide(approval, { _tag: "Modify", arguments: { n: 1 } })
      yield* H.ended(run)
      assert.deepStrictEqual(ran, [{ n: 1, by: "alice" }])
      const late = yield* Effect.flip(
        H.decide(approval, { _tag: "Modify", arguments: { n: "one" } })
      )
      assert.strictEqual(late._tag, "ApprovalSettled")
    }).pipe(Effect.provide(layer))
  })

  it.live("never runs with such arguments from a process that does not host its agent", () => {
    const { layer, ran } = gated([call("replay", { n: 7 }), text("done")])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval, call: id } = yield* H.question(run)
      const decision = { _tag: "Modify", arguments: { n: "one" } } as const
      const by = H.person("alice", ["approver"])
      yield* RunJournal.use((journal) =>
        journal.amend(run, (state, now) =>
          decideApproval(state, { call: id, approval, decision, by, digest: "d" }, now)
        )
      )
      const outcome = H.outcome(yield* H.ended(run))
      assert.deepStrictEqual(ran, [])
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.class, "ToolUserError")
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.reason, "INPUT_SCHEMA")
    }).pipe(Effect.provide(layer))
  })

  it.live("SM-21 is refused where the model claims an approval among the arguments", () => {
    const { layer, ran } = gated([
      call("replay", { n: 7, approved_by: "alice" }),
      call("replay", { n: 7 })
    ])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { call: id } = yield* H.question(run)
      assert.strictEqual(id, "0/2.0")
      const outcome = H.outcome(yield* H.events(run))
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.reason, "INPUT_SCHEMA")
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(layer))
  })

  it.live(
    "ST-32 keeps the decider, the time and the content of every decision under its correlation id",
    () => {
      const { layer } = gated([
        call("replay", { n: 1 }),
        call("replay", { n: 2 }),
        call("replay", { n: 3 }),
        call("replay", { n: 4 }),
        text("done")
      ])
      const decisions = [
        H.approve,
        H.deny,
        { _tag: "RequestRevision", note: "again" } as const,
        { _tag: "Modify", arguments: { n: 5 } } as const
      ]
      return Effect.gen(function* () {
        const run = yield* H.send("hello")
        for (const [index, decision] of decisions.entries()) {
          const { approval } = yield* H.question(run, index + 1)
          yield* H.decide(approval, decision)
        }
        yield* H.ended(run)
        const entries = yield* RunReader.use((reader) => reader.read(run, 0, 1_000))
        const audited = entries.flatMap(({ at, event }) =>
          event._tag === "ApprovalDecided" ? [{ at, event }] : []
        )
        assert.deepStrictEqual(
          audited.map(({ event }) => event.decision),
          decisions
        )
        for (const { at, event } of audited) {
          assert.strictEqual(event.by, "alice")
          assert.isAbove(at, 0)
          const record = yield* ApprovalRecords.use((records) => records.get(event.approval))
          assert.deepInclude(record, { status: "decided", decided_by: "alice", decided_at: at })
          assert.deepStrictEqual(record?.decision, event.decision)
        }
        assert.deepStrictEqual(yield* H.pending, [])
      }).pipe(Effect.provide(layer))
    }
  )

  it.live("ST-34 has its question closed when its run is cancelled, with who cancelled it", () => {
    const { layer, ran } = gated([call("replay", { n: 7 })])
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      yield* AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough"))
      assert.deepStrictEqual(yield* H.pending, [])
      const all = yield* H.ended(run)
      const closed = all.find((event) => event._tag === "ApprovalClosed")
      assert.deepInclude(closed, { how: "cancelled", by: "alice", approval })
      assert.deepStrictEqual(H.outcome(all), { _tag: "Cancelled" })
      assert.deepInclude(H.end(all), { status: "cancelled", reason: "enough" })
      assert.strictEqual(H.count(all, "RunEnded"), 1)
      assert.strictEqual(all.at(-1)?._tag, "RunEnded")
      const late = yield* Effect.flip(H.decide(approval, H.approve))
      assert.deepInclude(late, { _tag: "ApprovalSettled", status: "cancelled" })
      assert.deepStrictEqual(ran, [])
    }).pipe(Effect.provide(layer))
  })
})
