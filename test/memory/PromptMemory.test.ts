/** What a run is told of its agent's memory: journaled before its first turn, and the same for every later one. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import * as ActorMemories from "../../layers/compose/assembly/ActorMemories.ts"
import * as Replay from "../../layers/compose/entries/Replay.ts"
import * as EphemeralStores from "../../layers/ephemeral/EphemeralStores.ts"
import { call, text } from "../../layers/model/tape/ScriptedModelGateway.ts"
import { AgentMemory } from "../../services/AgentMemory.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import type { ModelRequest } from "../../services/ModelGateway.ts"
import { StoreError } from "../../services/StoreError.ts"
import { CallId } from "../../src/value/Ids.ts"
import { CanonicalText } from "../../src/memory/CanonicalText.ts"
import type { MemoryId } from "../../src/memory/MemoryRow.ts"
import { originOfCall } from "../../src/memory/MemoryRow.ts"
import { MemorySpec } from "../../src/memory/MemoryAnchors.ts"
import type { RunEvent } from "../../src/run/RunEvent.ts"
import * as H from "../runtime/Harness.ts"

const told: ReadonlyArray<string> = ["Olga of the north prefers tea", "Paul has a red chair"]

/** Tools that remember one of the texts for good, note that they were called, and undo what was remembered. */
const tools = {
  keep: H.writes((n, context) =>
    AgentMemory.use((memory) =>
      Effect.map(
        Effect.orDie(
          memory.remember({ text: told[n - 1]!, tier: "persistent" }, originOfCall(context))
        ),
        ({ row }) => row.id
      )
    )
  ),
  note: H.writes((n, context) =>
    AgentMemory.use((memory) =>
      Effect.as(
        Effect.all([
          Effect.orDie(memory.remember({ text: `call ${n} was made` }, originOfCall(context))),
          Effect.orDie(
            memory.remember({ text: `Order ${n} was sent` }, originOfCall(context, "model"))
          )
        ]),
        null
      )
    )
  )
} satisfies Record<string, H.TestTool>

/** A message `keep 1` has the model call that tool once, and then say "ok"; any other is answered. */
const script = ({ transcript }: ModelRequest) => {
  const [first] = transcript
  const [name = "", n] = first?.role === "user" ? first.text.split(" ") : []
  return name in tools && transcript.length === 1 ? call(name, { n: Number(n) }) : text("ok")
}

const optionsOf = (memory: Partial<MemorySpec> | undefined, more: Partial<H.Options> = {}) => ({
  tools,
  script,
  ...more,
  agent: memory === undefined ? undefined : { memory: MemorySpec.make(memory) }
})

const say = Effect.fnUntraced(function* (message: string, conversation = "c-1") {
  const run = yield* H.send(message, conversation)
  return { run, events: yield* H.ended(run, conversation) }
})

const recalledIn = (events: ReadonlyArray<RunEvent>) =>
  events.find((event) => event._tag === "MemoryRecalled")

const memoryShown = ({ history }: Pick<ModelRequest, "history">) =>
  history.filter((entry) => entry.role === "user" && entry.text.includes("[memory "))

