/** `recall`, `remember` and `correct` on a real runtime: who is asked, what is stored, and what goes back to the model. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as MemoryTools from "../../layers/builtin/MemoryHandlers.ts"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as BuiltinTools from "../../layers/compose/assembly/BuiltinTools.ts"
import * as Runtime from "../../layers/compose/assembly/Runtime.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import * as GatewayAgentMemory from "../../layers/memory/GatewayAgentMemory.ts"
import { call, layer as scripted, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import type { Script } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { handlerEffect } from "../../layers/runtime/tool/HandlerEffect.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { StoreError } from "../../services/StoreError.ts"
import { AgentSpec } from "../../src/agent/AgentSpec.ts"
import type { Json } from "../../src/value/Canonical.ts"
import { CanonicalText } from "../../src/memory/CanonicalText.ts"
import { MemoryId } from "../../src/memory/MemoryRow.ts"
import { MemorySpec } from "../../src/memory/MemoryAnchors.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import { memoryOf, newRun } from "../memory/Addresses.ts"
import { idOf } from "../memory/Rows.ts"
import * as H from "../runtime/Harness.ts"
import { contextOf } from "../tool/CallContexts.ts"

type Call = readonly [tool: string, args: Json]

const agent = AgentSpec.make({
  name: H.agentName,
  instructions: "Remember what you are told.",
  tools: ["recall", "remember", "correct"],
  memory: MemorySpec.make({ recall_tokens_max: 0 })
})

/** A message lists the calls that the model makes, one after another. */
const script: Script = ({ transcript }) => {
  const [first, ...rest] = transcript
  const calls = JSON.parse(first?.role === "user" ? first.text : "[]") as ReadonlyArray<Call>
  const next = calls[rest.filter(({ role }) => role === "tool").length]
  return next === undefined ? text("ok") : call(...next)
}

const over = <A, E, R>(runtime: Layer.Layer<A, E, R>) =>
  runtime.pipe(
    Layer.provide(ActorMemories.layer(GatewayAgentMemory.layer)),
    Layer.provideMerge(scripted(script)),
    Layer.provideMerge(EphemeralStores.layer)
  )

const asking = over(Runtime.layer({ agents: [agent], tools: [MemoryTools.tools] }))
/** Nobody is asked: a configuration allows the writes. */
const allowing = over(
  Runtime.layer({
    agents: [agent],
    tools: [],
    resolved: [
      BuiltinTools.tools(
        ["recall", "remember", "correct"].map((name) => ({
          type: "builtin" as const,
          name,
          permission: "allow" as const
        }))
      )
    ]
  })
)

const run = Effect.fnUntraced(function* (...calls: ReadonlyArray<Call>) {
  const id = yield* H.send(JSON.stringify(calls))
  return yield* H.ended(id)
})

const resultsOf = (events: ReadonlyArray<RunEvent>): ReadonlyArray<unknown> =>
  H.settled(events).map(({ outcome }) =>
    outcome._tag === "Value" ? JSON.parse(outcome.json) : outcome
  )

interface Noted {
  readonly id: string
  readonly text: string
}
const notedIn = (events: ReadonlyArray<RunEvent>) => resultsOf(events)[0] as Noted

const place = { tenant: H.tenant, agent: H.agentName, tier: "persistent" } as const
const rows = MemoryStore.use((store) =>
  store.list({ ...place, anchor: `workspace/${H.tenant}` }, { limit: 10, all: true })
)

const failure = (reason: string, name = "ToolUserError") => ({
  _tag: "Failed",
  error: { class: name, reason }
})
const failureOf = (result: unknown) => {
  const { _tag, error } = result as {
    readonly _tag: string
    readonly error: Record<string, string>
  }
  return { _tag, error: { class: error["class"], reason: error["reason"] } }
}

