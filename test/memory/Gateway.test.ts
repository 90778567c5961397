/** The gateway of an address, on each store: what it refuses, counts, recalls, passes on and drops. */
import type { Vitest } from "@effect/vitest"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit, Tracer } from "effect"
import * as EphemeralMemoryStore from "../../layers/ephemeral/EphemeralMemoryStore.ts"
import type { AgentMemory, Note } from "../../services/AgentMemory.ts"
import { MemoryEmbedder, EmbeddingFailed } from "../../services/MemoryEmbedder.ts"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { CanonicalText } from "../../src/memory/CanonicalText.ts"
import type { MemoryRow, MemoryOrigin } from "../../src/memory/MemoryRow.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "../sql/Engines.ts"
import { byEvent, byModel, byTool, memoryOf, newRun } from "./Addresses.ts"

const texts = (rows: ReadonlyArray<{ readonly text: string }>) => rows.map(({ text }) => text)
const reasonOf = (error: unknown) =>
  typeof error === "object" && error !== null && "reason" in error ? error.reason : error

const rule = "No refund is paid later than thirty days after the order, whoever asks for it."

const refusals = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("SA-35 a semantic or procedural note for a run or a conversation is refused", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      for (const tier of ["interaction", "session"] as const) {
        for (const typology of ["semantic", "procedural"] as const) {
          const note = { text: "Olga is the owner", tier, typology }
          const error = yield* Effect.flip(memory.remember(note, byModel(run)))
          assert.strictEqual(reasonOf(error), "typology")
        }
        const kept = yield* memory.remember({ text: `Olga is here: ${tier}`, tier }, byModel(run))
        assert.strictEqual(kept.row.typology, "episodic")
      }
      const fact = { text: "Olga is the owner", tier: "persistent" } as const
      assert.strictEqual((yield* memory.remember(fact, byModel(run))).row.typology, "semantic")
    })
  )

  it.effect("a note that no store can hold, or that has no run to belong to, is refused", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      const bad: ReadonlyArray<Note> = [
        { text: "" },
        { text: "x".repeat(4_001) },
        { text: "a\0b" },
        { text: "a", key: "" },
        { text: "a", subject: "x".repeat(201) },
        { text: "a", tier: "eternal" as never },
        { text: "a", typology: "odd" as never, tier: "persistent" },
        null as never
      ]
      const odd = [{ ...byModel(run), author: "x" }, { ...byModel(run), run: "r" }, undefined]
      for (const origin of odd as unknown as ReadonlyArray<MemoryOrigin>) {
        const refused = memory.remember({ text: "a", tier: "session" }, origin)
        assert.strictEqual(reasonOf(yield* Effect.flip(refused)), "invalid")
      }
      const after = "x" as MemoryRow["id"]
      assert.deepStrictEqual(yield* memory.list("session", { limit: 10, after }), [])
      for (const note of bad) {
        assert.strictEqual(
          reasonOf(yield* Effect.flip(memory.remember(note, byModel(run)))),
          "invalid"
        )
      }
      const error = yield* Effect.flip(memory.remember({ text: "of no run" }, byEvent))
      assert.strictEqual(reasonOf(error), "invalid")
      assert.deepStrictEqual(yield* memory.list("interaction", { limit: 10 }, run), [])
    })
  )

  it.effect("an id that is none is refused as one that is not there", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      for (const id of ["", "7", "'; SELECT 1", "\u0000", "\ud800"]) {
        const supersedes = id as MemoryRow["id"]
        const note: Note = { text: "Olga prefers coffee", tier: "session", supersedes }
        const refused = yield* Effect.flip(memory.remember(note, byEvent))
        assert.strictEqual(reasonOf(refused), "superseded", JSON.stringify(id))
        assert.strictEqual(
          reasonOf(yield* Effect.flip(memory.undo(supersedes, "olga"))),
          "superseded"
        )
      }
      const none = { text: 7, tier: "session" } as unknown as Note
      assert.strictEqual(reasonOf(yield* Effect.flip(memory.remember(none, byEvent))), "invalid")
    })
  )

  it.effect(
    "ST-51 ST-52 ST-53 the gateway refuses canonical texts, whoever writes and in any tier",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const memory = yield* memoryOf({ tenant, key: "mars@3:s1", kind: "world" })
        const canonical = { tenant, place: "world/mars", name: "rule 7", text: rule }
        yield* store.register(CanonicalText.make(canonical))
        const output = JSON.stringify({ world: "mars", rules: [{ id: 7, body: rule }], by: "Olga" })
        for (const text of [rule, output, rule.replace("thirty", "30")]) {
          for (const tier of ["interaction", "session", "persistent"] as const) {
            for (const origin of [byModel(newRun()), byTool(newRun())]) {
              const error = yield* Effect.flip(memory.remember({ text, tier }, origin))
              assert.deepInclude(error, { reason: "canonical", canonical: "rule 7" })
            }
          }
        }
        assert.deepStrictEqual(yield* memory.list("persistent", { limit: 10, all: true }), [])
        yield* memory.remember({ text: "Olga asked for a refund" }, byModel(newRun()))
      })
  )

  it.effect(
    "ST-52 of a canonical text that is registered anew only the last text is compared",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const memory = yield* memoryOf({ tenant, key: "mars@3:s1", kind: "world" })
        const named = { tenant, place: "world/mars", name: "rule 7" }
        const noted = (text: string) =>
          Effect.map(Effect.exit(memory.remember({ text }, byModel(newRun()))), Exit.isSuccess)
        yield* store.register(CanonicalText.make({ ...named, text: rule }))
        assert.isFalse(yield* noted(rule))
        const other = "Every parcel leaves on the day of its order, unless nobody is at work."
        yield* store.register(CanonicalText.make({ ...named, text: other }))
        assert.isTrue(yield* noted(rule))
        assert.isFalse(yield* noted(other))
        yield* store.unregister(tenant, named.place, named.name)
        assert.isTrue(yield* noted(other))
      })
  )

  it.effect("what came out of memory is refused as a new fact; an event may tell it again", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      const fact = { text: "Olga of the northern shop prefers tea", tier: "persistent" } as const
      const first = yield* memory.remember(fact, byEvent)
      const echo = "I remember that Olga of the northern shop prefers tea, so I offered it."
      for (const text of [fact.text, echo]) {
        for (const origin of [byModel(run), byTool(run)]) {
          const error = yield* Effect.flip(memory.remember({ text }, origin))
          assert.strictEqual(reasonOf(error), "from_memory", text)
        }
      }
      const copied = "[memory 2026-11-02 session episodic, tool_call by tool] Paul called"
      const error = yield* Effect.flip(memory.remember({ text: copied }, byModel(run)))
      assert.strictEqual(reasonOf(error), "from_memory")
      const again = yield* memory.remember({ text: fact.text, tier: "session" }, byEvent)
      assert.deepInclude(again, { isNew: false })
      assert.deepInclude(again.row, { id: first.row.id, seen: 2 })
    })
  )

  it.effect(
    "the same note of a tier is one row, counted; one with another number is another row",
    () =>
      Effect.gen(function* () {
        const memory = yield* memoryOf()
        const run = newRun()
        const told = (text: string) => memory.remember({ text }, byTool(run))
        assert.isTrue((yield* told("Order 1003 of the customer in the north was sent")).isNew)
        assert.isFalse((yield* told("order 1003 of the customer in the North was sent.")).isNew)
        assert.isTrue((yield* told("Order 1004 of the customer in the north was sent")).isNew)
        const rows = yield* memory.list("interaction", { limit: 10 }, run)
        assert.deepStrictEqual(
          rows.map(({ seen }) => seen),
          [1, 2]
        )
      })
  )
}

