import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { TestClock } from "effect/testing"
import { ToolTransientError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { CallId } from "../../src/value/Ids.ts"
import type { Settlement } from "../../src/run/UnknownCall.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { RunReader } from "../../services/RunReader.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "./Harness.ts"

const script = [call("write", { n: 7 }), text("done")]
const first = CallId.make("0/1.0")

const settle = (run: RunId, settlement: Settlement) =>
  AgentRuntime.use((runtime) => runtime.settle(run, first, settlement, H.alice))

const network = new ToolTransientError({ kind: "network", message: "connection reset" })

/** A write whose first `lost` sends get no answer; keeps the key of each send. */
const losing = (lost: number, more: Parameters<typeof H.writes>[1] = {}) => {
  const keys: Array<string | undefined> = []
  const tool = H.writes((n, { key }) => {
    keys.push(key)
    return keys.length <= lost ? Effect.fail(network) : Effect.succeed(n)
  }, more)
  return { keys, tool }
}

describe("a write", () => {
  it.live("is journaled with its key before its body runs", () => {
    const seen: Array<ReadonlyArray<string>> = []
    let key: string | undefined
    const tool = H.writes((_, context) =>
      Effect.gen(function* () {
        key = context.key
        seen.push((yield* H.events(context.run)).map((event) => event._tag))
        return null
      }).pipe(Effect.provideService(RunReader, reader!), Effect.orDie)
    )
    let reader: RunReader["Service"] | undefined
    return Effect.gen(function* () {
      reader = yield* RunReader
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(seen, [["RunAccepted", "RunClaimed", "ModelTurned", "CallDispatched"]])
      const dispatched = all.find((event) => event._tag === "CallDispatched")
      assert.strictEqual(dispatched?.key, key)
      assert.match(key!, /^[0-9a-f]{64}$/)
      assert.strictEqual(dispatched?.on_loss, "unknown")
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("that dies is a defect, and the model is told that it may have taken effect", () =>
    Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      const [shown] = H.resultsShown((yield* H.requests)[1])
      assert.include(shown, "ToolTerminalError (internal, DEFECT)")
      assert.include(shown, "It may have taken effect.")
      assert.notInclude(shown, "secret")
    }).pipe(
      Effect.provide(
        H.layer({ tools: { write: H.writes(() => Effect.die(new Error("secret"))) }, script })
      )
    )
  )

  it.live("gets a key from its run and its position, a different one for each call", () => {
    const keys: Array<string | undefined> = []
    const tool = H.writes((n, { key }) => Effect.sync(() => keys.push(key) && n))
    return Effect.gen(function* () {
      yield* H.ended(yield* H.send("hello"))
      yield* H.ended(yield* H.send("hello", "c-2"), "c-2")
      assert.strictEqual(keys.length, 4)
      assert.strictEqual(new Set(keys).size, 4)
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { write: tool },
          script: ({ step }) => (step <= 2 ? call("write", { n: 7 }) : text("done"))
        })
      )
    )
  })

  it.effect("SM-27 that times out is unknown, and waits for an operator", () => {
    let interrupted = 0
    const tool = H.writes(
      () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++)),
      { timeout_ms: 50 }
    )
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallDispatched")
      yield* TestClock.adjust(50)
      yield* H.happened(run, "CallUnknown")
      assert.strictEqual(interrupted, 1)
      const head = yield* RunReader.use((reader) => reader.head(run))
      assert.strictEqual(head.status, "awaiting_approval")
      assert.deepStrictEqual(H.settled(yield* H.events(run)), [])
      assert.strictEqual((yield* H.requests).length, 1)
      yield* settle(run, { _tag: "Succeeded", json: '"it arrived"' })
      const all = yield* H.ended(run)
      assert.deepInclude(H.settled(all)[0], {
        outcome: { _tag: "Value", json: '"it arrived"' },
        by: "alice"
      })
      assert.strictEqual(H.resultsShown((yield* H.requests)[1])[0], '"it arrived"')
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("that lost its connection is unknown, and may be settled as failed", () => {
    const { keys, tool } = losing(1)
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallUnknown")
      yield* settle(run, { _tag: "Failed", message: "nothing arrived" })
      const all = yield* H.ended(run)
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.reason, "SETTLED_BY_OPERATOR")
      assert.strictEqual(keys.length, 1)
      const late = yield* Effect.flip(settle(run, { _tag: "RunAgain" }))
      assert.strictEqual(late._tag, "RunIsOver")
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("that is unknown may be run again, with the same key", () => {
    const { keys, tool } = losing(1)
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallUnknown")
      yield* settle(run, { _tag: "RunAgain" })
      const all = yield* H.ended(run)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "7" })
      assert.strictEqual(keys.length, 2)
      assert.strictEqual(keys[0], keys[1])
      assert.strictEqual(H.count(all, "CallDispatched"), 2)
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("that needs an approval needs another one when an operator runs it again", () => {
    const { keys, tool } = losing(1, { permission: "ask" })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.decide((yield* H.question(run)).approval, H.approve)
      yield* H.happened(run, "CallUnknown")
      yield* settle(run, { _tag: "RunAgain" })
      yield* H.decide((yield* H.question(run, 2)).approval, H.approve)
      yield* H.ended(run)
      assert.strictEqual(keys.length, 2)
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("refuses to settle a call that is not unknown, or of another tenant's run", () => {
    const gate = Deferred.makeUnsafe<void>()
    const tool = H.writes((n) => Effect.as(Deferred.await(gate), n))
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallDispatched")
      const early = yield* Effect.flip(settle(run, { _tag: "RunAgain" }))
      assert.deepInclude(early, { _tag: "CallNotUnknown", phase: "Dispatched" })
      const runtime = yield* AgentRuntime
      const mallory = H.person("mallory", ["admin"], "others" as typeof H.tenant)
      const foreign = yield* Effect.flip(runtime.settle(run, first, { _tag: "RunAgain" }, mallory))
      assert.strictEqual(foreign._tag, "RunNotFound")
      const cancel = yield* Effect.flip(runtime.interrupt(run, mallory, "mine"))
      assert.strictEqual(cancel._tag, "RunNotFound")
      yield* Deferred.succeed(gate, undefined)
      yield* H.ended(run)
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("that honours its key is sent again with it, at most three times", () => {
    const { keys, tool } = losing(2, { idempotent: true })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "7" })
      assert.strictEqual(keys.length, 3)
      assert.strictEqual(new Set(keys).size, 1)
      assert.strictEqual(H.count(all, "CallDispatched"), 1)
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("that honours its key is unknown after three sends without an answer", () => {
    const { keys, tool } = losing(99, { idempotent: true })
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallUnknown")
      assert.strictEqual(keys.length, 3)
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("whose body was interrupted from inside is unknown", () =>
    Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallUnknown")
      assert.deepStrictEqual(H.settled(yield* H.events(run)), [])
    }).pipe(Effect.provide(H.layer({ tools: { write: H.writes(() => Effect.interrupt) }, script })))
  )

  it.live("ST-24 that fails for a known cause is settled, and not sent again", () => {
    let sent = 0
    const tool = H.writes(() => {
      sent++
      return Effect.fail(
        new ToolTransientError({ kind: "external", message: "busy", retry_after_ms: 10 })
      )
    })
    return Effect.gen(function* () {
      const all = yield* H.ended(yield* H.send("hello"))
      const outcome = H.outcome(all)
      assert.strictEqual(outcome?._tag === "Failed" && outcome.error.class, "ToolTransientError")
      assert.strictEqual(sent, 1)
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })

  it.live("in flight is waited for when its run is cancelled, and its result is kept", () => {
    const gate = Deferred.makeUnsafe<void>()
    const tool = H.writes((n) => Effect.as(Deferred.await(gate), n))
    return Effect.gen(function* () {
      const run = yield* H.send("hello")
      yield* H.happened(run, "CallDispatched")
      yield* AgentRuntime.use((runtime) => runtime.interrupt(run, H.alice, "enough"))
      yield* H.happened(run, "RunStopping")
      assert.strictEqual(H.count(yield* H.events(run), "RunEnded"), 0)
      yield* Deferred.succeed(gate, undefined)
      const all = yield* H.ended(run)
      assert.deepStrictEqual(H.outcome(all), { _tag: "Value", json: "7" })
      assert.deepInclude(H.end(all), { status: "cancelled" })
    }).pipe(Effect.provide(H.layer({ tools: { write: tool }, script })))
  })
})
