import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { ToolUserError } from "../../src/error/ToolError.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { RunId as RunIds } from "../../src/value/Ids.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { ApprovalDesk } from "../../services/ApprovalDesk.ts"
import { Policy } from "../../src/permission/Policy.ts"
import type { ModelGateway, ModelRequest } from "../../services/ModelGateway.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as ReplayReport from "../../layers/runtime/replay/ReplayReport.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as Harness from "../runtime/Harness.ts"
import { approve, asks, deny, reads, writes } from "../runtime/Harness.ts"
import { RunReader } from "../../services/RunReader.ts"

/** A model that is not the recorded one. */
const model = (say: (request: ModelRequest) => Turn): ModelGateway["Service"] => ({
  turn: (request) => Exit.succeed(say(request))
})

/** Tools that count how often their bodies run. */
const counted = () => {
  const ran: Array<string> = []
  const did = (name: string) => (n: number) =>
    Effect.sync(() => {
      ran.push(`${name} ${n}`)
      return { n, at: ran.length }
    })
  return {
    ran,
    tools: {
      look: reads(did("look")),
      file: writes(did("file")),
      pay: asks(did("pay")),
      break: reads(() =>
        Effect.fail(
          new ToolUserError({ kind: "invalid_args", reason: "TOO_LARGE", message: "Too large." })
        )
      )
    }
  }
}

const appOf = (options: Harness.Options): Replay.App<unknown, never> => ({
  agents: Harness.agentsOf(options),
  tools: [
    Effect.map(Harness.toolsOf(options.tools ?? {}), (tools) =>
      tools.map(options.spied ?? ((is) => is))
    )
  ]
})

const throughGate = (report: Replay.Report) => {
  assert.isObject(report.gate)
  return report.gate as Exclude<Replay.Report["gate"], string>
}

const answered = Effect.fnUntraced(function* (run: RunId, nth: number, decision: never) {
  const { approval } = yield* Harness.question(run, nth)
  yield* Harness.decide(approval, decision)
})

const script: ReadonlyArray<Turn> = [
  calls([call("look", { n: 1 }), call("file", { n: 2 }), call("break", { n: 3 })]),
  calls([call("pay", { n: 4 }), call("pay", { n: 5 })]),
  call("look", { n: 1 }),
  text("Done.")
]

