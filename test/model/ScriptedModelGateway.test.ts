/**
 * What a scripted model returns, records and refuses.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import * as Testing from "../../layers/compose/entries/Testing.ts"
import {
  call,
  calls,
  fails,
  layer,
  ModelScript,
  text
} from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script, ScriptOptions } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelDelta, ModelRequest } from "../../services/ModelGateway.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { AgentName, FrameId, RunId } from "../../src/value/Ids.ts"

const request = (over: Partial<ModelRequest> = {}): ModelRequest => ({
  run: RunId.make("00000000-0000-4000-8000-000000000001"),
  agent: AgentName.make("operations"),
  frame: FrameId.make("0"),
  step: 1,
  model: undefined,
  system: "",
  history: [],
  transcript: [{ role: "user", text: "hello" }],
  tools: [],
  ...over
})

const silent = () => {}

const ask = (over?: Partial<ModelRequest>, sink: (delta: ModelDelta) => void = silent) =>
  ModelGateway.use((gateway) => gateway.turn(request(over), sink))

const scripted =
  (script: Script, options?: ScriptOptions) =>
  <A, E>(effect: Effect.Effect<A, E, ModelGateway | ModelScript>) =>
    Effect.provide(effect, layer(script, options))

const assertComplete = ModelScript.use((script) => script.assertComplete)

describe("ScriptedModelGateway", () => {
  it.effect("returns a list's turns in order and is complete after the last", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask()).calls[0]!.name, "list_dlq_events")
      assert.strictEqual((yield* ask({ step: 2 })).text, "done")
      yield* assertComplete
    }).pipe(scripted([call("list_dlq_events", { limit: 5 }), text("done")]))
  )

  it.effect(
    "has used a little in each turn that does not say what, as `troupe/testing` has it",
    () =>
      Effect.gen(function* () {
        const usage = { input_tokens: 7, output_tokens: 0 }
        const used = (options?: ScriptOptions) =>
          Effect.all([ask(), ask({ step: 2 })]).pipe(
            Effect.map((turns) => turns.map((turn) => turn.usage)),
            Effect.provide(Testing.scripted([text("a"), text("b", { usage })], options))
          )
        assert.deepStrictEqual(yield* used(), [Testing.usage_default, usage])
        assert.deepStrictEqual(yield* used({ usage: undefined }), [undefined, usage])
      })
  )

  it.effect("returns a turn without a delay as an Exit, with its deltas sent", () =>
    Effect.gen(function* () {
      const gateway = yield* ModelGateway
      const seen: Array<ModelDelta> = []
      const turn = gateway.turn(request(), (delta) => seen.push(delta))
      assert.isTrue(Exit.isExit(turn))
      assert.deepStrictEqual(seen, [{ kind: "text", text: "hello", offset: 0 }])
    }).pipe(scripted([text("hello")]))
  )

  it.effect("fails a request beyond the script, and names its agent, frame and step", () =>
    Effect.gen(function* () {
      yield* ask()
      const error = yield* Effect.flip(ask({ step: 2 }))
      assert.strictEqual(error._tag, "ModelError")
      assert.strictEqual(error.kind, "configuration")
      assert.include(error.message, "agent operations, frame 0, step 2")
      const mismatch = yield* Effect.flip(assertComplete)
      assert.deepStrictEqual(mismatch.beyond, ["agent operations, frame 0, step 2"])
      assert.deepStrictEqual(mismatch.left, [])
      assert.include(mismatch.message, "requested beyond the script")
    }).pipe(scripted([text("only")]))
  )

  it.effect("names the turns that were not requested", () =>
    Effect.gen(function* () {
      yield* ask()
      const mismatch = yield* Effect.flip(assertComplete)
      assert.deepStrictEqual(mismatch.left, ["turns 2 to 3 of 3"])
    }).pipe(scripted([text("a"), text("b"), text("c")]))
  )

  it.effect("uses a record's turns by frame, else by agent", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* ask({ frame: FrameId.make("0/1.0") })).text, "frame")
      assert.strictEqual((yield* ask()).text, "agent")
      assert.strictEqual(
        (yield* Effect.flip(ask({ agent: AgentName.make("x") }))).kind,
        "configuration"
      )
      const mismatch = yield* Effect.flip(assertComplete)
      assert.deepStrictEqual(mismatch.left, ["other: turns 1 to 1 of 1"])
    }).pipe(
      scripted({ operations: [text("agent")], "0/1.0": [text("frame")], other: [text("never")] })
    )
  )

  it.effect(
    "returns a function's same turn after a restart, since it gets only the request",
    () => {
      const script: Script = ({ transcript }) => text(`turn after ${transcript.length} entries`)
      const transcript: ReadonlyArray<TranscriptEntry> = [
        { role: "user", text: "a" },
        { role: "assistant", text: "b", calls: [] },
        { role: "user", text: "c" }
      ]
      const once = ask({ transcript })
      return Effect.gen(function* () {
        const before = yield* scripted(script)(Effect.andThen(ask(), once))
        const after = yield* scripted(script)(once)
        assert.strictEqual(before.text, "turn after 3 entries")
        assert.deepStrictEqual(after, before)
      })
    }
  )

  it.effect(
    "treats a function without a turn as the script's end, and one that throws as a defect",
    () =>
      Effect.gen(function* () {
        const nothing = yield* Effect.flip(scripted(() => undefined)(ask()))
        assert.strictEqual(nothing.kind, "configuration")
        const thrown = yield* Effect.exit(
          scripted(() => {
            throw new Error("a mistake in the script")
          })(ask())
        )
        assert.isTrue(Exit.hasDies(thrown))
      })
  )

  it.effect("fails as a provider does where the script says so", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(ask())
      assert.deepStrictEqual([error.kind, error.message], ["transient", "overloaded"])
      assert.strictEqual((yield* ask()).text, "better")
      yield* assertComplete
    }).pipe(scripted([fails("transient", "overloaded"), text("better")]))
  )

  it.effect("gives several calls of one turn ids of their own", () =>
    Effect.gen(function* () {
      const turn = yield* ask()
      assert.deepStrictEqual(turn.calls, [
        { model_id: "call_0", name: "a", arguments: { n: 1 } },
        { model_id: "call_1", name: "b", arguments: {} }
      ])
      assert.strictEqual(turn.finish, "tool_calls")
    }).pipe(scripted([calls([call("a", { n: 1 }), call("b")])]))
  )

  it.effect("sends text in deltas that cut no character and whose offsets add up", () =>
    Effect.gen(function* () {
      const seen: Array<ModelDelta> = []
      yield* ask({}, (delta) => seen.push(delta))
      const said = seen.filter((delta) => delta.kind === "text")
      assert.strictEqual(said.map((delta) => delta.text).join(""), "ab😀cd")
      assert.deepStrictEqual(
        said.map((delta) => delta.offset),
        [0, 2, 4]
      )
      assert.strictEqual(seen[0]!.kind, "reasoning")
    }).pipe(scripted([text("ab😀cd", { reasoning: [{ text: "hm" }] })], { piece_units: 2 }))
  )

  it.effect("waits before each delta where a delay is declared", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const fiber = yield* Effect.forkChild(
        ask({}, (delta) => seen.push(delta.text)),
        { startImmediately: true }
      )
      assert.deepStrictEqual(seen, [])
      yield* TestClock.adjust(10)
      assert.deepStrictEqual(seen, ["ab"])
      yield* TestClock.adjust(10)
      assert.strictEqual((yield* Fiber.join(fiber)).text, "abcd")
    }).pipe(scripted([text("abcd")], { piece_units: 2, piece_delay_ms: 10 }))
  )

  it.effect("keeps the newest requests as they were, up to a bound", () =>
    Effect.gen(function* () {
      const script = yield* ModelScript
      const transcript: Array<TranscriptEntry> = [{ role: "user", text: "first" }]
      for (let step = 1; step <= 50; step++) {
        yield* ask({ step, transcript })
        transcript.push({ role: "user", text: `more ${step}` })
      }
      const kept = yield* script.requests
      assert.deepStrictEqual(
        kept.map((each) => each.step),
        [48, 49, 50]
      )
      assert.deepStrictEqual(
        kept.map((each) => each.transcript.length),
        [48, 49, 50]
      )
      assert.strictEqual(yield* script.requestCount, 50)
    }).pipe(scripted(() => text("again"), { requests_max: 3 }))
  )
})