const sharing = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect(
    "SA-32 SA-02 users of a workspace share its persistent rows; conversations and agents do not",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const [olga, paul] = [yield* memoryOf({ tenant }), yield* memoryOf({ tenant })]
        const other = yield* memoryOf({ tenant, agent: "other" })
        yield* olga.remember({ text: "The shop is in the north", tier: "persistent" }, byEvent)
        yield* olga.remember({ text: "Olga asked for tea", tier: "session" }, byEvent)
        const of = (memory: AgentMemory["Service"]) =>
          Effect.map(memory.recall({ text: "shop tea", tokens_max: 500 }), ({ lines }) =>
            texts(lines)
          )
        assert.sameMembers(yield* of(olga), ["Olga asked for tea", "The shop is in the north"])
        assert.deepStrictEqual(yield* of(paul), ["The shop is in the north"])
        assert.deepStrictEqual(yield* of(other), [])
      })
  )

  it.effect("SA-33 rows of a world are there in its next version and in no other world", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const at = (key: string) => memoryOf({ tenant, key, kind: "world" })
      const note = { text: "The bridge is closed", tier: "persistent" } as const
      yield* (yield* at("mars@3:s1")).remember(note, byEvent)
      const found = (memory: AgentMemory["Service"]) => memory.list("persistent", { limit: 10 })
      assert.lengthOf(yield* found(yield* at("mars@4:s2")), 1)
      assert.lengthOf(yield* found(yield* at("venus@3:s1")), 0)
    })
  )

  it.effect(
    "SA-34 an operator does not read, recall or undo what another one's agent remembers",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const at = (key: string) => memoryOf({ tenant, key, kind: "operator" })
        const [a, b] = [yield* at("olga:t1"), yield* at("paul:t1")]
        const rows: Array<MemoryRow> = []
        for (const tier of ["session", "persistent"] as const) {
          const note = { text: `The password rotation is due: ${tier}`, tier }
          rows.push((yield* a.remember(note, byEvent)).row)
        }
        for (const tier of ["session", "persistent"] as const) {
          assert.deepStrictEqual(yield* b.list(tier, { limit: 10 }), [])
        }
        const run = newRun()
        yield* a.remember({ text: "The password rotation failed" }, byTool(run))
        assert.lengthOf(yield* a.list("interaction", { limit: 10 }, run), 1)
        assert.deepStrictEqual(yield* b.list("interaction", { limit: 10 }, run), [])
        const { lines } = yield* b.recall({ text: "password rotation", tokens_max: 500, run })
        assert.deepStrictEqual(lines, [])
        for (const { id } of rows) {
          const refused = yield* Effect.flip(b.undo(id, "paul"))
          assert.deepInclude(refused, { _tag: "MemoryRefused", reason: "superseded" })
        }
        const keyed = {
          text: "Olga's token was renewed",
          tier: "persistent",
          key: "token"
        } as const
        assert.isTrue((yield* a.remember(keyed, byEvent)).isNew)
        const other = { ...keyed, text: "What was the token" }
        const again = yield* a.remember(other, byEvent)
        assert.deepInclude(again, { isNew: false })
        assert.strictEqual(again.row.text, keyed.text)
        const taken = yield* Effect.flip(b.remember(other, byEvent))
        assert.deepInclude(taken, { _tag: "MemoryRefused", reason: "invalid" })
        yield* a.undo(again.row.id, "olga")
        const second = yield* at("olga:t2")
        assert.lengthOf(yield* second.list("persistent", { limit: 10 }), 1)
        assert.lengthOf(yield* second.list("session", { limit: 10 }), 0)
        // The operator's other task may undo what belongs to the operator, and not what belongs to a task.
        const [ofTask, ofOperator] = rows
        assert.isTrue(Exit.isFailure(yield* Effect.exit(second.undo(ofTask!.id, "olga"))))
        assert.strictEqual((yield* second.undo(ofOperator!.id, "olga")).undone_by, "olga")
        assert.lengthOf(yield* a.list("session", { limit: 10 }), 1)
      })
  )
}

