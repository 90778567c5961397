import { assert } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer, Logger, Scope } from "effect"
import { TestClock } from "effect/testing"
import { text, call, calls } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { callRecords } from "../contracts/OnRows.ts"
import type { Recorder } from "../../layers/runtime/feed/CallRecorder.ts"
import * as CallRecorder from "../../layers/runtime/feed/CallRecorder.ts"
import { AgentDirectory } from "../../services/AgentDirectory.ts"
import type { CallRecords } from "../../services/CallRecords.ts"
import { StoreError } from "../../services/StoreError.ts"
import { ToolUserError } from "../../src/error/ToolError.ts"
import { CallId, RunId, Tenant } from "../../src/value/Ids.ts"
import type { CallRecord, ToolCompleted } from "../../src/tool/CallRecord.ts"
import { recordKey } from "../../src/tool/CallRecord.ts"
import * as Stage from "./Stage.ts"
import type { Driven } from "./Vectors.ts"
import { conformance, hasShape, isRecord } from "./Vectors.ts"

type Fields = Readonly<Record<string, unknown>>

const run = RunId.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")

const factOf = (n: number): ToolCompleted => ({
  run,
  call: CallId.make(`0/1.${n}`),
  tenant: Tenant.make("acme"),
  error_kind: null,
  error_reason: undefined,
  arguments: { n },
  outcome: { _tag: "Value", json: "1" },
  metadata: {
    tool_name: "test_tool",
    agent_name: "supervisor",
    latency_ms: 1,
    ok: true,
    error_class: null,
    trace_id: "trace",
    started_at: 1,
    ended_at: 2
  }
})

/** A recorder over a store that first runs `before`, and the list of what was stored. */
const over = Effect.fnUntraced(function* (
  before: Effect.Effect<void, StoreError> = Effect.void,
  stored: Array<CallRecord> = []
) {
  const store = yield* callRecords
  const seen: CallRecords["Service"] = {
    ...store,
    store: (records) =>
      before.pipe(
        Effect.andThen(store.store(records)),
        Effect.tap(() => Effect.sync(() => void stored.push(...records)))
      )
  }
  return { stored, recorder: yield* CallRecorder.make(Effect.succeed(seen)) }
})

const nth = (fields: Fields, name: string) => Number(fields[name])

const atNs = (value: unknown): bigint => BigInt(value as bigint | number)

/** Plays a run with `n` calls, and passes their facts to the recorder. */
const called = Effect.fnUntraced(function* (
  recorder: Recorder,
  n: number,
  body: Stage.Body = () => Effect.delay(Effect.succeed("result"), 5)
) {
  const facts = yield* Stage.stage(
    {
      tools: { test_tool: { governance: { side_effects: "read" }, body } },
      script: [calls(Array.from({ length: n }, (_, i) => call("test_tool", { i }))), text("done")]
    },
    Effect.gen(function* () {
      yield* Stage.begin
      // Calls run in batches of the parallel limit.
      for (let i = 0; i <= n; i++) yield* Stage.after(5)
      return [...(yield* Stage.facts)]
    })
  )
  for (const fact of facts) recorder.observe(fact)
  return facts
})

const driven = (rows: string, run: Effect.Effect<void, unknown, Scope.Scope>): Driven => ({
  rows,
  run
})

const counted = (input: Fields, expect: Fields): Driven =>
  driven(
    "SM-85 SM-87",
    Effect.gen(function* () {
      const { recorder, stored } = yield* over()
      const facts = yield* called(recorder, nth(input, "calls"))
      yield* recorder.stop(5_000)
      assert.lengthOf(stored, expect.records as number)
      assert.lengthOf(facts, nth(input, "calls"))
      for (const [i, record] of stored.entries()) {
        const fact = facts[i]!
        // The ids are those that the runtime gave to call, run and trace.
        assert.strictEqual(record.call_id, fact.call)
        assert.strictEqual(record.run_id, fact.run)
        assert.strictEqual(record.trace_id, fact.metadata.trace_id)
        assert.isAbove(record.ended_at, record.started_at)
        assert.isAbove(record.duration_ms, 0)
        assert.deepEqual(record.outcome, { _tag: "Value", json: JSON.stringify("result") })
      }
      // A fact after the stop is neither recorded nor an error.
      recorder.observe(factOf(1))
      assert.lengthOf(stored, expect.records as number)
    })
  )

