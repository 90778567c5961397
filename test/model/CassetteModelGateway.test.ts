/**
 * A recording and its replay: the same turns for the same requests, and an error where the requests differ.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, FileSystem, Fiber, Layer, Redacted } from "effect"
import * as CassetteModelGateway from "../../layers/model/tape/CassetteModelGateway.ts"
import { Cassette } from "../../layers/model/tape/CassetteModelGateway.ts"
import { fileTape, memoryTape } from "../../layers/model/tape/CassetteTape.ts"
import type { Tape } from "../../layers/model/tape/CassetteTape.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import { call, fails, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { ModelDelta, ModelRequest } from "../../services/ModelGateway.ts"
import type { TranscriptEntry } from "../../src/conversation/Transcript.ts"
import { CallId, FrameId, RunId } from "../../src/value/Ids.ts"
import { request } from "./Gateway.ts"

const digest = NodeCrypto.layerDigest

const record = (
  tape: Tape,
  script: ScriptedModelGateway.Script,
  options?: CassetteModelGateway.RecordOptions
) =>
  CassetteModelGateway.recording(Effect.succeed(tape), options).pipe(
    Layer.provide(ScriptedModelGateway.layer(script)),
    Layer.provide(digest)
  )

const replay = (tape: Tape) =>
  CassetteModelGateway.layer(Effect.succeed(tape)).pipe(Layer.provide(digest))

const turn = (over: Partial<ModelRequest> = {}, sink: (delta: ModelDelta) => void = () => {}) =>
  ModelGateway.use((gateway) => gateway.turn(request(over), sink))

const user: TranscriptEntry = { role: "user", text: "find a" }
const asked: TranscriptEntry = {
  role: "assistant",
  text: "",
  calls: [{ model_id: "call_0", name: "search", arguments: { q: "a" } }]
}
const result = (json: string): TranscriptEntry => ({
  role: "tool",
  call: CallId.make("0/1.0"),
  model_id: "call_0",
  name: "search",
  outcome: { _tag: "Value", json }
})

const script = [
  call(
    "search",
    { q: "a" },
    { reasoning: [{ text: "hm", provider: { acme: { signature: "s" } } }] }
  ),
  text("It is x.", { usage: { input_tokens: 3, output_tokens: 2 }, model: "m-1" }),
  fails("refused", "no more")
]
const steps: ReadonlyArray<Partial<ModelRequest>> = [
  { transcript: [user] },
  { step: 2, transcript: [user, asked, result('"x"')] },
  { step: 3, transcript: [user, asked, result('"x"')] }
]

const all = Effect.forEach(steps, (over) => Effect.result(turn(over)))

describe("CassetteModelGateway", () => {
  it.effect("SG-26 replays the same turns and errors without a call of the model", () =>
    Effect.gen(function* () {
      const tape = memoryTape()
      const live = yield* Effect.provide(all, record(tape, script))
      const deltas: Array<ModelDelta> = []
      const again = yield* Effect.gen(function* () {
        const turns = yield* Effect.forEach(steps, (over) =>
          Effect.result(
            turn({ ...over, run: RunId.make("00000000-0000-4000-8000-000000000009") }, (delta) =>
              deltas.push(delta)
            )
          )
        )
        yield* Cassette.use((cassette) => cassette.assertComplete)
        assert.strictEqual(yield* Cassette.use((cassette) => cassette.turns), 3)
        return turns
      }).pipe(Effect.provide(replay(tape)))
      assert.deepStrictEqual(again, live)
      assert.deepStrictEqual(deltas, [
        { kind: "reasoning", text: "hm", offset: 0 },
        { kind: "text", text: "It is x.", offset: 0 }
      ])
      const first = JSON.parse((yield* tape.lines)[0]!) as Record<string, unknown>
      assert.containsAllKeys(first, [
        "step_id",
        "node_name",
        "input_hash",
        "output",
        "model_id",
        "prompt_hash",
        "wall_clock_ts"
      ])
      assert.deepInclude((first["calls"] as ReadonlyArray<object>)[0], { tool_name: "search" })
    })
  )

  it.effect(
    "SG-27 fails at the first request that differs from the recorded one, and names the difference",
    () =>
      Effect.gen(function* () {
        const changes: ReadonlyArray<readonly [over: Partial<ModelRequest>, differs: string]> = [
          [{ system: "You are verbose." }, "system"],
          [{ model: "another" }, "model"],
          [{ settings: { temperature: 1 } }, "settings"],
          [{ tools: [{ name: "x", description: "", input_schema: {} }] }, "tools"],
          [{ history: [user] }, "history"],
          [{ transcript: [user, asked, result('"y"')] }, "transcript"]
        ]
        const tape = memoryTape()
        yield* Effect.provide(all, record(tape, script))
        for (const [over, differs] of changes) {
          yield* Effect.gen(function* () {
            yield* turn(steps[0])
            const failure = yield* Effect.flip(turn({ ...steps[1], ...over }))
            assert.deepStrictEqual(
              [failure.kind, failure.reason],
              ["configuration", "cassette_diverged"]
            )
            assert.strictEqual(
              failure.message,
              `step 2 of operations:0 is not as it was recorded: ${differs} differ`
            )
            const diverged = yield* Effect.flip(Cassette.use((cassette) => cassette.assertComplete))
            assert(diverged._tag === "CassetteDiverged")
            assert.deepStrictEqual([diverged.step_id, diverged.differs], [2, [differs]])
          }).pipe(Effect.provide(replay(tape)))
        }
      })
  )

  it.effect("fails where nothing is recorded, and lists the turns that a replay did not use", () =>
    Effect.gen(function* () {
      const tape = memoryTape()
      yield* Effect.provide(all, record(tape, script))
      yield* Effect.gen(function* () {
        yield* turn(steps[0])
        const left = yield* Effect.flip(Cassette.use((cassette) => cassette.assertComplete))
        assert(left._tag === "CassetteLeft")
        assert.deepStrictEqual(left.left, ["step 2 of operations:0", "step 3 of operations:0"])
        const beyond = yield* Effect.flip(turn({ ...steps[0], frame: FrameId.make("0/1.0") }))
        assert.include(beyond.message, "nothing is recorded for step 1 of operations:0/1.0")
      }).pipe(Effect.provide(replay(tape)))
    })
  )

  it.effect("gives each of several runs its own turns, in whatever order they request them", () =>
    Effect.gen(function* () {
      const tape = memoryTape()
      const runs = ["a", "b", "c"].map((said) => ({
        transcript: [{ role: "user", text: said } as const]
      }))
      const answers = (each: ModelRequest) => {
        const [first] = each.transcript
        return text(first?.role === "user" ? `to ${first.text}` : "")
      }
      yield* Effect.provide(
        Effect.forEach(runs, (over) => turn(over)),
        record(tape, answers)
      )
      const again = yield* Effect.forEach(runs.toReversed(), (over) => turn(over)).pipe(
        Effect.provide(replay(tape))
      )
      assert.deepStrictEqual(
        again.map((each) => each.text),
        ["to c", "to b", "to a"]
      )
    })
  )

  it.effect("digests a transcript that grows in place as if it were a new one", () =>
    Effect.gen(function* () {
      const tape = memoryTape()
      const growing: Array<TranscriptEntry> = [user]
      yield* Effect.gen(function* () {
        yield* turn({ transcript: growing })
        growing.push(asked, result('"x"'))
        yield* turn({ step: 2, transcript: growing })
      }).pipe(Effect.provide(record(tape, script)))
      yield* Effect.gen(function* () {
        yield* turn(steps[0])
        yield* turn(steps[1])
        yield* Cassette.use((cassette) => cassette.assertComplete)
      }).pipe(Effect.provide(replay(tape)))
    })
  )

  it.effect("holds no prompt and no secret, and replays turns whose secrets were redacted", () =>
    Effect.gen(function* () {
      const tape = memoryTape()
      const secret = 'hunter2"quoted'
      const said = [text(`the key is ${secret}`), text("thanks")]
      yield* Effect.gen(function* () {
        yield* turn({ system: "a prompt of our own" })
        const entry = { role: "assistant", text: said[0]!.text, calls: [] } as const
        yield* turn({ step: 2, transcript: [user, entry] })
      }).pipe(Effect.provide(record(tape, said, { secrets: [Redacted.make(secret)] })))
      const whole = (yield* tape.lines).join("\n")
      assert.notInclude(whole, "hunter2")
      assert.notInclude(whole, "a prompt of our own")
      yield* Effect.gen(function* () {
        const first = yield* turn({ system: "a prompt of our own" })
        assert.strictEqual(first.text, "the key is [hidden]")
        const entry = { role: "assistant", text: first.text, calls: [] } as const
        assert.strictEqual((yield* turn({ step: 2, transcript: [user, entry] })).text, "thanks")
      }).pipe(Effect.provide(replay(tape)))
    })
  )

  it.effect("records no turn that was interrupted, and fails when it is full", () =>
    Effect.gen(function* () {
      const tape = memoryTape()
      const begun = yield* Deferred.make<void>()
      const waits = Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)
      yield* Effect.gen(function* () {
        const fiber = yield* Effect.forkChild(turn())
        yield* Deferred.await(begun)
        yield* Fiber.interrupt(fiber)
        assert.lengthOf(yield* tape.lines, 0)
        yield* turn({ step: 2 })
        const full = yield* Effect.flip(turn({ step: 3 }))
        assert.strictEqual(full.reason, "cassette_full")
        assert.lengthOf(yield* tape.lines, 1)
      }).pipe(Effect.provide(record(tape, [waits, text("a"), text("b")], { turns_max: 2 })))
    })
  )

  it.effect(
    "refuses a file that is no recording, with the line, and refuses to record into one that holds a recording",
    () =>
      Effect.gen(function* () {
        const tape = memoryTape()
        yield* Effect.provide(turn(), record(tape, [text("a")]))
        const [line] = yield* tape.lines
        for (const [lines, part] of [
          [[line!, "{}"], "line 2"],
          [[line!.slice(0, 40)], "line 1"],
          [[line!.replace('"v":1', '"v":2')], "line 1"]
        ] as const) {
          const failure = yield* Effect.flip(Effect.provide(turn(), replay(memoryTape(lines))))
          assert.strictEqual(failure._tag, "CassetteUnreadable")
          assert.include(failure.message, part)
        }
        const failure = yield* Effect.flip(Effect.provide(turn(), record(tape, [text("b")])))
        assert.strictEqual(failure.message, "the tape holds a recording already")
      })
  )

  it.live("keeps a recording in a file, which another process replays", () =>
    Effect.gen(function* () {
      const files = yield* FileSystem.FileSystem
      const path = `${yield* files.makeTempDirectoryScoped()}/turns.jsonl`
      const crowd = Array.from({ length: 20 }, (_, n) => ({ step: n + 1 }))
      const tape = yield* fileTape(path)
      yield* Effect.forEach(crowd, (over) => turn(over), { concurrency: "unbounded" }).pipe(
        Effect.provide(record(tape, (each) => text(`at ${each.step}`)))
      )
      assert.lengthOf((yield* files.readFileString(path)).trimEnd().split("\n"), 20)
      const again = yield* Effect.forEach(crowd, (over) => turn(over)).pipe(
        Effect.provide(replay(yield* fileTape(path)))
      )
      assert.strictEqual(again[19]?.text, "at 20")
      const nowhere = yield* fileTape(`${path}.d/not/there`)
      const absent = yield* Effect.flip(Effect.provide(turn(), replay(nowhere)))
      assert.include(
        absent.message,
        "operations:0: the recording is empty, or its file is not there"
      )
      const failure = yield* Effect.flip(Effect.provide(turn(), record(nowhere, [text("a")])))
      assert.strictEqual(failure._tag, "ModelError")
      assert.notInclude(failure.message, path)
    }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))
  )
})
