/** A guard that asks a person: the text waits for the decision, and a restart changes nothing of that. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer } from "effect"
import type { Decision } from "../../src/approval/Approval.ts"
import type * as Guard from "../../src/agent/Guard.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { DeclaredGuards } from "../../services/AgentDirectory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { guard, layer, masks, replayed, said } from "./GuardScenes.ts"
import * as H from "./Harness.ts"

const asksOf =
  (word: string): Guard.Options["judge"] =>
  (of) =>
    of.text.includes(word) ? { verdict: "ask", reason: `${word}?` } : { verdict: "pass" }

const alike = [undefined, undefined]
const approve: Decision = { _tag: "Approve" }
const deny: Decision = { _tag: "Deny", reason: "not that, says ada" }
const modify = (to: string): Decision => ({ _tag: "Modify", arguments: { text: to } })

const tools = {
  note: H.reads(() => Effect.succeed("a doubtful page")),
  pay: H.writes(() => Effect.succeed("paid"))
}

const asked = Effect.fnUntraced(function* (message: string) {
  const run = yield* H.send(message)
  yield* H.happened(run, "ApprovalRequested")
  const [question] = yield* H.pending
  return { run, question: question! }
})

/** Asks, decides, and gives the events of the ended run, which both replays make again. */
const decided = Effect.fnUntraced(function* (
  options: H.Options,
  message: string,
  decision: Decision
) {
  const { question, run } = yield* asked(message)
  yield* H.decide(question.id, decision)
  const all = yield* H.ended(run)
  assert.deepStrictEqual(yield* replayed(run, options), alike)
  return all
})

const told = (all: ReadonlyArray<RunEvent>) => {
  const { reason, status, text: said } = H.end(all)!
  return [status, reason, said]
}
const refused = ["failed", "guard_refused", "A person refused this."]

describe("a guard that asks about a message", () => {
  const options: H.Options = {
    script: ({ transcript: [message] }) => text(message?.role === "user" ? message.text : "")
  }
  const doubts = guard("doubts", ["message"], asksOf("doubtful"))
  const cards = guard("cards", ["message"], masks("4111"))

  it.live("has it read once a person approves, as guards left it", () =>
    Effect.gen(function* () {
      const { question, run } = yield* asked("doubtful 4111")
      assert.deepInclude(question, {
        arguments: { text: "doubtful ***" },
        tool_key: "troupe.pass_message@1"
      })
      assert.include(question.payload.effect_description, "doubts asks: doubtful?")
      assert.lengthOf(yield* H.requests, 0)
      yield* H.decide(question.id, approve)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(told(all), ["complete", "complete", "doubtful ***"])
      assert.deepStrictEqual(said(all), [
        "message doubts ask doubtful?",
        "message cards change masked"
      ])
      assert.deepStrictEqual(yield* replayed(run, options), alike)
      const twice = yield* Effect.exit(H.decide(question.id, approve))
      assert.isTrue(Exit.isFailure(twice))
    }).pipe(Effect.provide(layer(options, doubts, cards)))
  )

  it.live("has another text read where a person changes it, and none where it is denied", () =>
    Effect.gen(function* () {
      const changed = yield* decided(options, "doubtful", modify("fine"))
      assert.deepStrictEqual(told(changed), ["complete", "complete", "fine"])
      const denied = yield* decided(options, "doubtful", deny)
      assert.deepStrictEqual(told(denied), refused)
      assert.lengthOf(yield* H.requests, 1)
    }).pipe(Effect.provide(layer(options, doubts)))
  )

  it.live("takes no blank text and no revision, and stays open", () =>
    Effect.gen(function* () {
      const { question, run } = yield* asked("doubtful")
      for (const unfit of [modify(" "), { _tag: "RequestRevision", note: "again" } as const]) {
        const exit = yield* Effect.exit(H.decide(question.id, unfit))
        assert.include(JSON.stringify(exit), "DecisionUnfit")
      }
      const empty = { _tag: "Modify", arguments: { txt: "fine" } } as const
      assert.include(
        JSON.stringify(yield* Effect.exit(H.decide(question.id, empty))),
        "DecisionUnfit"
      )
      yield* H.decide(question.id, approve)
      assert.deepStrictEqual(told(yield* H.ended(run)), ["complete", "complete", "doubtful"])
    }).pipe(Effect.provide(layer(options, doubts)))
  )
})