const recalls = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("a recall gives the best lines within its tokens, each with its origin", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      yield* memory.remember({ text: "Paul likes coffee", tier: "persistent" }, byEvent)
      yield* memory.remember({ text: "Olga likes tea", tier: "persistent" }, byModel(run))
      yield* memory.remember({ text: "Tea was out of stock" }, byTool(run))
      const { lines } = yield* memory.recall({
        text: "Which tea does Olga like?",
        tokens_max: 500,
        run
      })
      assert.deepStrictEqual(texts(lines).slice(0, 1), ["Olga likes tea"])
      assert.include(texts(lines), "Tea was out of stock")
      assert.deepInclude(lines[0], { run, step: 2, author: "model", source: "tool_call" })
      const without = yield* memory.recall({ text: "tea", tokens_max: 500 })
      assert.notInclude(texts(without.lines), "Tea was out of stock")
      assert.deepStrictEqual(yield* memory.recall({ text: "tea", tokens_max: 5 }), {
        lines: [],
        text: "",
        tokens: 0
      })
    })
  )

  it.effect("a fact that two tiers hold in other words is recalled once, in the newest words", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      for (const [text, tier] of [
        ["Olga likes tea", "interaction"],
        ["Olga really likes the tea", "persistent"],
        ["Olga does not like tea", "persistent"]
      ] as const) {
        assert.isTrue((yield* memory.remember({ text, tier }, byModel(run))).isNew)
        // The clock is the real one.
        yield* Effect.sleep("2 millis")
      }
      const { lines } = yield* memory.recall({ text: "Olga tea", tokens_max: 500, run })
      assert.sameMembers(texts(lines), ["Olga really likes the tea", "Olga does not like tea"])
    })
  )

  it.effect("a recall says of a row what it is now, also where it was recalled before", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const run = newRun()
      yield* memory.remember({ text: "Olga prefers tea" }, byModel(run))
      const told = Effect.map(
        memory.recall({ text: "Olga tea", tokens_max: 500, run }),
        ({ lines, text }) => {
          // Whoever changed one would change it for all.
          assert.isTrue(lines.every((line) => Object.isFrozen(line)))
          return { tiers: lines.map(({ tier }) => tier), text }
        }
      )
      const before = yield* told
      assert.deepStrictEqual(before.tiers, ["interaction"])
      assert.include(before.text, " interaction episodic, ")
      yield* memory.endRun(run)
      const after = yield* told
      assert.deepStrictEqual(after.tiers, ["session"])
      assert.include(after.text, " session episodic, ")
      yield* memory.endConversation
      const last = yield* told
      assert.deepStrictEqual(last.tiers, ["persistent"])
      assert.include(last.text, " persistent semantic, ")
    })
  )

  it.effect("an embedder takes the default's place, and one that fails costs no memory", () =>
    Effect.gen(function* () {
      const tenant = Samples.tenant()
      const embed = (text: string) =>
        text.includes("fail")
          ? Effect.fail(new EmbeddingFailed({ message: "away" }))
          : Effect.succeed(/tea|drink/.test(text) ? [1, 0] : [0, 1])
      const memory = yield* memoryOf({ tenant }).pipe(
        Effect.provideService(MemoryEmbedder, { name: "two", embed })
      )
      for (const text of ["a pot of tea was made", "a chair was made", "to fail was easy"]) {
        yield* memory.remember({ text, tier: "session" }, byEvent)
      }
      const { lines } = yield* memory.recall({ text: "something to drink", tokens_max: 500 })
      assert.strictEqual(lines[0]?.text, "a pot of tea was made")
      assert.lengthOf(lines, 3)
    })
  )

  it.effect("vectors of another embedder are not compared: then the newer row comes first", () =>
    Effect.gen(function* () {
      const whose = { tenant: Samples.tenant(), key: "c-1" }
      const embed = (text: string) => Effect.succeed(text.includes("chair") ? [0, 1] : [1, 0])
      const of = (name: string) =>
        Effect.provideService(memoryOf(whose), MemoryEmbedder, { name, embed })
      const memory = yield* of("two")
      yield* memory.remember({ text: "a pot of tea was made", tier: "session" }, byEvent)
      // The clock is the real one.
      yield* Effect.sleep("5 millis")
      yield* memory.remember({ text: "a chair was made", tier: "session" }, byEvent)
      const first = (by: typeof memory) =>
        Effect.map(by.recall({ text: "drink", tokens_max: 500 }), ({ lines }) => lines[0]?.text)
      assert.strictEqual(yield* first(memory), "a pot of tea was made")
      assert.strictEqual(yield* first(yield* of("other")), "a chair was made")
    })
  )

  it.effect("a tracer that listens is told of each recall, note and end", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const tracer = Tracer.make({
        span: (options) => {
          seen.push(options.name)
          return new Tracer.NativeSpan(options)
        }
      })
      const memory = yield* memoryOf()
      const run = newRun()
      const work = Effect.gen(function* () {
        yield* memory.remember({ text: "Olga likes tea" }, byModel(run))
        yield* memory.recall({ text: "tea", tokens_max: 500, run })
        yield* memory.endRun(run)
        yield* memory.endConversation
      })
      yield* Effect.withTracer(work, tracer)
      assert.deepStrictEqual(
        seen.filter((name) => name.startsWith("AgentMemory.")),
        ["remember", "recall", "endRun", "endConversation"].map((name) => `AgentMemory.${name}`)
      )
    })
  )
}