describe("the memory of a prompt", () => {
  it.effect(
    "a run is told once what its message brings to mind, and each turn has the same lines",
    () =>
      Effect.gen(function* () {
        yield* say("keep 1")
        yield* say("keep 2")
        const { events } = yield* say("note 7 of Olga's tea", "c-2")
        const recalled = recalledIn(events)
        assert.deepStrictEqual(
          recalled?.lines.map((line) => [line.text, line.tier, line.author, line.step]),
          [[told[0], "persistent", "tool", 1]]
        )
        assert.strictEqual(H.count(events, "MemoryRecalled"), 1)
        const order = events.map(({ _tag }) => _tag)
        assert.isBelow(order.indexOf("MemoryRecalled"), order.indexOf("ModelTurned"))
        const [first, second] = (yield* H.requests).slice(-2)
        const [line] = memoryShown(first!)
        assert.include(line?.role === "user" ? line.text : "", told[0]!)
        assert.deepStrictEqual(second!.history, first!.history)
        assert.deepStrictEqual(first!.transcript.slice(0, 1), [
          { role: "user", text: "note 7 of Olga's tea" }
        ])
      }).pipe(Effect.provide(H.layer(optionsOf({}))))
  )

  it.effect("a later run is not shown what an earlier one was told", () =>
    Effect.gen(function* () {
      yield* say("keep 1")
      yield* say("Olga and tea")
      yield* say("red chair")
      const request = (yield* H.requests).at(-1)!
      assert.isAbove(request.history.length, 2)
      assert.lengthOf(memoryShown(request), 0)
    }).pipe(Effect.provide(H.layer(optionsOf({}))))
  )

  it.effect(
    "the lines stay within their tokens; with 0, or without `memory`, nothing is asked",
    () =>
      Effect.gen(function* () {
        for (const [memory, lines] of [
          [{ recall_tokens_max: 60 }, 0],
          [{ recall_tokens_max: 0 }, undefined],
          [undefined, undefined]
        ] as const) {
          yield* Effect.gen(function* () {
            yield* say("keep 1")
            const { events } = yield* say("Olga and tea", "c-2")
            assert.strictEqual(recalledIn(events)?.lines.length, lines)
            assert.lengthOf(memoryShown((yield* H.requests).at(-1)!), 0)
          }).pipe(Effect.provide(Layer.fresh(H.layer(optionsOf(memory)))))
        }
      })
  )

  it.effect(
    "where the store of memories is away, the run goes on without, and its journal says why",
    () => {
      const away = () => Effect.fail(new StoreError({ message: "the store is away" }))
      const memories = ActorMemories.layer(() =>
        Layer.succeed(
          AgentMemory,
          AgentMemory.of({
            remember: away,
            recall: away,
            get: away,
            list: away,
            undo: away,
            endRun: away,
            endConversation: away()
          })
        )
      )
      return Effect.gen(function* () {
        const { events } = yield* say("Olga and tea")
        assert.deepInclude(recalledIn(events), { lines: [], failure: "the store is away" })
        assert.deepInclude(H.end(events), { status: "complete", text: "ok" })
      }).pipe(Effect.provide(H.layer(optionsOf({}, { memories }))))
    }
  )

  it.effect(
    "a restart and a replay have the lines of the journal, whatever became of the memories",
    () =>
      Effect.gen(function* () {
        const all = { ...tools, pay: H.asks(() => Effect.succeed(null)) }
        const paying = (request: ModelRequest) =>
          request.transcript.length === 1 && !memoryShown(request).length
            ? script(request)
            : request.transcript.length === 1
              ? call("pay", { n: 1 })
              : text("ok")
        const options = { ...optionsOf({}), tools: all, script: paying }
        const first = yield* H.boot(options)
        const kept = yield* first.run(say("keep 1"))
        const run = yield* first.run(H.send("Olga and tea", "c-2"))
        yield* first.run(H.question(run, 1, "c-2"))
        yield* first.stop
        const outcome = H.outcome(kept.events)
        const id = JSON.parse(outcome?._tag === "Value" ? outcome.json : "null") as MemoryId
        const store = yield* MemoryStore
        yield* store.undo({ tenant: H.tenant, agent: H.agentName, id }, "ada")
        const second = yield* H.boot(options)
        const [asked] = yield* second.run(H.pending)
        yield* second.run(H.decide(asked!.id, H.approve))
        const events = yield* second.run(H.ended(run, "c-2"))
        assert.strictEqual(H.count(events, "MemoryRecalled"), 1)
        const request = (yield* second.run(H.requests)).at(-1)!
        assert.lengthOf(memoryShown(request), 1)
        const app = { agents: H.agentsOf(options), tools: [H.toolsOf(all)] }
        const report = yield* second.run(Replay.replay(run, { app }))
        const gate = report.gate
        if (typeof gate === "string") return assert.fail(gate)
        assert.isUndefined(gate.divergence)
        const later = yield* second.run(say("Olga and tea", "c-3"))
        assert.deepStrictEqual(recalledIn(later.events)?.lines, [])
      }).pipe(Effect.scoped, Effect.provide(EphemeralStores.layer))
  )
})

describe("the memory of a run", () => {
  it.effect(
    "SA-36 SA-37 at its end what the model chose goes to the conversation, and calls' own notes go",
    () =>
      Effect.gen(function* () {
        const { run } = yield* say("note 7")
        const store = yield* MemoryStore
        const scope = { tenant: H.tenant, agent: H.agentName }
        const left = yield* store.list({ ...scope, tier: "interaction", anchor: run }, { limit: 9 })
        assert.deepStrictEqual(left, [])
        const rows = yield* store.list({ ...scope, tier: "session", anchor: "c-1" }, { limit: 9 })
        assert.deepStrictEqual(
          rows.map(({ provenance, text }) => ({ text, ...provenance })),
          [
            {
              text: "Order 7 was sent",
              source: "tool_call",
              author: "model",
              run,
              step: 1,
              call: CallId.make("0/1.0")
            }
          ]
        )
      }).pipe(Effect.provide(H.layer(optionsOf(undefined))))
  )

  it.effect("ST-51 ST-52 a result may hold a canonical text, and a memory of it may not", () => {
    const rule = "No refund is paid later than thirty days after the order, whoever asks for it."
    const refused: Array<string> = []
    const read = H.reads((_, context) =>
      AgentMemory.use((memory) =>
        Effect.match(memory.remember({ text: rule }, originOfCall(context)), {
          onFailure: (error) => {
            refused.push(error._tag === "MemoryRefused" ? error.reason : error.message)
            return { rule }
          },
          onSuccess: () => null
        })
      )
    )
    return Effect.gen(function* () {
      const store = yield* MemoryStore
      const place = { tenant: H.tenant, place: `workspace/${H.tenant}` }
      yield* store.register(CanonicalText.make({ ...place, name: "rule 7", text: rule }))
      const { events } = yield* say("hello")
      assert.deepStrictEqual(H.outcome(events), { _tag: "Value", json: JSON.stringify({ rule }) })
      assert.deepStrictEqual(refused, ["canonical"])
    }).pipe(
      Effect.provide(
        H.layer({
          tools: { read },
          script: ({ transcript }) =>
            transcript.length === 1 ? call("read", { n: 1 }) : text("ok")
        })
      )
    )
  })
})
