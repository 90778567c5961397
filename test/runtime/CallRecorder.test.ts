import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Layer, Logger, References, Scope } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { AgentName, CallId, RunId, Tenant } from "../../src/value/Ids.ts"
import type { CallRecord, ToolCompleted } from "../../src/tool/CallRecord.ts"
import { tool } from "../../src/tool/DeclaredTool.ts"
import { CallRecords } from "../../services/CallRecords.ts"
import { ToolCallObservers } from "../../services/RunObserver.ts"
import { start } from "../../layers/compose/entries/Embed.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as CallRecorder from "../../layers/runtime/feed/CallRecorder.ts"
import type { RecorderConfig } from "../../layers/runtime/feed/CallRecorder.ts"
import { callRecords } from "../contracts/OnRows.ts"

const tenant = Tenant.make("acme")
const run = RunId.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")

const factOf = (n: number, json = "1"): ToolCompleted => ({
  run,
  call: CallId.make(`0/1.${n}`),
  tenant,
  error_kind: null,
  error_reason: undefined,
  arguments: { n },
  outcome: { _tag: "Value", json },
  metadata: {
    tool_name: "tool",
    agent_name: "tester",
    latency_ms: 0,
    ok: true,
    error_class: null,
    trace_id: "trace",
    started_at: 1,
    ended_at: 1
  }
})

const configured = (more: Partial<RecorderConfig>) =>
  Effect.provideService(CallRecorder.RecorderConfig, {
    records_max: 100,
    bytes_max: 16_000_000,
    write_ms: 10_000,
    stop_ms: 5_000,
    ...more
  })

/** A store that keeps its records when it is closed. */
const kept = Effect.map(callRecords, (store) => {
  const records: Array<CallRecord> = []
  const service: CallRecords["Service"] = {
    ...store,
    store: (all) => Effect.sync(() => void records.push(...all))
  }
  return { records, service }
})

describe("the recorder of calls", () => {
  it.effect(
    "SM-87 stores what is buffered when the runtime stops, and does not affect other observers",
    () =>
      Effect.gen(function* () {
        const { records, service } = yield* kept
        const told: Array<string> = []
        const scope = yield* Scope.make()
        const context = yield* Layer.buildWithScope(
          CallRecorder.layer.pipe(
            Layer.provide(Layer.succeed(CallRecords, service)),
            Layer.provide(Layer.succeed(ToolCallObservers, [(fact) => void told.push(fact.call)]))
          ),
          scope
        )
        const observers = Context.get(context as Context.Context<never>, ToolCallObservers)
        for (let n = 0; n < 10; n++) for (const observe of observers) observe(factOf(n))
        assert.lengthOf(records, 0)
        yield* Scope.close(scope, Exit.void)
        assert.lengthOf(records, 10)
        assert.lengthOf(told, 10)
        assert.strictEqual(new Set(records.map(({ key }) => key)).size, 10)
      })
  )

  it.effect("SM-86 buffers a bounded number of bytes of results", () =>
    Effect.gen(function* () {
      const { records, service } = yield* kept
      const large = JSON.stringify("x".repeat(100_000))
      const recorder = yield* CallRecorder.make(Effect.succeed(service))
      for (let n = 0; n < 50; n++) recorder.observe(factOf(n, large))
      yield* recorder.stop(1_000)
      assert.isAtMost(records.length, 6)
      assert.isAtLeast(records.length, 4)
      assert.strictEqual(recorder.counts().dropped, 50 - records.length)
    }).pipe(configured({ bytes_max: 1_000_000 }))
  )

  it.effect("SM-86 logs how many records were dropped, once for each burst and at its stop", () =>
    Effect.gen(function* () {
      const { records, service } = yield* kept
      const said: Array<unknown> = []
      const heard = Logger.layer([
        Logger.make<unknown, void>(({ fiber, logLevel }) => {
          said.push([logLevel, fiber.getRef(References.CurrentLogAnnotations)["dropped"]])
        })
      ])
      const gates = [yield* Deferred.make<void>(), yield* Deferred.make<void>()] as const
      let writes = 0
      const slow: CallRecords["Service"] = {
        ...service,
        store: (all) => {
          const gate = gates[writes++]
          const passed = gate === undefined ? Effect.void : Deferred.await(gate)
          return Effect.andThen(passed, service.store(all))
        }
      }
      yield* Effect.gen(function* () {
        const recorder = yield* CallRecorder.make(Effect.succeed(slow))
        for (let n = 0; n < 15; n++) recorder.observe(factOf(n))
        assert.deepEqual(said, [])
        yield* Deferred.succeed(gates[0], undefined)
        for (let tries = 0; tries < 50; tries++) yield* Effect.yieldNow
        assert.deepEqual(said, [["Warn", 5]])
        for (let n = 0; n < 12; n++) recorder.observe(factOf(n))
        for (let tries = 0; tries < 50; tries++) yield* Effect.yieldNow
        assert.lengthOf(said, 1)
        yield* Deferred.succeed(gates[1], undefined)
        yield* recorder.stop(5_000)
        assert.deepEqual(said, [
          ["Warn", 5],
          ["Warn", 2]
        ])
        assert.lengthOf(records, 20)
        assert.deepEqual(recorder.counts(), { stored: 20, dropped: 7, lost: 0 })
      }).pipe(Effect.provide(heard))
    }).pipe(configured({ records_max: 10 }))
  )

  it.live("stores the records of an embedded runtime where it is enabled", () =>
    Effect.promise(async () => {
      const troupe = await start({
        agents: [
          AgentSpec.make({
            name: AgentName.make("adder"),
            instructions: "Add.",
            tools: ["test.add@1"]
          })
        ],
        tools: [tool({ namespace: "test", name: "add", side_effects: "none" }, () => 2)],
        model: ScriptedModelGateway.layer([call("add", {}), text("two")]),
        observe: { record: true }
      })
      try {
        const sent = await troupe.send({ agent: "adder", text: "add" })
        let records: ReadonlyArray<CallRecord> = []
        for (let tries = 0; tries < 500 && records.length === 0; tries++) {
          await new Promise((resolve) => setTimeout(resolve, 2))
          records = await troupe.records(sent.run)
        }
        assert.deepEqual(
          records.map(({ outcome, tool_name }) => [tool_name, outcome]),
          [["add", { _tag: "Value", json: "2" }]]
        )
        const after = records.at(-1)!.key
        assert.deepEqual(await troupe.records(sent.run, { after }), [])
      } finally {
        await troupe.stop()
      }
    })
  )

  it.live("gives up a write that takes too long, and continues with the next", () =>
    Effect.gen(function* () {
      const { records, service } = yield* kept
      let writes = 0
      const slow: CallRecords["Service"] = {
        ...service,
        store: (all) => (writes++ === 0 ? Effect.never : service.store(all))
      }
      const recorder = yield* CallRecorder.make(Effect.succeed(slow))
      recorder.observe(factOf(1))
      for (let tries = 0; tries < 500 && recorder.counts().lost === 0; tries++) {
        yield* Effect.sleep(1)
      }
      recorder.observe(factOf(2))
      yield* recorder.stop(5_000)
      assert.deepEqual(
        records.map(({ call_id }) => call_id),
        [CallId.make("0/1.2")]
      )
      assert.deepEqual(recorder.counts(), { stored: 1, dropped: 0, lost: 1 })
    }).pipe(configured({ write_ms: 20 }))
  )
})