const blocked = (input: Fields, expect: Fields): Driven =>
  driven(
    "SM-86",
    Effect.gen(function* () {
      const lines: Array<string> = []
      const lines_of = Logger.layer([
        Logger.make<unknown, void>(
          (line) => void lines.push(`${line.logLevel} ${String(line.message)}`)
        )
      ])
      const gate = yield* Deferred.make<void>()
      const { recorder, stored } = yield* Effect.provide(over(Deferred.await(gate)), lines_of)
      const n = nth(input, "calls")
      const began = yield* Clock.currentTimeMillis
      for (let i = 0; i < n; i++) recorder.observe(factOf(i))
      assert.strictEqual((yield* Clock.currentTimeMillis) - began, 0)
      yield* Deferred.succeed(gate, undefined)
      yield* recorder.stop(5_000)
      assert.isBelow(stored.length, expect.recordsLessThan as number)
      assert.isAtLeast(stored.length, expect.recordsAtLeast as number)
      assert.strictEqual(stored.length, expect.bufferCapacity)
      assert.strictEqual(recorder.counts().dropped, n - stored.length)
      assert.isTrue(lines.some((line) => line.startsWith("Warn ") && line.includes("dropped")))
    })
  )

const refused = (expect: Fields): Driven =>
  driven(
    "SM-86 SM-89",
    Effect.gen(function* () {
      const lines: Array<string> = []
      const lines_of = Logger.layer([
        Logger.make<unknown, void>((line) => void lines.push(line.logLevel))
      ])
      const away = Effect.fail(new StoreError({ message: "the store is away" }))
      const { recorder } = yield* Effect.provide(over(away), lines_of)
      const [fact] = yield* called(recorder, 1)
      assert.strictEqual(fact?.metadata.ok, expect.callSucceeds)
      yield* recorder.stop(5_000)
      assert.strictEqual(recorder.counts().lost, 1)
      assert.strictEqual(lines.includes("Warn"), expect.warningLogged)
    })
  )

const stopped = (input: Fields, expect: Fields): Driven =>
  driven(
    "SM-87",
    Effect.gen(function* () {
      const { recorder } = yield* over(Effect.never)
      recorder.observe(factOf(1))
      const stopping = yield* Effect.forkChild(Effect.flip(recorder.stop(nth(input, "stopMs"))))
      yield* Effect.yieldNow
      yield* TestClock.adjust(nth(input, "stopMs"))
      const error = yield* Fiber.join(stopping)
      assert.strictEqual(error.message, expect.error)
      assert.isFalse(recorder.isOpen())
    })
  )

const closed = driven(
  "SM-87",
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const store = yield* Scope.provide(callRecords, scope)
    yield* Scope.close(scope, undefined as never)
    const error = yield* Effect.flip(store.store([]))
    assert.instanceOf(error, StoreError)
  })
)

const reset = (n: number, expect: Fields): Driven =>
  driven(
    "SM-89",
    Effect.gen(function* () {
      const store = yield* callRecords
      const stored: Array<CallRecord> = []
      const recorder = yield* CallRecorder.make(
        Effect.succeed({
          ...store,
          store: (all) =>
            Effect.tap(store.store(all), () => Effect.sync(() => void stored.push(...all)))
        })
      )
      for (let i = 0; i < n; i++) recorder.observe(factOf(i))
      yield* recorder.stop(1_000)
      assert.lengthOf(stored, n)
      const tenant = Tenant.make("acme")
      yield* store.forget(tenant, Number.MAX_SAFE_INTEGER)
      assert.lengthOf(yield* store.ofRun(tenant, run, 500), expect.records as number)
      if (expect.usable === true) {
        yield* store.store(stored)
        assert.lengthOf(yield* store.ofRun(tenant, run, 500), n)
      }
    })
  )

