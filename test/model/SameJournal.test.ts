/**
 * The promise of the port: the journal does not depend on the gateway behind it.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import * as CassetteModelGateway from "../../layers/model/tape/CassetteModelGateway.ts"
import { Cassette } from "../../layers/model/tape/CassetteModelGateway.ts"
import { memoryTape } from "../../layers/model/tape/CassetteTape.ts"
import * as LanguageModelGateway from "../../layers/model/providers/LanguageModelGateway.ts"
import { gatewayOf } from "../../layers/model/plan/ModelPlan.ts"
import * as ModelFromEnv from "../../layers/model/providers/ModelFromEnv.ts"
import * as ResilientModelGateway from "../../layers/model/plan/ResilientModelGateway.ts"
import * as ScriptedModelGateway from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Turn } from "../../src/run/RunDecider.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { finish, say, serve, stream, think, tool, usage } from "./ChatServer.ts"
import { environment, key } from "./Gateway.ts"
import * as Spoken from "./ScriptedLanguageModel.ts"
import { journal, turns, wireTools } from "./SameJournal.ts"
import { body, pieces } from "./Wires.ts"
import { compatible, wires } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"

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

/** The live gateway against a server of the test over a socket. */
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

describe("the journal of a run with any model gateway", () => {
  it.live("has the scripted run's parallel calls, an error and an answer", () =>
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

  it.live("SG-28 is the same with a recorder, and in the recording's replay", () =>
    Effect.gen(function* () {
      const expected = yield* journal(scripted)
      const tape = memoryTape()
      const recorded = CassetteModelGateway.recording(Effect.succeed(tape)).pipe(
        Layer.provide(scripted),
        Layer.provide(NodeCrypto.layerDigest)
      )
      assert.deepStrictEqual(yield* journal(recorded), expected)
      const context = yield* Layer.build(
        CassetteModelGateway.layer(Effect.succeed(tape)).pipe(Layer.provide(NodeCrypto.layerDigest))
      )
      const replayed = yield* journal(Layer.succeedContext(context))
      assert.deepStrictEqual(replayed, expected)
      yield* Effect.provide(
        Cassette.use((cassette) => cassette.assertComplete),
        context
      )
    }).pipe(Effect.scoped)
  )

  it.live("is the same with an effect/ai LanguageModel of the same turns", () =>
    Effect.gen(function* () {
      const { asked, layer } = Spoken.languageModel(...turns.map(Spoken.turnParts))
      const gateway = LanguageModelGateway.layer({
        origin: "openaiCompatible.chat:wire-model"
      }).pipe(Layer.provide(layer))
      assert.deepStrictEqual(yield* journal(gateway), yield* journal(scripted))
      assert.lengthOf(asked, turns.length)
    })
  )

  for (const bytes of [undefined, 7]) {
    it.live(`is the same with a live model on the wire, in pieces of ${bytes ?? "any"} bytes`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* journal(live(bytes)), yield* journal(scripted))
      }).pipe(Effect.scoped)
    )
  }

  it.live("shows neither failed attempts nor the change to another model", () =>
    Effect.gen(function* () {
      const failing = ScriptedModelGateway.layer(() =>
        ScriptedModelGateway.fails("transient", "busy")
      )
      const plan = Effect.gen(function* () {
        const bad = yield* gatewayOf(failing)
        const good = yield* gatewayOf(scripted)
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

const stop = { id: "msg_2", type: "message", role: "assistant", status: "completed" }
const usages = { input_tokens: 5, output_tokens: 2 }

/** A last answer on each wire. */
const last: Readonly<Record<Wire["provider"], ReadonlyArray<object>>> = {
  "openai-compatible": [say("Done."), finish("stop")] as ReadonlyArray<object>,
  openai: [say("Done."), finish("stop")] as ReadonlyArray<object>,
  anthropic: [
    {
      type: "message_start",
      message: {
        id: "m",
        type: "message",
        role: "assistant",
        model: "m-1",
        content: [],
        usage: usages
      }
    },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Done." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
    { type: "message_stop" }
  ],
  google: [
    {
      candidates: [
        { content: { role: "model", parts: [{ text: "Done." }] }, index: 0, finishReason: "STOP" }
      ]
    }
  ],
  "openai-responses": [
    { type: "response.created", response: { id: "r", created_at: 1, model: "m-1" } },
    { type: "response.output_item.added", output_index: 0, item: { ...stop, content: [] } },
    {
      type: "response.output_text.delta",
      item_id: stop.id,
      output_index: 0,
      content_index: 0,
      delta: "Done."
    },
    {
      type: "response.output_item.done",
      output_index: 0,
      item: { ...stop, content: [{ type: "output_text", text: "Done.", annotations: [] }] }
    },
    {
      type: "response.completed",
      response: { id: "r", created_at: 1, model: "m-1", usage: usages }
    }
  ]
}

/** The live gateway against a server with this wire. */
const onWire = (wire: Wire) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const server = yield* serve(
        [wire.streamed, last[wire.provider]].map((events) => pieces(body(wire, events), [64]))
      )
      const chosen = yield* Effect.provide(
        ModelFromEnv.choose(),
        environment({
          TROUPE_MODEL_PROVIDER: wire.provider,
          TROUPE_MODEL_BASE_URL: new URL(wire.base, server.base_url).href,
          TROUPE_MODEL: "wire-model",
          TROUPE_MODEL_API_KEY: key
        })
      )
      return Option.getOrThrow(chosen).layer
    })
  )

const turned = (events: ReadonlyArray<unknown>): ReadonlyArray<Turn> =>
  (events as ReadonlyArray<RunEvent>).flatMap((event) => {
    if (event._tag !== "ModelTurned") return []
    const { _tag, frame: _frame, step: _step, ...turn } = event
    return [turn]
  })

for (const wire of wires) {
  describe(`the journal of a turn of ${wire.provider}`, () => {
    it.live("is the same from its wire, from a script, and from a recording", () =>
      Effect.gen(function* () {
        const tape = memoryTape()
        const recorded = CassetteModelGateway.recording(Effect.succeed(tape)).pipe(
          Layer.provide(onWire(wire)),
          Layer.provide(NodeCrypto.layerDigest)
        )
        const expected = yield* journal(recorded, wireTools)
        const turns = turned(expected)
        assert.deepStrictEqual(turns[0], wire.turn)
        assert.strictEqual(turns[1]?.text, "Done.")
        assert.include(JSON.stringify(expected), "Three is too large.")
        const script = ScriptedModelGateway.layer(turns)
        assert.deepStrictEqual(yield* journal(script, wireTools), expected)
        const replay = CassetteModelGateway.layer(Effect.succeed(tape)).pipe(
          Layer.provide(NodeCrypto.layerDigest)
        )
        assert.deepStrictEqual(yield* journal(replay, wireTools), expected)
        // effect/ai has no parts for a provider's own ones.
        if (wire === compatible) return
        const { layer } = Spoken.languageModel(...turns.map(Spoken.turnParts))
        const origin = turns[0]?.origin
        const general = LanguageModelGateway.layer(origin === undefined ? {} : { origin })
        assert.deepStrictEqual(yield* journal(Layer.provide(general, layer), wireTools), expected)
      }).pipe(Effect.scoped)
    )
  })
}
