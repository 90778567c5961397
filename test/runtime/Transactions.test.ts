import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const transactional = (body: H.Body, more: Parameters<typeof H.writes>[1] = {}) =>
  H.writes(body, { transactional: true, ...more })
const script = [call("write", { n: 7 }), text("done")]

describe("a transactional tool", () => {
  it.live("has its dispatch and its result journaled together, after its body", () => {
    const seen: Array<number> = []
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const all = yield* H.ended(run)
      assert.deepStrictEqual(
        all.map((event) => event._tag),
        [
          "RunAccepted",
          "RunClaimed",
          "ModelTurned",
          "CallDispatched",
          "CallSettled",
          "ModelTurned",
          "RunEnded"
        ]
      )
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "7" })
      assert.deepStrictEqual(seen, [7])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { write: transactional((n) => Effect.sync(() => (seen.push(n), n))) },
          script
        })
      )
    )
  })

  it.live("that fails has its failure journaled, and the run goes on", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.class, "ToolUserError")
      assert.deepInclude(H.end(all), { status: "complete" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            write: transactional(() =>
              Effect.fail(new ToolUserError({ kind: "invalid_args", message: "no" }))
            )
          },
          script
        })
      )
    )
  )

  it.live("that dies is a terminal failure without its text", () =>
    Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.reason, "DEFECT")
      assert.notInclude(JSON.stringify(all), "hunter2")
    }).pipe(
      Effect.provide(
        H.layer({ tools: { write: transactional(() => Effect.die("hunter2")) }, script })
      )
    )
  )

  it.live("whose value its schema refuses fails inside the transaction", () =>
    Effect.gen(function* () {
      const outcome = H.outcome(yield* H.ended(yield* H.send("hello")))
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.reason, "OUTPUT_SCHEMA")
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            write: { ...transactional(() => Effect.succeed("no number")), success: Schema.Int }
          },
          script
        })
      )
    )
  )

  it.effect("that hangs is interrupted at 5 s, and its run goes on", () => {
    let interrupted = 0
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "ModelTurned")
      yield* TestClock.adjust(4_999)
      assert.strictEqual(interrupted, 0)
      yield* TestClock.adjust(1)
      const all = yield* H.ended(run)
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.kind, "timeout")
      assert.strictEqual(interrupted, 1)
      assert.deepInclude(H.end(all), { status: "complete" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            write: transactional(() =>
              Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
            )
          },
          script
        })
      )
    )
  })

  it.live("delays a cancel until it is over, and is never interrupted halfway", () => {
    const gate = Deferred.makeUnsafe<void>()
    const began = Deferred.makeUnsafe<void>()
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* Deferred.await(began)
      const cancel = yield* Effect.forkChild(
        AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough")),
        { startImmediately: true }
      )
      assert.strictEqual(H.count(yield* H.events(run), "RunStopping"), 0)
      yield* Deferred.succeed(gate, undefined)
      const all = yield* H.ended(run)
      assert.strictEqual(cancel.pollUnsafe()?._tag, "Success")
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "7" })
      assert.deepInclude(H.end(all), { status: "cancelled" })
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            write: transactional((n) =>
              Effect.andThen(Deferred.succeed(began, undefined), Effect.as(Deferred.await(gate), n))
            )
          },
          script
        })
      )
    )
  })

  it.live("asks before its transaction, and runs once when it is approved", () => {
    const ran: Array<string | undefined> = []
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      const { approval } = yield* H.question(run)
      assert.deepStrictEqual(ran, [])
      yield* H.decide(approval, H.approve)
      yield* H.ended(run)
      assert.deepStrictEqual(ran, ["alice"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            write: transactional(
              (n, { approved_by }) => Effect.sync(() => (ran.push(approved_by), n)),
              { permission: "ask" }
            )
          },
          script
        })
      )
    )
  })

  it.live("runs one at a time within a run", () => {
    let now = 0
    let most = 0
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.strictEqual(H.settled(all).length, 4)
      assert.strictEqual(most, 1)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: {
            write: transactional((n) =>
              Effect.gen(function* () {
                most = Math.max(most, ++now)
                yield* Effect.yieldNow
                now--
                return n
              })
            )
          },
          script: [calls([1, 2, 3, 4].map((n) => call("write", { n }))), text("done")]
        })
      )
    )
  })
})
