/** A replay of a run whose instructions and tools depended on its context. */
import { assert, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { agent } from "../../src/agent/DeclaredAgent.ts"
import * as H from "../runtime/Harness.ts"

const told = (greeting: string, offers: boolean) =>
  agent({
    name: "told",
    context: Schema.Struct({ name: Schema.String, key: Schema.RedactedFromValue(Schema.String) }),
    instructions: ({ context }) => `${greeting}, ${context.name}.`,
    tools: { look: true, write: () => offers }
  })

const tools: H.Options["tools"] = {
  look: { governance: { side_effects: "read" }, body: Effect.succeed },
  write: { governance: { side_effects: "write", permission: "allow" }, body: Effect.succeed }
}

it.live("gives what it gave, and a function that gives something else is a difference", () => {
  const options: H.Options = {
    tools,
    agents: [told("Hello", false)],
    script: [call("look", { n: 1 }), call("write", { n: 2 }), text("done")]
  }
  return Effect.gen(function* () {
    const context = { name: "Ann", key: "k" }
    const message = { agent: told("Hello", false).name, text: "hi", context }
    const { task } = yield* AgentRuntime.use((runtime) => runtime.send(message, H.alice))
    const all = yield* H.ended(task.id, task.conversation)
    const reasons = H.settled(all).map(({ outcome }) =>
      outcome._tag === "Failed" ? outcome.error.reason : outcome._tag
    )
    assert.deepStrictEqual(reasons, ["Value", "NOT_OFFERED"])
    const replayed = (as: ReturnType<typeof told>) =>
      Effect.gen(function* () {
        const app = { agents: [as], tools: [H.toolsOf(tools)] }
        const { changed, gate } = yield* Replay.replay(task.id, { app })
        const divergence = typeof gate === "string" ? assert.fail(gate) : gate.divergence
        return { divergence, isChanged: changed?.definition }
      })
    assert.deepStrictEqual(yield* replayed(told("Hello", false)), {
      divergence: undefined,
      isChanged: false
    })
    for (const other of [told("Good day", false), told("Hello", true)]) {
      const { divergence } = yield* replayed(other)
      assert.strictEqual(divergence?.what, "the model said, or was given, something else")
    }
  }).pipe(Effect.provide(H.layer(options)))
})