const ends = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect(
    "SA-36 at a run's end what lasts goes to the conversation, once; the rest is dropped",
    () =>
      Effect.gen(function* () {
        const memory = yield* memoryOf()
        const run = newRun()
        yield* memory.remember({ text: "Olga asked for a refund" }, byModel(run))
        yield* memory.remember({ text: "The list of orders was read" }, byTool(run))
        yield* memory.remember({ text: "Order 1003 was opened" }, byTool(run))
        yield* memory.remember({ text: "Order 1003 was opened" }, byTool(run))
        assert.deepStrictEqual(yield* memory.endRun(run), { promoted: 2, dropped: 1 })
        assert.deepStrictEqual(yield* memory.endRun(run), { promoted: 0, dropped: 0 })
        assert.deepStrictEqual(yield* memory.list("interaction", { limit: 10, all: true }, run), [])
        const kept = ["Olga asked for a refund", "Order 1003 was opened"]
        assert.sameMembers(texts(yield* memory.list("session", { limit: 10 })), kept)
      })
  )

  it.effect(
    "SA-36 a run that died before its end is ended with the next run of its conversation",
    () =>
      Effect.gen(function* () {
        const tenant = Samples.tenant()
        const first = yield* memoryOf({ tenant, key: "c-1" })
        const elsewhere = yield* memoryOf({ tenant, key: "c-2" })
        const [died, next, other] = [newRun(), newRun(), newRun()]
        yield* first.remember({ text: "Olga asked for a refund" }, byModel(died))
        yield* elsewhere.remember({ text: "Paul asked for tea" }, byModel(other))
        const restarted = yield* memoryOf({ tenant, key: "c-1" })
        yield* restarted.remember({ text: "Olga asked for a refund!" }, byModel(next))
        assert.deepStrictEqual(yield* restarted.endRun(next), { promoted: 1, dropped: 1 })
        const [row, ...more] = yield* restarted.list("session", { limit: 10 })
        assert.deepInclude(row, { text: "Olga asked for a refund!", seen: 2 })
        assert.deepStrictEqual(more, [])
        assert.lengthOf(yield* elsewhere.list("interaction", { limit: 10 }, other), 1)
      })
  )

  it.effect("SA-36 what is noted while a conversation ends is not gone with it", () =>
    Effect.gen(function* () {
      const memory = yield* memoryOf()
      const noted = Array.from(
        { length: 20 },
        (_, i) => `Olga was ${"abcdefghijklmnopqrst"[i]}${i}`
      )
      const note = (text: string) => memory.remember({ text, tier: "session" }, byEvent)
      yield* Effect.all(
        [Effect.forEach(noted, note), Effect.replicateEffect(memory.endConversation, 6)],
        {
          concurrency: 2
        }
      )
      yield* memory.endConversation
      assert.sameMembers(texts(yield* memory.list("persistent", { limit: 50 })), noted)
    })
  )

  it.effect(
    "SA-36 at a conversation's end what lasts goes to its place, with the kind of its text",
    () =>
      Effect.gen(function* () {
        const memory = yield* memoryOf()
        const run = newRun()
        yield* memory.remember({ text: "Olga prefers tea" }, byModel(run))
        yield* memory.remember({ text: "Always ask Olga before a refund" }, byModel(run))
        yield* memory.remember({ text: "The list was read" }, byTool(run))
        yield* memory.remember({ text: "Olga prefers tea", tier: "persistent" }, byEvent)
        const ended = yield* memory.endConversation
        assert.deepInclude(ended, { promoted: 1 })
        const rows = yield* memory.list("persistent", { limit: 10 })
        assert.deepStrictEqual(
          rows.map(({ seen, text, typology }) => [text, typology, seen]),
          [
            ["Olga prefers tea", "semantic", 2],
            ["Always ask Olga before a refund", "procedural", 1]
          ]
        )
        assert.deepStrictEqual(yield* memory.list("session", { limit: 10, all: true }), [])
        assert.deepStrictEqual(yield* memory.endConversation, { promoted: 0, dropped: 0 })
      })
  )
}

const tests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  refusals(it)
  sharing(it)
  recalls(it)
  ends(it)
}

layer(EphemeralMemoryStore.layer, { excludeTestServices: true })("the gateway (ephemeral)", tests)
onEngines("the gateway", tests)