describe("a replay of a run", () => {
  it.live("SG-28 makes the same journal without a model, a tool or a person", () => {
    const { ran, tools } = counted()
    const options: Harness.Options = { tools, script }
    return Effect.gen(function* () {
      const run = yield* Harness.send("go")
      yield* answered(run, 1, approve as never)
      yield* answered(run, 2, deny as never)
      yield* Harness.ended(run)
      const before = ran.length
      const report = yield* Replay.replay(run, { app: appOf(options) })
      assert.isUndefined(report.divergence)
      assert.strictEqual(report.same, report.events)
      const gate = throughGate(report)
      assert.isUndefined(gate.divergence, JSON.stringify(gate.divergence))
      assert.strictEqual(ran.length, before)
      assert.strictEqual(gate.state.ended?.text, "Done.")
      assert.deepEqual(new Set(gate.calls.map(({ how }) => how)), new Set(["replayed"]))
      assert.deepEqual(
        report.decisions.map(({ by, decision, tool }) => [tool, decision, by]),
        [
          ["test.pay@1", "approve", "alice"],
          ["test.pay@1", "deny", "alice"]
        ]
      )
      assert.deepEqual(
        report.steps.map(({ step_id }) => step_id),
        ["0/1", "0/2", "0/3", "0/4"]
      )
      assert.lengthOf(yield* Harness.pending, 0)
    }).pipe(Effect.provide(Harness.layer(options)))
  })

  it.live("gives a client's call its recorded result, and asks no client", () => {
    const { ran, tools } = counted()
    const options: Harness.Options = {
      tools: { file: tools.file },
      script: [call("file", { n: 2 }), text("Filed.")],
      spied: (tool) => ({ ...tool, client: { expires_ms: 60_000 } })
    }
    return Effect.gen(function* () {
      const run = yield* Harness.send("go")
      yield* Harness.happened(run, "ClientRequested")
      const requested = (yield* Harness.events(run)).find(
        (event) => event._tag === "ClientRequested"
      )
      yield* ApprovalDesk.use((desk) =>
        desk.answer(requested!.approval, { result: "filed" }, Harness.alice)
      )
      yield* Harness.ended(run)
      const report = yield* Replay.replay(run, { app: appOf(options) })
      assert.isUndefined(report.divergence)
      const gate = throughGate(report)
      assert.isUndefined(gate.divergence, JSON.stringify(gate.divergence))
      assert.strictEqual(gate.state.ended?.text, "Filed.")
      assert.deepEqual(
        gate.calls.map(({ how }) => how),
        ["replayed"]
      )
      assert.deepEqual(ran, [])
    }).pipe(Effect.provide(Harness.layer(options)))
  })

  it.live(
    "gives another model the recorded results, and runs only the tools that it may run",
    () => {
      const { ran, tools } = counted()
      const options: Harness.Options = { tools, script: [call("file", { n: 2 }), text("Filed.")] }
      return Effect.gen(function* () {
        const run = yield* Harness.send("go")
        yield* Harness.ended(run)
        assert.deepEqual(ran, ["file 2"])
        const other = model(({ step }) =>
          step === 1
            ? calls([call("file", { n: 2 }), call("look", { n: 9 })])
            : text("Also looked.")
        )
        const report = yield* Replay.replay(run, { app: appOf(options), model: other })
        const gate = throughGate(report)
        // A write is given again and never done again; a read that was not recorded is done.
        assert.deepEqual(ran, ["file 2", "look 9"])
        assert.deepEqual(gate.calls.map(({ how, tool }) => `${tool} ${how}`).sort(), [
          "test.file@1 replayed",
          "test.look@1 run"
        ])
        assert.strictEqual(gate.state.ended?.text, "Also looked.")
        assert.strictEqual(gate.divergence?.step, "0/1")
        assert.deepInclude(gate.divergence?.expected as object, { text: "" })
      }).pipe(Effect.provide(Harness.layer(options)))
    }
  )

  it.live("SG-16 ends where another model proposes a write that was not recorded", () => {
    const { ran, tools } = counted()
    const options: Harness.Options = { tools, script: [call("file", { n: 2 }), text("Filed.")] }
    return Effect.gen(function* () {
      const run = yield* Harness.send("go")
      yield* Harness.ended(run)
      const other = model(() => call("file", { n: 3 }))
      const report = yield* Replay.replay(run, { app: appOf(options), model: other })
      const gate = throughGate(report)
      assert.deepEqual(ran, ["file 2"])
      assert.deepEqual(
        gate.calls.map(({ how }) => how),
        ["no_recording"]
      )
      assert.deepInclude(gate.state.ended, { status: "failed", reason: "replay_no_recording" })
      const asking = model(() => call("pay", { n: 3 }))
      const asked = throughGate(yield* Replay.replay(run, { app: appOf(options), model: asking }))
      assert.deepInclude(asked.state.ended, { status: "cancelled", reason: "nobody_is_asked" })
      assert.deepEqual(ran, ["file 2"])
    }).pipe(Effect.provide(Harness.layer(options)))
  })

  it.live("names the call at which the gate decides otherwise than it did", () => {
    const { tools } = counted()
    const options: Harness.Options = { tools, script: [call("file", { n: 2 }), text("Filed.")] }
    return Effect.gen(function* () {
      const run = yield* Harness.send("go")
      yield* Harness.ended(run)
      const changed = { ...options, tools: { ...tools, file: asks(tools.file.body) } }
      const asked = yield* Replay.replay(run, { app: appOf(changed) })
      assert.deepInclude(asked.changed, { tools: true, definition: false })
      const { divergence } = throughGate(asked)
      assert.strictEqual(divergence?.call, "0/1.0")
      assert.strictEqual(divergence?.step, "0/1")
      assert.isNull(divergence?.expected)
      assert.deepEqual(divergence?.got as unknown, {
        tool_key: "test.file@1",
        arguments: { n: 2 }
      })
      const loud = {
        ...options,
        tools: { ...tools, file: writes(tools.file.body, { replay_policy: "fail-loud" }) }
      }
      const failed = throughGate(yield* Replay.replay(run, { app: appOf(loud) }))
      assert.deepEqual(
        failed.calls.map(({ how }) => how),
        ["fail_loud"]
      )
      const refused = failed.entries.flatMap(({ event }) =>
        event._tag === "CallSettled" && event.outcome._tag === "Failed" ? [event.outcome.error] : []
      )
      assert.deepInclude(refused[0], { class: "ToolPolicyError", reason: "REPLAY_FAIL_LOUD" })
      assert.strictEqual(failed.divergence?.call, "0/1.0")
    }).pipe(Effect.provide(Harness.layer(options)))
  })

  it.live("replays a run that a person cancelled, up to that point", () => {
    const { tools } = counted()
    const options: Harness.Options = { tools, script: [call("pay", { n: 2 }), text("Never.")] }
    return Effect.gen(function* () {
      const run = yield* Harness.send("go")
      yield* Harness.question(run)
      const open = yield* Effect.flip(Replay.replay(run, { app: appOf(options) }))
      assert.deepInclude(open, { _tag: "RunStillOpen", status: "awaiting_approval" })
      yield* Harness.cancel(run)
      yield* Harness.ended(run)
      const report = yield* Replay.replay(run, { app: appOf(options) })
      assert.isUndefined(report.divergence)
      assert.deepEqual(
        report.decisions.map(({ decision }) => decision),
        ["cancelled"]
      )
      const { divergence, state } = throughGate(report)
      assert.isUndefined(divergence, JSON.stringify(divergence))
      assert.deepInclude(state.ended, { status: "cancelled", reason: "enough" })
    }).pipe(Effect.provide(Harness.layer(options)))
  })

  it.live(
    "refuses a run with more than it may hold, on which a policy is tried nevertheless",
    () => {
      const look = reads(() => Effect.succeed("x".repeat(300_000)))
      const pay = writes(() => Effect.succeed("paid"))
      const options: Harness.Options = {
        tools: { look, pay },
        script: [call("look", { n: 1 }), call("pay", { n: 2 }), text("Done.")]
      }
      return Effect.gen(function* () {
        const run = yield* Harness.send("go")
        yield* Harness.ended(run)
        const app = appOf(options)
        const large = yield* Effect.flip(Replay.replay(run, { app, units_max: 300_000 }))
        assert.deepInclude(large, { _tag: "RunTooLarge", run_id: run, units_max: 300_000 })
        assert.isUndefined((yield* Replay.replay(run, { app, units_max: 310_000 })).divergence)
        assert.deepInclude(yield* Replay.dryRun({ run }, app, Policy.make({ mode: "ask" })), {
          calls: 2,
          changed: 1
        })
        const recording = yield* ReplayReport.readRecording(yield* RunReader, run)
        assert.isBelow(JSON.stringify(recording?.entries).length, 50_000)
      }).pipe(Effect.provide(Harness.layer(options)))
    }
  )

  it.live("fails with RunNotFound for an unknown run", () =>
    Effect.gen(function* () {
      const run = RunIds.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")
      const error = yield* Effect.flip(Replay.replay(run))
      assert.deepInclude(error, { _tag: "RunNotFound", run_id: run })
    }).pipe(Effect.provide(Harness.layer({ script: [] })))
  )
})

