/** A run with files, replayed: its message has them, a tool attached one, and a model made one. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { ConversationId } from "../../src/value/Ids.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { call, calls, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import * as H from "../runtime/Harness.ts"
import { reads } from "../runtime/Harness.ts"

const image = { type: "image", media_type: "image/png" } as const
const bytes = (text: string) => new TextEncoder().encode(text)
const base64 = (text: string) => Buffer.from(text).toString("base64")

const draw = (side_effects: "none" | "read") =>
  reads(
    (_, { attach }) =>
      Effect.as(
        Effect.promise(() => attach({ ...image, data: bytes("drawn") })),
        "ok"
      ),
    { side_effects }
  )

const options: H.Options = {
  tools: { pure: draw("none"), draw: draw("read") },
  script: [
    call("pure", { n: 1 }),
    call("draw", { n: 1 }),
    text("", { generated: [{ ...image, data: base64("made") }] })
  ]
}
const app: Replay.App<unknown, never> = {
  agents: H.agentsOf(options),
  tools: [H.toolsOf(options.tools ?? {})]
}

it.live(
  "a run with files is replayed without a difference, and another model is shown the same files",
  () =>
    Effect.gen(function* () {
      const runtime = yield* AgentRuntime
      const parts = [{ ...image, data: bytes("sent") }]
      const conversation = ConversationId.make("c-1")
      const message = { agent: H.agentName, conversation, text: "", parts }
      const { task } = yield* runtime.send(message, H.alice)
      yield* H.ended(task.id)
      const same = yield* Replay.replay(task.id, { app })
      assert.isUndefined(same.divergence)
      if (typeof same.gate === "string") return assert.fail(same.gate)
      assert.isUndefined(same.gate.divergence)
      const requests: Array<ModelRequest> = []
      const other = yield* Replay.replay(task.id, {
        app,
        model: {
          turn: (request) => {
            requests.push(request)
            // Of the second nothing was recorded: its body runs, and what it attaches is kept nowhere.
            const both = calls([call("draw", { n: 1 }), call("pure", { n: 2 })])
            return Effect.succeed(request.step === 1 ? both : text("seen"))
          }
        }
      })
      if (typeof other.gate === "string") return assert.fail(other.gate)
      assert.deepStrictEqual(
        other.gate.calls.map(({ how }) => how),
        ["replayed", "run"]
      )
      for (const { outcome } of H.settled(other.gate.entries.map(({ event }) => event))) {
        assert.strictEqual(outcome._tag, "Value")
      }
      const shown = [...(requests[1]?.files?.values() ?? [])]
      assert.sameMembers(shown, [base64("sent"), base64("drawn")])
    }).pipe(Effect.provide(H.layer(options)), Effect.scoped)
)