const lazy = (expect: Fields): Driven =>
  driven(
    "SM-89",
    Effect.gen(function* () {
      let opened = 0
      const open: CallRecorder.Open = Effect.suspend(() => {
        opened++
        return opened === 1
          ? Effect.fail(new StoreError({ message: "the store is away" }))
          : callRecords
      })
      const recorder = yield* CallRecorder.make(open)
      assert.strictEqual(recorder.isOpen(), expect.opened)
      assert.strictEqual(opened, 0)
      recorder.observe(factOf(1))
      yield* Stage.settle
      assert.deepInclude(recorder.counts(), { stored: 0, lost: 1 })
      // After a failure the next write opens the store again.
      recorder.observe(factOf(2))
      yield* Stage.settle
      assert.deepInclude(recorder.counts(), { stored: 1, lost: 1 })
      assert.isTrue(recorder.isOpen())
      yield* recorder.stop(1_000)
      assert.isFalse(recorder.isOpen())
    })
  )

/** A recorder changes nothing about the tools that a model is shown. */
const listed = (names: ReadonlyArray<string>): Driven => {
  const play = {
    tools: Object.fromEntries(
      names.map((name) => [
        name,
        { governance: { side_effects: "read" as const }, body: () => Effect.succeed("result") }
      ])
    ),
    script: [text("done")]
  }
  const shown = AgentDirectory.useSync((directory) => directory.get(Stage.supervisor)!.modelTools)
  return driven(
    "SM-85",
    Effect.gen(function* () {
      const without = yield* Stage.stage(play, shown)
      const records = Layer.effectDiscard(CallRecorder.make(callRecords))
      const withIt = yield* Effect.provide(Stage.stage(play, shown), records)
      assert.deepEqual(
        withIt.map(({ name }) => name),
        names
      )
      assert.deepEqual(withIt, without)
    })
  )
}

const failing: Stage.Body = () =>
  Effect.fail(new ToolUserError({ kind: "invalid_args", message: "an error result" }))

conformance("recording_executor", ({ expect, input }): Driven => {
  if (input === "construct only" && isRecord(expect)) return lazy(expect)
  if (!isRecord(input)) return undefined
  const fields: Fields = input
  if (hasShape(input, ["call_id", "timestampNs"])) {
    return driven(
      "SM-88",
      Effect.sync(() =>
        assert.strictEqual(recordKey(String(input.call_id), atNs(input.timestampNs)), expect)
      )
    )
  }
  if (hasShape(fields, ["call_id", "timestampsNs"]) && Array.isArray(fields.timestampsNs)) {
    const keys = fields.timestampsNs.map((ns) => recordKey(String(fields.call_id), atNs(ns)))
    return driven(
      "SM-88 SM-47",
      Effect.sync(() => assert.deepEqual(keys, expect))
    )
  }
  if (!isRecord(expect)) return undefined
  if (Array.isArray(fields.inner)) return listed(fields.inner as ReadonlyArray<string>)
  if (typeof fields.inner === "string") {
    return driven(
      "SM-85",
      Effect.gen(function* () {
        const { recorder, stored } = yield* over()
        yield* called(recorder, 1, failing)
        yield* recorder.stop(5_000)
        assert.lengthOf(stored, expect.records as number)
        assert.strictEqual(stored[0]?.outcome?._tag, "Failed")
      })
    )
  }
  if (typeof fields.stopMs === "number") return stopped(fields, expect)
  if (fields.close === true) return closed
  if (fields.reset === true) return reset(Number(fields.store), expect)
  if (fields.store === "fails") return refused(expect)
  if (typeof fields.store === "string" && "calls" in fields) return blocked(fields, expect)
  if (typeof fields.calls === "number") return counted(fields, expect)
  return undefined
})
