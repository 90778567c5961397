/** Memories that are no longer true, on each store: what replaces them, and what is refused. */
import type { Vitest } from "@effect/vitest"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import type { AgentMemory } from "../../services/AgentMemory.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import type { MemoryId } from "../../src/memory/MemoryRow.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "../sql/Engines.ts"
import { byEvent, byModel, memoryOf, newRun } from "./Addresses.ts"
import { idOf } from "./Rows.ts"

type Memory = AgentMemory["Service"]

const textsOf = (rows: ReadonlyArray<{ readonly text: string }>) => rows.map(({ text }) => text)
const told = (memory: Memory, text: string, run = newRun()) =>
  Effect.map(memory.recall({ text, tokens_max: 500, run }), ({ lines }) => textsOf(lines))
const fact = (text: string) => ({ text, tier: "persistent" }) as const

const chains = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("a recall gives the new text alone; the history has both, with who and when", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      const old = yield* memory.remember({ ...fact("Olga prefers tea"), subject: "Olga" }, byEvent)
      const given = { text: "She prefers coffee", supersedes: old.row.id }
      const { row, superseded } = yield* memory.remember(given, byModel(run))
      assert.strictEqual(superseded?.text, "Olga prefers tea")
      // The tier and the subject are those of the row that is replaced.
      assert.deepInclude(row, { tier: "persistent", subject: "Olga", supersedes: old.row.id })
      assert.deepStrictEqual(yield* told(memory, "prefers"), ["She prefers coffee"])
      const all = yield* memory.list("persistent", { limit: 10, all: true })
      assert.deepStrictEqual(
        all.map(({ provenance, superseded_by, text }) => [text, provenance, superseded_by]),
        [
          ["She prefers coffee", byModel(run), undefined],
          ["Olga prefers tea", byEvent, row.id]
        ]
      )
      assert.isTrue(all.every(({ at }) => Number.isSafeInteger(at)))
    })
  )

  it.effect("a row that supersedes is recalled in the other's place, until it is undone", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const tea = yield* memory.remember({ text: "Olga likes tea", tier: "persistent" }, byEvent)
      const coffee = yield* memory.remember(
        { text: "Olga likes tea no more", tier: "persistent", supersedes: tea.row.id },
        byEvent
      )
      const told = Effect.map(memory.recall({ text: "Olga tea", tokens_max: 500 }), ({ lines }) =>
        textsOf(lines)
      )
      assert.deepStrictEqual(yield* told, ["Olga likes tea no more"])
      yield* memory.undo(coffee.row.id, "ada")
      assert.deepStrictEqual(yield* told, ["Olga likes tea"])
    })
  )

  it.effect("every row that says the same fact is replaced, in its own tier, and no other", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      yield* memory.remember({ text: "Olga likes tea" }, byModel(run))
      const kept = yield* memory.remember(fact("Olga really likes tea"), byModel(run))
      yield* memory.remember(fact("Paul likes tea"), byModel(run))
      const supersedes = kept.row.id
      yield* memory.remember({ text: "Olga likes coffee", supersedes }, byModel(run))
      assert.sameMembers(yield* told(memory, "who likes tea?", run), [
        "Olga likes coffee",
        "Paul likes tea"
      ])
      const [own] = yield* memory.list("interaction", { limit: 10 }, run)
      assert.deepInclude(own, { text: "Olga likes coffee", typology: "episodic" })
    })
  )

  it.effect(
    "what another conversation noted before a correction does not come back as it ends",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const [one, other, late] = yield* Effect.all([
          memoryOf({ tenant }),
          memoryOf({ tenant }),
          memoryOf({ tenant })
        ])
        const noted = (memory: Memory, text: string) =>
          memory.remember({ text, tier: "session" }, byModel(newRun()))
        yield* noted(other, "Olga likes tea")
        yield* noted(other, "Olga has a dog")
        const { row: tea } = yield* one.remember(fact("Olga really likes tea"), byEvent)
        yield* Effect.sleep(2)
        const milk = { text: "Olga likes milk", supersedes: tea.id }
        const { row } = yield* one.remember(milk, byEvent)
        yield* Effect.sleep(2)
        yield* one.remember({ text: "Olga likes coffee", supersedes: row.id }, byEvent)
        yield* other.endConversation
        assert.sameMembers(yield* told(one, "what does Olga like?"), [
          "Olga likes coffee",
          "Olga has a dog"
        ])
        // Who says it again after the correction is believed.
        yield* Effect.sleep(2)
        yield* noted(late, "Olga likes tea")
        yield* late.endConversation
        assert.include(yield* told(one, "what does Olga like?"), "Olga likes tea")
      })
  )

  it.effect("a text that another row says already replaces the named row all the same", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const wrong = yield* memory.remember(fact("Olga likes coffee"), byEvent)
      yield* memory.remember(fact("Olga likes tea"), byEvent)
      const supersedes = wrong.row.id
      yield* memory.remember({ text: "Olga likes tea", supersedes }, byModel(newRun()))
      assert.deepStrictEqual(yield* told(memory, "Olga"), ["Olga likes tea"])
    })
  )

  it.effect("a correction that is sent again with its key is the same one", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const { row } = yield* memory.remember(fact("Olga likes tea"), byEvent)
      const key = Samples.unique("key")
      const send = memory.remember({ text: "Olga likes coffee", supersedes: row.id, key }, byEvent)
      const all = yield* Effect.all([send, send, send], { concurrency: "unbounded" })
      assert.lengthOf(new Set(all.map((each) => each.row.id)), 1)
      assert.strictEqual((yield* send).row.id, all[0].row.id)
      assert.lengthOf(yield* memory.list("persistent", { limit: 10, all: true }), 2)
      const other = { text: "Olga likes milk", supersedes: all[0].row.id, key }
      const taken = yield* Effect.flip(memory.remember(other, byEvent))
      assert.deepInclude(taken, { _tag: "MemoryRefused", reason: "invalid" })
    })
  )

  it.effect("a note that is sent again with its key is stored once, and counted once", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const note = { ...fact("Olga likes tea"), key: Samples.unique("key") }
      const [first, again] = yield* Effect.replicateEffect(memory.remember(note, byEvent), 2)
      assert.strictEqual(again?.row.id, first?.row.id)
      const rows = yield* memory.list("persistent", { limit: 10 })
      assert.deepStrictEqual(
        rows.map(({ seen }) => seen),
        [1]
      )
    })
  )
}