describe("the tools of memory", () => {
  it.effect("a fact that one run remembers and another corrects is recalled as it is now", () =>
    Effect.gen(function* () {
      const { id } = notedIn(yield* run(["remember", { text: "Olga prefers tea" }]))
      const corrected = yield* run(
        [
          "correct",
          { id, was: "Olga prefers tea", text: "Olga prefers coffee", reason: "She said so" }
        ],
        ["recall", { query: "What does Olga prefer?" }]
      )
      const [now, recalled] = resultsOf(corrected) as [Noted, ReadonlyArray<Noted>]
      assert.deepStrictEqual(
        recalled.map((each) => [each.id, each.text]),
        [[now.id, "Olga prefers coffee"]]
      )
      assert.isFalse(corrected.some(({ _tag }) => _tag === "ApprovalRequested"))
    }).pipe(Effect.provide(allowing))
  )

  it.effect("the journal says who corrected which memory, what it said, and why", () =>
    Effect.gen(function* () {
      const { id } = notedIn(yield* run(["remember", { text: "Olga prefers tea" }]))
      yield* run([
        "correct",
        { id, was: "Olga prefers tea", text: "Olga prefers coffee", reason: "She said so" }
      ])
      const [row] = yield* rows
      const { call: made, run: of } = row!.provenance
      // Row and journal find each other by the run and the call.
      const history = (yield* H.events(of!)).flatMap((event) => {
        if (event._tag === "RunAccepted") return [event.by]
        if (event._tag === "ModelTurned") {
          return event.calls.map((each) => each.arguments)
        }
        return event._tag === "CallSettled" && event.call === made ? resultsOf([event]) : []
      })
      assert.deepStrictEqual(history, [
        "alice",
        { id, was: "Olga prefers tea", text: "Olga prefers coffee", reason: "She said so" },
        {
          id: row!.id,
          text: "Olga prefers coffee",
          superseded: { id, text: "Olga prefers tea" }
        }
      ])
    }).pipe(Effect.provide(allowing))
  )

  it.effect("the same call in one run stores a fact once", () =>
    Effect.gen(function* () {
      const same: Call = ["remember", { text: "Olga prefers tea" }]
      const events = yield* run(same, same, ["remember", { text: "olga prefers the Tea." }])
      assert.lengthOf(new Set(resultsOf(events).map((each) => (each as Noted).id)), 1)
      const [row, ...more] = yield* rows
      assert.deepStrictEqual(more, [])
      assert.deepInclude(row, { text: "Olga prefers tea", seen: 2 })
    }).pipe(Effect.provide(allowing))
  )

  it.effect("a person is asked about each write, and a refused one stores nothing", () =>
    Effect.gen(function* () {
      const answer = Effect.fnUntraced(function* (made: Call, decision: typeof H.approve) {
        const id = yield* H.send(JSON.stringify([made]))
        const asked = yield* H.question(id)
        yield* H.decide(asked.approval, decision)
        return yield* H.ended(id)
      })
      const fact: Call = ["remember", { text: "Olga prefers tea" }]
      assert.deepInclude(resultsOf(yield* answer(fact, H.deny))[0], { _tag: "Denied" })
      assert.deepStrictEqual(yield* rows, [])
      const { id } = notedIn(yield* answer(fact, H.approve))
      const change: Call = [
        "correct",
        { id, was: "Olga prefers tea", text: "Olga prefers coffee", reason: "She said so" }
      ]
      assert.deepInclude(resultsOf(yield* answer(change, H.deny))[0], { _tag: "Denied" })
      assert.deepStrictEqual(
        (yield* rows).map((row) => row.text),
        ["Olga prefers tea"]
      )
      // Nobody is asked to read, nor about a memory that is not there, or that no store could hold.
      yield* MemoryStore.use((store) => store.undo({ ...place, id: MemoryId.make(id) }, "ada"))
      const changeOf = (of: string): Call => [
        "correct",
        { id: of, was: "Olga prefers tea", text: "Olga is away", reason: "A guess" }
      ]
      const events = yield* run(["recall", { query: "Olga" }], changeOf(idOf(7)), changeOf(id), [
        "remember",
        { text: "x".repeat(4_001) }
      ])
      assert.strictEqual(H.count(events, "ApprovalRequested"), 0)
      const [, unknown, undone, long] = resultsOf(events)
      assert.deepStrictEqual(failureOf(unknown), failure("MEMORY_NOT_FOUND"))
      assert.deepStrictEqual(failureOf(undone), failure("MEMORY_NOT_FOUND"))
      assert.strictEqual(failureOf(long).error.class, "ToolUserError")
    }).pipe(Effect.provide(asking))
  )

  it.effect(
    "what cannot be stored goes back to the model with its class, its code and the fix",
    () =>
      Effect.gen(function* () {
        const law = "No refund is paid later than thirty days after the order, whoever asks for it."
        yield* MemoryStore.use((store) =>
          store.register(
            CanonicalText.make({
              tenant: H.tenant,
              place: `workspace/${H.tenant}`,
              name: "law",
              text: law
            })
          )
        )
        const { id } = notedIn(yield* run(["remember", { text: "Olga prefers tea" }]))
        const [reason, was] = ["She said so", "Olga prefers tea"]
        const events = yield* run(
          ["correct", { id, was: "Paul prefers tea", text: "Olga prefers coffee", reason }],
          ["correct", { id, was, text: "Olga prefers coffee", reason }],
          ["correct", { id, was, text: "Olga prefers milk", reason }],
          ["correct", { id: idOf(7), was, text: "Olga prefers milk", reason }],
          ["remember", { text: "x".repeat(4_001) }],
          ["remember", { text: " " }],
          ["remember", { text: law }]
        )
        const [other, now, late, unknown, long, blank, copy] = resultsOf(events)
        assert.deepStrictEqual(failureOf(other), failure("MEMORY_DIFFERS"))
        assert.include(JSON.stringify(other), was)
        assert.deepStrictEqual(failureOf(late), failure("MEMORY_SUPERSEDED"))
        assert.include(JSON.stringify(late), (now as Noted).id)
        assert.deepStrictEqual(failureOf(unknown), failure("MEMORY_NOT_FOUND"))
        assert.strictEqual(failureOf(long).error.class, "ToolUserError")
        assert.include(JSON.stringify(long), "4000")
        assert.deepStrictEqual(failureOf(blank), failure("MEMORY_INVALID"))
        assert.deepStrictEqual(failureOf(copy), failure("MEMORY_CANONICAL", "ToolPolicyError"))
        assert.lengthOf(yield* rows, 2)
      }).pipe(Effect.provide(allowing))
  )

  it.effect(
    "a call that is sent again after a crash is the same one; a store that is away, a passing failure",
    () =>
      Effect.gen(function* () {
        const [, remember, correct] = yield* MemoryTools.tools
        const memory = yield* memoryOf({ tenant: H.tenant, agent: H.agentName })
        const of = (key: string) => contextOf({ run: newRun(), call: "0/1.0" as never, key })
        const send = (
          handler: NonNullable<typeof remember>["handler"],
          args: unknown,
          key: string
        ) => Effect.provideService(handlerEffect(handler, args, of(key)), AgentMemory, memory)
        const noting = send(remember!.handler, { text: "Olga prefers tea" }, "k-1")
        const first = (yield* noting) as Noted
        assert.deepStrictEqual(yield* noting, first)
        const change = {
          id: first.id,
          was: first.text,
          text: "Olga prefers coffee",
          reason: "She said so"
        }
        const correcting = send(correct!.handler, change, "k-2")
        const second = yield* correcting
        assert.deepStrictEqual(yield* correcting, second)
        assert.deepStrictEqual(
          (yield* rows).map(({ seen }) => seen),
          [1, 1]
        )
        const away = {
          ...memory,
          remember: () => Effect.fail(new StoreError({ message: "at 10.0.0.1" }))
        }
        const failed = yield* Effect.flip(
          Effect.provideService(
            handlerEffect(remember!.handler, { text: "Paul is away" }, of("k-3")),
            AgentMemory,
            away
          )
        )
        assert.deepInclude(failed, { _tag: "ToolTransientError", reason: "STORE_UNAVAILABLE" })
        assert.notInclude(JSON.stringify(failed), "10.0.0.1")
      }).pipe(Effect.provide(EphemeralStores.layer))
  )
})