describe("a guard that asks about a result", () => {
  const options: H.Options = { tools, script: [call("note", { n: 1 }), text("read")] }
  const doubts = guard("doubts", ["result"], asksOf("doubtful"))

  for (const [decision, shown] of [
    [approve, "a doubtful page"],
    [modify("a fine page"), "a fine page"],
    [deny, "withholds this result: A person refused this."]
  ] as const) {
    it.live(`shows the model what ${decision._tag} leaves of it`, () =>
      Effect.gen(function* () {
        const all = yield* decided(options, "read", decision)
        assert.deepStrictEqual(told(all), ["complete", "complete", "read"])
        assert.include(H.resultsShown((yield* H.requests)[1])[0], shown)
      }).pipe(Effect.provide(layer(options, doubts)))
    )
  }
})

describe("a guard that asks about an answer", () => {
  const doubts = guard("doubts", ["answer"], asksOf("doubtful"))
  const options: H.Options = {
    tools,
    script: [{ ...call("pay", { n: 1 }), text: "a doubtful payment" }, text("done")]
  }

  it.live("has its calls run once a person approves, and the turn stand once in the journal", () =>
    Effect.gen(function* () {
      const { question, run } = yield* asked("pay")
      const before = yield* H.events(run)
      assert.strictEqual(H.count(before, "ModelTurned"), 0)
      assert.strictEqual(H.count(before, "CallDispatched"), 0)
      yield* H.decide(question.id, approve)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(told(all), ["complete", "complete", "done"])
      assert.strictEqual(H.count(all, "ModelTurned"), 2)
      assert.deepInclude(H.outcome(all), { _tag: "Value", json: '"paid"' })
      assert.deepStrictEqual(yield* replayed(run, options), alike)
    }).pipe(Effect.provide(layer(options, doubts)))
  )

  it.live("has none of its calls run where it is denied", () =>
    Effect.gen(function* () {
      const all = yield* decided(options, "pay", deny)
      assert.deepStrictEqual(told(all), refused)
      assert.strictEqual(H.count(all, "CallDispatched"), 0)
    }).pipe(Effect.provide(layer(options, doubts)))
  )

  it.live("ends the run with a person's text", () => {
    const answers: H.Options = { script: [text("a doubtful answer")] }
    return Effect.gen(function* () {
      const all = yield* decided(answers, "ask", modify("a fine answer"))
      assert.deepStrictEqual(told(all), ["complete", "complete", "a fine answer"])
    }).pipe(Effect.provide(layer(answers, doubts)))
  })

  it.live("closes its question where the run is cancelled", () =>
    Effect.gen(function* () {
      const { question, run } = yield* asked("pay")
      yield* H.cancel(run)
      const all = yield* H.ended(run)
      assert.strictEqual(H.end(all)?.status, "cancelled")
      assert.deepInclude(
        all.find((event) => event._tag === "ApprovalClosed"),
        { how: "cancelled" }
      )
      assert.isTrue(Exit.isFailure(yield* Effect.exit(H.decide(question.id, approve))))
    }).pipe(Effect.provide(layer(options, doubts)))
  )

  it.live("is decided in another process, which has no such guard any more", () =>
    Effect.gen(function* () {
      const guarded = Layer.succeed(DeclaredGuards, [doubts])
      const first = yield* H.boot(options).pipe(Effect.provide(guarded))
      const { question, run } = yield* first.run(asked("pay"))
      yield* first.stop
      const second = yield* H.boot({ ...options, script: [text("done")] })
      yield* second.run(H.decide(question.id, approve))
      const all = yield* second.run(H.ended(run))
      assert.deepStrictEqual(told(all), ["complete", "complete", "done"])
      assert.strictEqual(H.count(all, "CallDispatched"), 1)
    }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
