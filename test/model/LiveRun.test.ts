/**
 * A whole run with a live model over real HTTP: the turn is journaled as it came, its calls run, and the next request holds
 * it as the provider wants it; a run that is cancelled hangs up.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Layer, Option, Schema } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as ModelFromEnv from "../../layers/model/providers/ModelFromEnv.ts"
import * as H from "../runtime/Harness.ts"
import { error, serve, status } from "./ChatServer.ts"
import { environment, key } from "./Gateway.ts"
import { body, pieces, stalled } from "./Wires.ts"
import { anthropic, compatible, wires } from "./WireTurns.ts"
import type { Wire } from "./WireTurns.ts"

const parameters = { limit: Schema.optionalKey(Schema.Int), note: Schema.optionalKey(H.textField) }
const tools = {
  list: { ...H.reads(() => Effect.succeed("ok")), parameters },
  look: { ...H.reads(() => Effect.succeed("ok")), parameters }
}

/** A runtime whose model is the one that the environment names. */
const runtime = (wire: Wire, server: { readonly base_url: string }) =>
  Runtime.layer({
    agents: H.agentsOf({ tools, script: [], agent: { model_settings: { temperature: 0.5 } } }),
    tools: [H.toolsOf(tools)]
  }).pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provide(
      Layer.unwrap(
        Effect.map(
          ModelFromEnv.choose({ attempts_max: 1 }),
          (chosen) => Option.getOrThrow(chosen).layer
        )
      )
    ),
    Layer.provideMerge(EphemeralStores.layer),
    Layer.provide(
      environment({
        TROUPE_MODEL_PROVIDER: wire.provider,
        TROUPE_MODEL_BASE_URL: new URL(wire.base, server.base_url).href,
        TROUPE_MODEL: "wire-model",
        TROUPE_MODEL_API_KEY: key
      })
    )
  )

describe("a run with a live model", () => {
  for (const wire of wires) {
    it.live(`of ${wire.provider} journals the turn, runs its calls and sends both back`, () =>
      Effect.gen(function* () {
        const server = yield* serve([
          pieces(body(wire), [7]),
          status(400, error("that is enough for a test"))
        ])
        const events = yield* Effect.gen(function* () {
          return yield* H.ended(yield* H.send("what is stuck?"))
        }).pipe(Effect.provide(runtime(wire, server)))
        const turned = events.find((event) => event._tag === "ModelTurned")
        assert.deepStrictEqual(
          { ...turned } as unknown,
          { _tag: "ModelTurned", frame: "0", step: 1, ...wire.turn } as unknown
        )
        assert.strictEqual(H.count(events, "CallSettled"), 2)
        assert.strictEqual(server.asked.length, 2)
        assert.include(JSON.stringify(server.asked[0]!.body), "0.5")
        // The request begins with the agent's instructions and the user's words, as those of the other tests do.
        assert.deepStrictEqual(wire.sentBack(server.asked[1]!.body), wire.expected)
        assert.strictEqual(H.end(events)?.reason, "model_refused")
      }).pipe(Effect.scoped)
    )
  }

  it.live("runs no call whose stream was cut, and the model reads the reason", () =>
    Effect.gen(function* () {
      const message = {
        id: "msg",
        type: "message",
        role: "assistant",
        model: "claude",
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 3, output_tokens: 1 }
      }
      const said = (content_block: object, stop_reason: string) =>
        body(anthropic, [
          { type: "message_start", message },
          { type: "content_block_start", index: 0, content_block },
          { type: "content_block_stop", index: 0 },
          {
            type: "message_delta",
            delta: { stop_reason, stop_sequence: null },
            usage: { input_tokens: 3, output_tokens: 9 }
          },
          { type: "message_stop" }
        ])
      const look = { type: "tool_use", id: "c", name: "look", input: {} }
      const server = yield* serve([
        pieces(said(look, "max_tokens"), [7]),
        pieces(said({ type: "text", text: "Done." }, "end_turn"), [7])
      ])
      const events = yield* Effect.gen(function* () {
        return yield* H.ended(yield* H.send("look"))
      }).pipe(Effect.provide(runtime(anthropic, server)))
      const [settled] = H.settled(events)
      const outcome = settled?.outcome
      assert.strictEqual(outcome?._tag === "Failed" ? outcome.error.reason : "", "TURN_CUT")
      assert.include(JSON.stringify(server.asked[1]!.body), "the turn was cut")
    }).pipe(Effect.scoped)
  )

  it.live("ends as filtered after one request where the prompt was filtered", () =>
    Effect.gen(function* () {
      const moderated = {
        error: { code: 403, message: "flagged", metadata: { reasons: ["violence"] } }
      }
      const server = yield* serve([status(403, moderated)])
      const events = yield* Effect.gen(function* () {
        return yield* H.ended(yield* H.send("hello"))
      }).pipe(Effect.provide(runtime(compatible, server)))
      assert.deepInclude(H.end(events), {
        status: "failed",
        reason: "content_filtered",
        finish: "content_filter"
      })
      assert.strictEqual(server.asked.length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("closes the connection when it is cancelled in the middle of a turn", () =>
    Effect.gen(function* () {
      const begun = body({ ...anthropic, path: "" }, anthropic.streamed.slice(0, 4))
      const server = yield* serve([stalled(begun)])
      yield* Effect.gen(function* () {
        const run = yield* H.send("what is stuck?")
        yield* Deferred.await(server.begun)
        yield* H.cancel(run)
        yield* Deferred.await(server.hungUp)
        assert.strictEqual(H.end(yield* H.ended(run))?.status, "cancelled")
      }).pipe(Effect.provide(runtime(anthropic, server)))
    }).pipe(Effect.scoped)
  )
})