const refusals = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("a row that has a successor is refused with the successor's id", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const { row } = yield* memory.remember(fact("Olga likes tea"), byEvent)
      const correct = (text: string) =>
        memory.remember({ text, supersedes: row.id }, byModel(newRun()))
      // Of several at once one is stored, and the others learn of it.
      const results = yield* Effect.forEach(
        ["Olga likes coffee", "Olga likes milk", "Olga likes water"],
        (text) => Effect.result(correct(text)),
        { concurrency: "unbounded" }
      )
      const [stored, ...more] = results.flatMap((each) =>
        each._tag === "Success" ? [each.success.row.id] : []
      )
      assert.deepStrictEqual(more, [])
      for (const each of results) {
        if (each._tag === "Success") continue
        assert.deepInclude(each.failure, { reason: "superseded", superseded_by: stored! })
      }
      const late = yield* Effect.flip(correct("Olga likes beer"))
      assert.deepInclude(late, { reason: "superseded", superseded_by: stored! })
      assert.include(late.message, stored!)
      assert.deepStrictEqual((yield* memory.get(row.id))?.superseded_by, stored)
    })
  )

  it.effect(
    "SA-02 SA-34 a row of another place, tenant, agent or run is refused as one that never was",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const at = (key: string) => memoryOf({ tenant, key, kind: "operator" })
        const olga = yield* at("olga:t1")
        const run = newRun()
        const { row } = yield* olga.remember(fact("The rotation is due"), byEvent)
        const own = yield* olga.remember({ text: "The rotation failed" }, byModel(run))
        const talk = { text: "The rotation was asked for", tier: "session" } as const
        const said = yield* olga.remember(talk, byEvent)
        yield* olga.undo(said.row.id, "olga")
        const correct = (memory: Memory, supersedes: MemoryId) =>
          Effect.flip(memory.remember({ text: "Nothing is due", supersedes }, byModel(newRun())))
        const unknown = yield* correct(olga, idOf(7))
        assert.deepInclude(unknown, { _tag: "MemoryRefused", reason: "superseded" })
        for (const [memory, id] of [
          [yield* at("paul:t1"), row.id],
          [yield* memoryOf({ key: "olga:t1", kind: "operator" }), row.id],
          [yield* memoryOf({ tenant, key: "olga:t1", kind: "operator", agent: "other" }), row.id],
          [olga, own.row.id],
          [olga, said.row.id],
          [olga, "7" as MemoryId]
        ] as const) {
          assert.deepStrictEqual({ ...(yield* correct(memory, id)) }, { ...unknown })
          if (memory !== olga) assert.isUndefined(yield* memory.get(id))
        }
        assert.deepStrictEqual(textsOf(yield* olga.list("persistent", { limit: 9, all: true })), [
          "The rotation is due"
        ])
      })
  )
}

const tests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  chains(it)
  refusals(it)
}

layer(EphemeralMemoryStore.layer, { excludeTestServices: true })("superseding (ephemeral)", tests)
onEngines("superseding", tests)
