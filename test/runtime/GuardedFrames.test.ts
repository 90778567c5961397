/** Guards where a run has more than one agent, and where a tool's result would be the answer. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import { agent as declaredAgent } from "../../src/agent/DeclaredAgent.ts"
import type { Guard } from "../../src/agent/Guard.ts"
import { AgentRuntime } from "../../services/AgentRuntime.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { guard, layer, masks, refuses, replayed, said } from "./GuardScenes.ts"
import { AgentName, ConversationId } from "../../src/value/Ids.ts"
import * as H from "./Harness.ts"

const alike = [undefined, undefined]
const tools = { pay: H.writes(() => Effect.succeed("paid 4111"), { stop_loop: true }) }
const helper = AgentSpec.make({ name: "helper", instructions: "Help.", tools: ["pay"] })

it.live(
  "what a specialist is told passes its own guards, and its answer those of its supervisor's results",
  () => {
    const options: H.Options = {
      tools,
      agent: { specialists: ["helper"] },
      agents: [helper],
      script: ({ agent, step }) =>
        agent === "helper"
          ? text("the code is 4111")
          : step === 1
            ? call("ask_helper", { task: "a bomb" })
            : step === 2
              ? call("ask_helper", { task: "the code" })
              : text("done")
    }
    return Effect.gen(function* () {
      const run = yield* H.send("a bomb and a code")
      const all = yield* H.ended(run)
      assert.deepStrictEqual(said(all), [
        "message words refuse no bomb here",
        "result cards pass",
        "message words pass",
        "result cards change masked"
      ])
      const shown = H.resultsShown((yield* H.requests).at(-1))
      assert.include(shown[0], "no bomb here")
      assert.include(shown[1], "the code is ***")
      assert.deepInclude(H.end(all), { status: "complete", text: "done" })
      assert.deepStrictEqual(yield* replayed(run, options), alike)
    }).pipe(
      Effect.provide(
        layer(
          options,
          guard("words", ["message"], refuses("bomb"), { agents: ["helper"] }),
          guard("cards", ["result"], masks("4111"), { agents: [H.agentName] })
        )
      )
    )
  }
)

it.live(
  "after a handoff the new agent's guards judge the message before it is read, and its answer",
  () => {
    const options: H.Options = {
      tools,
      agent: { handoffs: ["helper"] },
      agents: [helper],
      script: ({ agent, transcript: [message] }) =>
        agent === "helper"
          ? text(`4111 for ${message?.role === "user" ? message.text : ""}`)
          : call("transfer_to_helper", {})
    }
    return Effect.gen(function* () {
      const run = yield* H.send("4111")
      const all = yield* H.ended(run)
      assert.deepStrictEqual(said(all), [
        "message cards change masked",
        "answer cards change masked"
      ])
      assert.deepInclude(H.end(all), { status: "complete", text: "*** for ***" })
      assert.deepStrictEqual(yield* replayed(run, options), alike)
    }).pipe(
      Effect.provide(
        layer(options, guard("cards", ["message", "answer"], masks("4111"), { agents: ["helper"] }))
      )
    )
  }
)

it.live("a result that would be the answer goes to the model, whose answer is judged", () => {
  const options: H.Options = { tools, script: [call("pay", { n: 1 }), text("it is paid 4111")] }
  return Effect.gen(function* () {
    const run = yield* H.send("pay")
    const all = yield* H.ended(run)
    assert.deepInclude(H.end(all), { status: "complete", text: "it is paid ***" })
    assert.strictEqual(H.count(all, "CallDispatched"), 1)
    assert.deepStrictEqual(yield* replayed(run, options), alike)
  }).pipe(Effect.provide(layer(options, guard("cards", ["answer"], masks("4111")))))
})

it.live("a guard that observes answers leaves such a result the answer", () => {
  const options: H.Options = { tools, script: [call("pay", { n: 1 }), text("never")] }
  return Effect.gen(function* () {
    const all = yield* H.ended(yield* H.send("pay"))
    assert.deepInclude(H.end(all), { status: "complete", text: "paid 4111" })
  }).pipe(
    Effect.provide(layer(options, guard("cards", ["answer"], masks("4111"), { mode: "observe" })))
  )
})

describe("an agent's own guards", () => {
  const own = (name: string, ...guards: ReadonlyArray<Guard>) =>
    declaredAgent({ name, instructions: "Help.", tools: ["pay"], guards })
  const words = guard("words", ["message"], refuses("bomb"))
  const cards = guard("cards", ["message", "answer"], masks("4111"))

  it.live("judge it as a specialist, behind those of the start, and judge nobody else", () => {
    const options: H.Options = {
      tools,
      agent: { specialists: ["helper"] },
      agents: [own("helper", words, cards)],
      script: ({ agent, step, transcript: [message] }) =>
        agent === "helper"
          ? text(`4111 for ${message?.role === "user" ? message.text : ""}`)
          : step === 1
            ? call("ask_helper", { task: "a bomb" })
            : step === 2
              ? call("ask_helper", { task: "pay with 4111" })
              : text("4111 is no bomb")
    }
    return Effect.gen(function* () {
      const run = yield* H.send("a bomb, 4111")
      const all = yield* H.ended(run)
      assert.deepStrictEqual(said(all), [
        "message all pass",
        "message all pass",
        "message words refuse no bomb here",
        "message all pass",
        "message words pass",
        "message cards change masked",
        "answer cards change masked"
      ])
      assert.include(H.resultsShown((yield* H.requests).at(-1))[1], "*** for pay with ***")
      assert.deepInclude(H.end(all), { status: "complete", text: "4111 is no bomb" })
      assert.deepStrictEqual(yield* replayed(run, options), alike)
    }).pipe(
      Effect.provide(
        layer(
          options,
          guard("all", ["message"], () => ({ verdict: "pass" }))
        )
      )
    )
  })

  it.live("judge it after a handoff; one that both agents have judges a message once", () => {
    const front = AgentName.make("front")
    let judged = 0
    const shared = guard("shared", ["message"], () => {
      judged++
      return { verdict: "pass" }
    })
    const options: H.Options = {
      tools,
      agents: [
        declaredAgent({
          name: front,
          instructions: "Hand over.",
          handoffs: ["helper"],
          guards: [shared]
        }),
        own("helper", shared, cards)
      ],
      script: ({ agent }) =>
        agent === "helper" ? text("4111 is paid") : call("transfer_to_helper", {})
    }
    return Effect.gen(function* () {
      const { task } = yield* AgentRuntime.use((runtime) =>
        runtime.send(
          { agent: front, conversation: ConversationId.make("c-1"), text: "pay 4111" },
          H.alice
        )
      )
      const all = yield* H.ended(task.id)
      assert.deepStrictEqual(said(all), [
        "message shared pass",
        "message cards change masked",
        "answer cards change masked"
      ])
      assert.strictEqual(judged, 1)
      assert.deepInclude(H.end(all), { status: "complete", text: "*** is paid" })
      assert.deepStrictEqual(yield* replayed(task.id, options), alike)
    }).pipe(Effect.provide(layer(options)))
  })
})