describe("a fixture", () => {
  it.live("SG-27 fails at the step whose input differs, and runs where it is the same", () => {
    const { tools } = counted()
    const options: Harness.Options = { tools, script: [call("look", { n: 1 }), text("Seen.")] }
    return Effect.gen(function* () {
      const run = yield* Harness.send("go")
      yield* Harness.ended(run)
      const fixture = Replay.toFixture(yield* Replay.replay(run))
      const report = yield* Replay.runFixture(fixture)
      assert.lengthOf(report.steps, 2)
      for (const [field, value] of [
        ["input_hash", report.steps[1]!.input_hash],
        ["output_hash", report.steps[1]!.output_hash]
      ] as const) {
        const wrong = fixture.replace(value, "0".repeat(64))
        const error = yield* Effect.flip(Replay.runFixture(wrong))
        assert.deepInclude(error, {
          _tag: "FixtureDiverged",
          step: "0/2",
          expected: "0".repeat(64)
        })
        assert.include(error.message, field === "input_hash" ? "was given" : "said")
      }
      // A result that was changed by hand is seen by the turn that read it.
      const other = yield* Effect.flip(
        Replay.runFixture(fixture.replace(/\\"at\\":1/, '\\"at\\":2'))
      )
      assert.deepInclude(other, { _tag: "FixtureDiverged", step: "0/2" })
      const none = yield* Effect.flip(Replay.runFixture("{}"))
      assert.strictEqual(none._tag, "SchemaError")
    }).pipe(Effect.provide(Harness.layer(options)))
  })

  it.live("SG-26 names each step, its input, its turn and its calls", () => {
    const { tools } = counted()
    const options: Harness.Options = { tools, script: [call("look", { n: 1 }), text("Seen.")] }
    return Effect.gen(function* () {
      const run = yield* Harness.send("go")
      yield* Harness.ended(run)
      const { steps } = yield* Replay.replay(run)
      assert.hasAllKeys(steps[0], [
        "step_id",
        "node_name",
        "model_id",
        "input_hash",
        "output_hash",
        "calls",
        "wall_clock_ts"
      ])
      assert.strictEqual(steps[0]?.node_name, "tester:0")
      assert.deepEqual(
        steps.map(({ calls }) => calls.map(({ tool_name }) => tool_name)),
        [["look"], []]
      )
      assert.notStrictEqual(steps[0]?.input_hash, steps[1]?.input_hash)
    }).pipe(Effect.provide(Harness.layer(options)))
  })
})
