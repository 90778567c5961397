/**
 * The promise of the port: what answers behind it does not show in the journal.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as CassetteModelGateway from "../../layers/model/CassetteModelGateway.ts"
import { Cassette } from "../../layers/model/CassetteModelGateway.ts"
import { memoryTape } from "../../layers/model/CassetteTape.ts"
import * as LanguageModelGateway from "../../layers/model/LanguageModelGateway.ts"
import * as ModelFromEnv from "../../layers/model/ModelFromEnv.ts"
import * as ResilientModelGateway from "../../layers/model/ResilientModelGateway.ts"
import * as ScriptedModelGateway from "../../layers/model/ScriptedModelGateway.ts"
import { ModelGateway } from "../../services/ModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import { finish, say, serve, stream, think, tool, usage } from "./ChatServer.ts"
import { environment } from "./Gateway.ts"
import * as Spoken from "./ScriptedLanguageModel.ts"
import { journal, turns } from "./SameJournal.ts"

const scripted = ScriptedModelGateway.layer(turns)

/** The turn as chunks of the chat-completions wire. */
const chatEvents = (turn: Turn): ReadonlyArray<unknown> => [
  ...(turn.reasoning ?? []).map((part) => think(part.text)),
  ...(turn.text === "" ? [] : [say(turn.text.slice(0, 7)), say(turn.text.slice(7))]),
  ...turn.calls.flatMap((call, index) => {
    const text = JSON.stringify(call.arguments)
    return [
      tool(index, { id: call.model_id, name: call.name, arguments: text.slice(0, 2) }),
      tool(index, { arguments: text.slice(2) })
    ]
  }),
  finish(turn.finish),
  usage({
    prompt_tokens: turn.usage?.input_tokens,
    completion_tokens: turn.usage?.output_tokens,
    total_tokens: 0
  })
]

/** The turn as the parts of an effect/ai stream. */
const parts = (turn: Turn): Spoken.Parts => [
  ...Spoken.by(turn.model ?? ""),
  ...(turn.reasoning ?? []).flatMap((part, index) => Spoken.think(`r-${index}`, part.text)),
  ...(turn.text === "" ? [] : Spoken.say("t", turn.text.slice(0, 7), turn.text.slice(7))),
  ...turn.calls.flatMap((call) => Spoken.call(call.model_id, call.name, call.arguments)),
  Spoken.finish(
    turn.finish === "tool_calls" ? "tool-calls" : "stop",
    Spoken.usage(turn.usage?.input_tokens ?? 0, turn.usage?.output_tokens ?? 0)
  )
]

/** The live gateway, asking a server of the test over a socket. */
const live = (bytes?: number) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* serve(
        turns.map((turn) => stream(chatEvents(turn), bytes === undefined ? {} : { bytes }))
      )
      const chosen = yield* Effect.provide(
        ModelFromEnv.choose(),
        environment({ TROUPE_MODEL_BASE_URL: server.base_url, TROUPE_MODEL: "wire-model" })
      )
      return Option.getOrThrow(chosen).layer
    })
  )

describe("one journal, whatever answers", () => {
  it.live("the scripted run says what it is meant to: parallel calls, an error, an answer", () =>
    Effect.gen(function* () {
      const events = yield* journal(scripted)
      const tags = events.map((event) => (event as { readonly _tag: string })._tag)
      assert.strictEqual(
        tags.join(" "),
        "RunAccepted RunClaimed ModelTurned CallSettled CallSettled CallSettled " +
          "ModelTurned CallSettled ModelTurned RunEnded"
      )
      const text = JSON.stringify(events)
      assert.include(text, "Three is too large.")
      assert.include(text, "three may break")
    })
  )

  it.live(
    "SG-28 a recorded run and its replay have the journal of the run without a recorder",
    () =>
      Effect.gen(function* () {
        const expected = yield* journal(scripted)
        const tape = memoryTape()
        const recorded = CassetteModelGateway.recording(Effect.succeed(tape)).pipe(
          Layer.provide(scripted),
          Layer.provide(NodeCrypto.layerDigest)
        )
        assert.deepStrictEqual(yield* journal(recorded), expected)
        const context = yield* Layer.build(
          CassetteModelGateway.layer(Effect.succeed(tape)).pipe(
            Layer.provide(NodeCrypto.layerDigest)
          )
        )
        const replayed = yield* journal(Layer.succeedContext(context))
        assert.deepStrictEqual(replayed, expected)
        yield* Effect.provide(
          Cassette.use((cassette) => cassette.assertComplete),
          context
        )
      }).pipe(Effect.scoped)
  )

  it.live("an effect/ai LanguageModel that says the same has the same journal", () =>
    Effect.gen(function* () {
      const { asked, layer } = Spoken.languageModel(...turns.map(parts))
      const gateway = LanguageModelGateway.layer({
        origin: "openaiCompatible.chat:wire-model"
      }).pipe(Layer.provide(layer))
      assert.deepStrictEqual(yield* journal(gateway), yield* journal(scripted))
      assert.lengthOf(asked, turns.length)
    })
  )

  for (const bytes of [undefined, 7]) {
    it.live(`a live model on the wire has it too, in pieces of ${bytes ?? "any"} bytes`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* journal(live(bytes)), yield* journal(scripted))
      }).pipe(Effect.scoped)
    )
  }

  it.live("failures below and a model that takes over leave no trace in it", () =>
    Effect.gen(function* () {
      const failing = ScriptedModelGateway.layer(() =>
        ScriptedModelGateway.fails("transient", "busy")
      )
      const plan = Effect.gen(function* () {
        const bad = yield* Effect.provide(ModelGateway, failing)
        const good = yield* Effect.provide(ModelGateway, scripted)
        return {
          models: [
            { name: "bad", provider: "one", gateway: bad },
            { name: "good", provider: "two", gateway: good }
          ],
          retry: { backoff_initial_ms: 1 }
        }
      })
      const resilient = ResilientModelGateway.layer(plan)
      assert.deepStrictEqual(yield* journal(resilient), yield* journal(scripted))
    })
  )
})
