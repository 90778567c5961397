/** Rows of memories: chains, pages, candidates, the end of scopes, erasure, and canonical texts that no row copies. */
import { randomUUID } from "node:crypto"
import type { Vitest } from "@effect/vitest"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { MemoryStore } from "../../services/MemoryStore.ts"
import { AgentName, CallId, RunId } from "../../src/value/Ids.ts"
import { CanonicalText } from "../../src/memory/CanonicalText.ts"
import type { MemoryScope, NewMemoryRow } from "../../src/memory/MemoryRow.ts"
import { queryWords } from "../../src/memory/SearchWords.ts"
import { addAll, agent, newRow, place, scopeOf, textsOf } from "./MemoryRows.ts"
import { foundByWord } from "./MemoryWords.contract.ts"
import * as Samples from "./Samples.ts"

const rowTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("SA-31 SA-37 a row is read back with its tier, kind, origin, subject and vector", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const row = newRow("Olga's tea: «süß» 😀\n\ttwo lines", {
        provenance: {
          source: "event_handler",
          author: "event",
          run: RunId.make(randomUUID()),
          step: 3,
          call: CallId.make("0/3.1")
        },
        subject: "Olga Ü",
        key: "scan-7",
        embedding: "AAEC",
        embedded_by: "local"
      })
      const stored = yield* store.add(row)
      assert.deepStrictEqual(stored, { ...row, id: stored.id, seen: 1 })
      assert.deepStrictEqual(yield* store.get(place(stored)), stored)
      const bare = yield* store.add({
        ...newRow("bare"),
        tier: "persistent",
        typology: "procedural"
      })
      assert.deepStrictEqual(yield* store.get(place(bare)), bare)
    })
  )

  it.effect("SA-37 the same key of an agent is the same row, also of two writers at once", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const row = newRow("a scan was completed", { key: Samples.unique("scan") })
      const rows = yield* Effect.forEach([row, row, row, row], store.add, {
        concurrency: "unbounded"
      })
      assert.lengthOf(new Set(rows.map(({ id }) => id)), 1)
      assert.lengthOf(yield* store.list(scopeOf(row), { limit: 10 }), 1)
      const other = yield* store.add({ ...row, agent: AgentName.make("other") })
      assert.notStrictEqual(other.id, rows[0]!.id)
    })
  )

  it.effect("pages go from the newest to the oldest row, each row once", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const first = newRow("a")
      yield* addAll(first, ["a", "b", "c", "d", "e"])
      const scope = scopeOf(first)
      const one = yield* store.list(scope, { limit: 2 })
      const two = yield* store.list(scope, { limit: 2, after: one.at(-1)!.id })
      const three = yield* store.list(scope, { limit: 2, after: two.at(-1)!.id })
      assert.deepStrictEqual([one, two, three].map(textsOf), [["e", "d"], ["c", "b"], ["a"]])
      assert.deepStrictEqual(yield* store.list(scope, { limit: 0 }), [])
      assert.deepStrictEqual(yield* store.list(scope, { limit: -1 }), [])
      assert.lengthOf(yield* store.list(scope, { limit: 1e6 }), 5)
    })
  )

  it.effect("a repetition is counted, and of no other tenant's row", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const row = yield* store.add(newRow("told again"))
      yield* store.repeat(place(row))
      yield* store.repeat({ ...place(row), tenant: Samples.tenant() })
      assert.strictEqual((yield* store.get(place(row)))?.seen, 2)
    })
  )

  it.effect(
    "SA-02 SA-34 rows of another tenant, agent or anchor are neither listed nor recalled nor undone",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const row = yield* store.add(
          newRow("only mine", { tier: "persistent", anchor: "operator/a" })
        )
        const others: ReadonlyArray<MemoryScope> = [
          { ...scopeOf(row), tenant: Samples.tenant() },
          { ...scopeOf(row), agent: AgentName.make("other") },
          { ...scopeOf(row), anchor: "operator/b" },
          { ...scopeOf(row), tier: "session" }
        ]
        for (const scope of others) {
          assert.deepStrictEqual(yield* store.candidates([scope], ["only", "mine"]), [])
          assert.deepStrictEqual(yield* store.list(scope, { limit: 10 }), [])
        }
        for (const { agent, tenant } of others.slice(0, 2)) {
          assert.isUndefined(yield* store.get({ tenant, agent, id: row.id }))
          const error = yield* Effect.flip(store.undo({ tenant, agent, id: row.id }, "ada"))
          assert.deepInclude(error, { _tag: "MemoryRefused", reason: "superseded" })
        }
        assert.deepStrictEqual(textsOf(yield* store.candidates([scopeOf(row)], ["mine"])), [
          "only mine"
        ])
      })
  )

  it.effect("SA-32 SA-33 two conversations of one place have the same persistent rows", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      const given = {
        tenant,
        tier: "persistent",
        anchor: "world/mars",
        place: "world/mars"
      } as const
      yield* store.add(newRow("told by one", { ...given, session: "mars@3:s1" }))
      yield* store.add(newRow("told by two", { ...given, session: "mars@4:s2" }))
      const scope = { tenant, agent, tier: "persistent", anchor: "world/mars" } as const
      assert.deepStrictEqual(textsOf(yield* store.list(scope, { limit: 10 })), [
        "told by two",
        "told by one"
      ])
    })
  )
}

const chainTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect(
    "a row that supersedes takes the other's place, and gives it back when it is undone",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const old = yield* store.add(newRow("Olga prefers tea"))
        const row = yield* store.add({
          ...newRow("Olga prefers coffee"),
          ...scopeOf(old),
          supersedes: old.id
        })
        const live = Effect.gen(function* () {
          const listed = textsOf(yield* store.list(scopeOf(old), { limit: 10 }))
          const found = textsOf(yield* store.candidates([scopeOf(old)], ["olga", "prefer"]))
          assert.deepStrictEqual(found, listed)
          return listed
        })
        assert.deepStrictEqual(yield* live, ["Olga prefers coffee"])
        assert.strictEqual((yield* store.get(place(old)))?.superseded_by, row.id)
        assert.lengthOf(yield* store.list(scopeOf(old), { limit: 10, all: true }), 2)
        assert.strictEqual((yield* store.undo(place(row), "ada")).undone_by, "ada")
        assert.deepStrictEqual(yield* live, ["Olga prefers tea"])
        assert.strictEqual((yield* store.undo(place(row), "bob")).undone_by, "ada")
        assert.isUndefined((yield* store.get(place(old)))?.superseded_by)
        yield* store.undo(place(old), "ada")
        assert.deepStrictEqual(yield* live, [])
      })
  )

  it.effect("of two rows that supersede the same one, one is refused and changes nothing", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const old = yield* store.add(newRow("first"))
      const next = (text: string) =>
        Effect.result(store.add({ ...newRow(text), ...scopeOf(old), supersedes: old.id }))
      const results = yield* Effect.forEach(["a", "b", "c"], next, { concurrency: "unbounded" })
      const refused = results.filter(({ _tag }) => _tag === "Failure")
      assert.lengthOf(refused, 2)
      for (const each of refused) {
        assert.deepInclude(each._tag === "Failure" ? each.failure : undefined, {
          _tag: "MemoryRefused",
          reason: "superseded"
        })
      }
      assert.lengthOf(yield* store.list(scopeOf(old), { limit: 10, all: true }), 2)
      const elsewhere = yield* Effect.flip(store.add(newRow("d", { supersedes: old.id })))
      assert.deepInclude(elsewhere, { reason: "superseded" })
      const error = yield* Effect.flip(store.undo(place(old), "ada"))
      assert.deepInclude(error, { reason: "superseded" })
    })
  )
}

const recallTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("candidates are the rows with the rarest words, and the newest 16", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const first = newRow("", { tier: "persistent", anchor: "workspace/acme" })
      const texts = Array.from({ length: 100 }, (_, i) =>
        i === 3
          ? "the order of a walrus"
          : i === 5
            ? "an unrelated note"
            : `the order of chair ${i}`
      )
      yield* addAll(first, texts)
      const found = textsOf(
        yield* store.candidates([scopeOf(first)], queryWords("which order had the walrus?"))
      )
      assert.include(found, "the order of a walrus")
      assert.notInclude(found, "an unrelated note")
      assert.isAtMost(found.length, 64 + 16)
      const newest = textsOf(yield* store.candidates([scopeOf(first)], []))
      assert.sameMembers(newest, texts.slice(-16))
      assert.deepStrictEqual(yield* store.candidates([], ["order"]), [])
    })
  )

  it.effect("candidates of several scopes are found at once", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      const a = yield* store.add(
        newRow("tea in a run", { tenant, tier: "interaction", anchor: "r" })
      )
      const b = yield* store.add(newRow("tea in a talk", { tenant }))
      const found = textsOf(yield* store.candidates([scopeOf(a), scopeOf(b)], ["tea"]))
      assert.sameMembers(found, ["tea in a run", "tea in a talk"])
    })
  )

  it.effect(
    "SA-02 SA-34 candidates are of the first scope's tenant, whose ever the others are",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const a = scopeOf(yield* store.add(newRow("tea of one")))
        const b = scopeOf(yield* store.add(newRow("tea of another", { tenant: Samples.tenant() })))
        assert.deepStrictEqual(textsOf(yield* store.candidates([a, b], ["tea"])), ["tea of one"])
        assert.deepStrictEqual(textsOf(yield* store.candidates([b, a], ["tea"])), [
          "tea of another"
        ])
      })
  )
}

const endTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect("SA-36 a scope that ends passes on the promoted rows and drops the others, once", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const tenant = Samples.tenant()
      const given = { tenant, tier: "interaction", anchor: "run-1" } as const
      const [kept, ...dropped] = yield* addAll(newRow("", given), ["kept tea", "gone tea", "gone"])
      const known = yield* store.add(newRow("known before", { tenant }))
      const from = scopeOf(kept!)
      const to = scopeOf(known)
      assert.deepStrictEqual(yield* store.interactions(to), [from])
      const ended = {
        from,
        to,
        promoted: [{ id: kept!.id, typology: "episodic" }],
        repeated: [known.id]
      } as const
      assert.deepStrictEqual(yield* store.compound(ended), { promoted: 1, dropped: 2 })
      assert.deepStrictEqual(yield* store.compound(ended), { promoted: 0, dropped: 0 })
      assert.deepStrictEqual(yield* store.list(from, { limit: 10, all: true }), [])
      assert.deepStrictEqual(yield* store.candidates([from], ["tea"]), [])
      assert.deepStrictEqual(textsOf(yield* store.candidates([to], ["tea"])).toSorted(), [
        "kept tea",
        "known before"
      ])
      const moved = yield* store.get(place(kept!))
      assert.deepStrictEqual(moved, { ...kept!, ...to })
      assert.strictEqual((yield* store.get(place(known)))?.seen, 2)
      assert.isUndefined(yield* store.get(place(dropped[0]!)))
      assert.deepStrictEqual(yield* store.interactions(to), [])
    })
  )

  it.effect("a row that came in since a scope was looked at stays in it", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const given = { tenant: Samples.tenant(), tier: "session" } as const
      const [kept, gone, late] = yield* addAll(newRow("", given), ["kept", "gone", "late tea"])
      const from = scopeOf(kept!)
      const to = { ...from, tier: "persistent", anchor: "workspace/acme" } as const
      const promoted = [{ id: kept!.id, typology: "episodic" }] as const
      const ended = { from, to, promoted, repeated: [], seen: [kept!.id, gone!.id] }
      assert.deepStrictEqual(yield* store.compound(ended), { promoted: 1, dropped: 1 })
      assert.deepStrictEqual(textsOf(yield* store.list(from, { limit: 9, all: true })), [
        late!.text
      ])
      assert.deepStrictEqual(textsOf(yield* store.candidates([from], ["tea"])), [late!.text])
      assert.deepStrictEqual(textsOf(yield* store.list(to, { limit: 9 })), ["kept"])
      const next = { from, to, promoted: [], repeated: [], seen: [late!.id] }
      assert.deepStrictEqual(yield* store.compound(next), { promoted: 0, dropped: 1 })
      assert.deepStrictEqual(yield* store.list(from, { limit: 9, all: true }), [])
    })
  )

  it.effect("a conversation that ends passes rows on with the kind that they have there", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const row = yield* store.add(newRow("Olga is the owner"))
      const to = { ...scopeOf(row), tier: "persistent", anchor: "workspace/acme" } as const
      const promoted = [{ id: row.id, typology: "semantic" }] as const
      yield* store.compound({ from: scopeOf(row), to, promoted, repeated: [] })
      assert.deepInclude(yield* store.get(place(row)), { tier: "persistent", typology: "semantic" })
    })
  )

  it.effect("scopes without a write since a time are found, the oldest first", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore
      const at = [5, 3, 4]
      const rows = yield* Effect.forEach(at, (at) => store.add(newRow("old", { at })))
      const found = yield* store.stale("session", 5, 500)
      const own = found.filter(({ scope }) => rows.some(({ tenant }) => tenant === scope.tenant))
      assert.deepStrictEqual(
        own.map(({ scope }) => scope.tenant),
        [rows[1]!.tenant, rows[2]!.tenant]
      )
      assert.deepInclude(own[0], { place: "workspace/acme", session: "c1" })
    })
  )

  it.effect(
    "persistent rows from before a time are removed, oldest first, at most as many as asked for",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const given = { tenant: Samples.tenant(), tier: "persistent" } as const
        const row = newRow("", { ...given, anchor: "w" })
        const rows = yield* Effect.forEach([10, 11, 12, 13], (at) =>
          store.add({ ...row, text: `from ${at}`, at })
        )
        const young = yield* store.add(newRow("of a talk", { at: 10 }))
        assert.strictEqual(yield* store.expire(13, 2), 2)
        assert.deepStrictEqual(textsOf(yield* store.list(scopeOf(rows[0]!), { limit: 9 })), [
          "from 13",
          "from 12"
        ])
        assert.strictEqual(yield* store.expire(13, 2), 1)
        assert.strictEqual(yield* store.expire(13, 2), 0)
        assert.isDefined(yield* store.get(place(young)))
      })
  )
}

const erasureTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  it.effect(
    "an erasure removes what names a subject from every tier, and finds nothing after it",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const add = (text: string, given: Partial<NewMemoryRow> = {}) =>
          store.add(newRow(text, { tenant, ...given }))
        yield* add("Olga Ünal called", { tier: "interaction", anchor: "r" })
        yield* add("she likes tea", { subject: "olga ünal" })
        // The same name, with the mark in a character of its own.
        yield* add("Olga Ünal wrote".normalize("NFD"))
        yield* add("of her task", { tier: "persistent", anchor: "operator/olga ünal" })
        const kept = yield* add("Olgard and Paul called")
        const foreign = yield* store.add(newRow("olga ünal of another tenant"))
        const report = yield* store.erase(tenant, "olga ünal")
        assert.deepStrictEqual(report.erased, { interaction: 1, session: 2, persistent: 1 })
        const memory = report.scanned.filter(({ table }) => table.startsWith("memory_"))
        assert.isAtLeast(memory.length, 1)
        for (const { rows, table } of memory) assert.strictEqual(rows, 0, table)
        assert.deepStrictEqual(textsOf(yield* store.candidates([scopeOf(kept)], ["tea"])), [
          kept.text
        ])
        assert.isDefined(yield* store.get(place(foreign)))
        const again = yield* store.erase(tenant, "olga ünal")
        assert.deepStrictEqual(again.erased, { interaction: 0, session: 0, persistent: 0 })
        // A longer word is no name, but it is shown to whoever has to prove the erasure.
        const shorter = yield* store.erase(tenant, "olga")
        assert.deepStrictEqual(shorter.erased, { interaction: 0, session: 0, persistent: 0 })
        const left = shorter.scanned.find(({ table }) => table === "memory_rows")
        assert.strictEqual(left?.rows, 1)
        yield* add(`named "O\\'Brienne", no less`)
        const quoted = yield* store.erase(tenant, `"o\\'brien`)
        assert.strictEqual(quoted.scanned.find(({ table }) => table === "memory_rows")?.rows, 1)
      })
  )
}

const canonicalTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  const rule = "No refund is paid later than thirty days after the order, whoever asks for it."

  it.effect(
    "ST-53 a copy of a canonical text of the row's place is refused, other texts are not",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore
        const tenant = Samples.tenant()
        const canonical = CanonicalText.make({
          tenant,
          place: "world/mars",
          name: "rule 7",
          text: rule
        })
        yield* store.register(canonical)
        const mars = { tenant, place: "world/mars" }
        for (const text of [
          rule,
          rule.replace("thirty", "30"),
          `{"notes":"The rules were read on Monday.","rules":["${rule}"],"by":"Olga and Paul"}`
        ]) {
          const error = yield* Effect.flip(store.add(newRow(text, mars)))
          assert.deepInclude(error, {
            _tag: "MemoryRefused",
            reason: "canonical",
            canonical: "rule 7"
          })
        }
        const row = yield* store.add(newRow("Olga asked for a refund.", mars))
        assert.lengthOf(yield* store.list(scopeOf(row), { limit: 10 }), 1)
        yield* store.add(newRow(rule, { tenant, place: "world/venus" }))
        yield* store.add(newRow(rule, { place: "world/mars" }))
        assert.deepStrictEqual(yield* store.canonicals(tenant, "world/mars"), [canonical])
        yield* store.register({ ...canonical, text: "Chairs are counted twice, and tables once." })
        yield* store.add(newRow(rule, mars))
        yield* store.unregister(tenant, "world/mars", "rule 7")
        assert.deepStrictEqual(yield* store.canonicals(tenant, "world/mars"), [])
      })
  )
}

export const memoryStoreTests = (it: Vitest.MethodsNonLive<MemoryStore>): void => {
  rowTests(it)
  chainTests(it)
  recallTests(it)
  foundByWord(it)
  endTests(it)
  erasureTests(it)
  canonicalTests(it)
}
