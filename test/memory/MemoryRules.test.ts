/** The pure rules of memory: anchors, kinds, copies, duplicates, what goes on. */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { AgentName, ConversationId, RunId, Tenant } from "../../src/value/Ids.ts"
import * as Anchors from "../../src/memory/MemoryAnchors.ts"
import { CanonicalText, comparedText, findCanonical } from "../../src/memory/CanonicalText.ts"
import { classify, MemoryText, typologyFault, typologyOf } from "../../src/memory/MemoryRow.ts"
import { promoted } from "../../layers/memory/MemoryEnds.ts"
import { comparableText, holds, isDuplicate } from "../../src/memory/NearDuplicate.ts"
import { similarityOf, trigramsOf } from "../../src/memory/Trigram.ts"
import { one_fact, two_facts } from "./Facts.ts"
import * as Rows from "./Rows.ts"

const owner = (kind: Anchors.AnchorKind, key: string): Anchors.MemoryOwner => ({
  tenant: Tenant.make("acme"),
  address: { agent: AgentName.make("shop"), key: ConversationId.make(key) },
  kind
})
const run = RunId.make("00000000-0000-7000-8000-000000000001")

describe("anchors of a memory", () => {
  it("SA-31 SA-32 a workspace agent has a run, a conversation and the workspace, never a user", () => {
    const [a, b] = [owner("workspace", "of-olga"), owner("workspace", "of-paul")]
    assert.strictEqual(Anchors.interactionScope(a, run).anchor, run)
    assert.strictEqual(Anchors.sessionScope(a).anchor, "of-olga")
    assert.deepStrictEqual(Anchors.persistentScope(a), Anchors.persistentScope(b))
    assert.notDeepEqual(Anchors.sessionScope(a), Anchors.sessionScope(b))
  })

  it("SA-33 a world agent's persistent rows belong to the world, whatever its version", () => {
    const place = (key: string) => Anchors.placeOfMemory(owner("world", key))
    assert.strictEqual(place("mars@3:s1"), "world/mars")
    assert.strictEqual(place("mars@4:s2"), place("mars@3:s1"))
    assert.strictEqual(place("mars"), place("mars:s9"))
    assert.notStrictEqual(place("venus@3:s1"), place("mars@3:s1"))
  })

  it("SA-34 an operations agent's memory belongs to its operator, and its session to the task", () => {
    const [a, b] = [owner("operator", "olga:t1"), owner("operator", "paul:t1")]
    assert.strictEqual(Anchors.placeOfMemory(a), "operator/olga")
    assert.notDeepEqual(Anchors.persistentScope(a), Anchors.persistentScope(b))
    assert.notDeepEqual(Anchors.sessionScope(a), Anchors.sessionScope(b))
    assert.strictEqual(
      Anchors.placeOfMemory(owner("operator", "olga:t2")),
      Anchors.placeOfMemory(a)
    )
  })
})

describe("the kind of a memory", () => {
  it("SA-35 runs and conversations hold only what happened", () => {
    for (const tier of ["interaction", "session"] as const) {
      assert.isUndefined(typologyFault(tier, "episodic"))
      assert.include(typologyFault(tier, "semantic"), `the ${tier} tier holds only episodic`)
      assert.isDefined(typologyFault(tier, "procedural"))
      assert.strictEqual(typologyOf(tier, "Olga is the owner", undefined), "episodic")
    }
    assert.isUndefined(typologyFault("persistent", "procedural"))
  })

  it("a text of the persistent tier is classified by its sentences, unless its writer states the kind", () => {
    const kinds = {
      "Olga prefers tea": "semantic",
      "The order is in warehouse 4": "semantic",
      "Order 1003 was paid back": "episodic",
      "Olga called on 2026-11-02": "episodic",
      "Always ask before a refund": "procedural",
      "When an order is late, offer a voucher": "procedural",
      "Заказ 1003": "episodic"
    }
    for (const [text, kind] of Object.entries(kinds)) assert.strictEqual(classify(text), kind, text)
    assert.strictEqual(typologyOf("persistent", "Olga prefers tea", "episodic"), "episodic")
  })

  it("a text is 1 to 4,000 characters that both engines can store", () => {
    const isText = Schema.is(MemoryText)
    assert.isTrue(isText("x".repeat(4_000)))
    for (const bad of ["", " \n", "x".repeat(4_001), "a\0b", "a\ud800"]) {
      assert.isFalse(isText(bad), JSON.stringify(bad.slice(0, 9)))
    }
  })
})

const rule = "No refund is paid later than thirty days after the order, whoever asks for it."
const canonicalOf = (text: string, threshold?: number) =>
  comparedText(
    CanonicalText.make({
      tenant: Tenant.make("acme"),
      place: "world/mars",
      name: "rule 7",
      text,
      ...(threshold === undefined ? undefined : { threshold })
    })
  )

describe("copies of canonical texts", () => {
  const copies = (text: string, threshold?: number) =>
    findCanonical(text, [canonicalOf(rule, threshold)]) !== undefined

  it("ST-53 identical and lightly edited texts are copies, unrelated ones are not", () => {
    assert.isTrue(copies(rule))
    assert.isTrue(copies(rule.toUpperCase().replaceAll(" ", "\n")))
    assert.isTrue(copies(rule.replace("thirty", "30").replace("whoever", "no matter who")))
    assert.isFalse(copies("Olga asked for a refund and got a voucher."))
    assert.isFalse(copies("The order of thirty chairs is late."))
  })

  it("ST-51 a tool's output that holds a canonical text among others is a copy", () => {
    const output = JSON.stringify({
      world: "mars",
      rules: [
        { id: 6, body: "Chairs are counted twice, tables once." },
        { id: 7, body: rule }
      ],
      notes: "The rest of the page says when each rule was changed, by whom, and for what reason."
    })
    assert.isTrue(copies(output))
    assert.isFalse(copies(output.replace(rule, "It was removed.")))
  })

  it("ST-53 the threshold is the canonical text's, 0.6 by default", () => {
    const near = "No refund later than thirty days after the order, says the boss."
    assert.isTrue(copies(near, 0.3))
    assert.isFalse(copies(near, 0.95))
    assert.strictEqual(canonicalOf(rule).threshold, Math.fround(0.6))
    assert.throws(() => canonicalOf(rule, 1.1))
    assert.throws(() => canonicalOf("--"))
  })

  it("a canonical text of three words is compared with whole texts alone", () => {
    const short = canonicalOf("Never resend it")
    assert.isDefined(findCanonical("never resend it", [short]))
    const long = "They said that one should never resend it without asking first."
    assert.isUndefined(findCanonical(long, [short]))
  })
})

describe("duplicates", () => {
  const same = (a: string, b: string) => isDuplicate(comparableText(a), comparableText(b))
  const alike = (a: string, b: string) => similarityOf(trigramsOf(a), trigramsOf(b))

  it("a fact is the same whatever its case, marks, articles, emphasis and plural endings are", () => {
    for (const [a, b] of one_fact) {
      assert.isTrue(same(a, b), `${a} | ${b}`)
      assert.isTrue(same(b, a), `${b} | ${a}`)
    }
    assert.isFalse(same("--", "!!"))
    assert.isFalse(same("...", "!!"))
  })

  it("a fact with another number, name, date, sign, order or negation is another one, in any language", () => {
    for (const [a, b] of two_facts) {
      assert.isFalse(same(a, b), `${a} | ${b}`)
      assert.isFalse(same(b, a), `${b} | ${a}`)
    }
  })

  it("no similarity of letters could tell them apart", () => {
    const least = Math.min(...one_fact.map(([a, b]) => alike(a, b)))
    assert.isAbove(two_facts.filter(([a, b]) => alike(a, b) > least).length, 10)
  })

  it("a fact of which one word is replaced by another is never the same", () => {
    const text = "Olga of the northern shop has really liked green tea since 3 May 2026"
    const words = text.split(" ")
    for (const at of words.keys()) {
      for (const other of ["Paul", "not", "7", "June", "without", "rarely"]) {
        const changed = words.with(at, other).join(" ")
        assert.isFalse(same(text, changed), changed)
      }
    }
  })

  it("a passage repeats a fact in its very words, and not one of another name", () => {
    const known = "The contract with Anna Schmidt of the northern branch ends soon"
    const repeats = (text: string) => holds(comparableText(text), comparableText(known))
    assert.isTrue(repeats(`They said: ${known.toLowerCase()}, and went.`))
    assert.isTrue(repeats(JSON.stringify({ notes: known })))
    assert.isFalse(repeats(known.replace("Schmidt", "Schmitt")))
    assert.isFalse(repeats(`They said: ${known.replace("Schmidt", "Schmitt")}, and went.`))
    assert.isFalse(repeats(`It is not true: ${known}`))
  })
})

describe("compounding", () => {
  it("SA-36 what people, events and the model kept goes on; a call's own note only if it came twice", () => {
    const rows = [
      Rows.row({ text: "chosen", provenance: { source: "tool_call", author: "model" } }),
      Rows.row({ text: "outcome", provenance: { source: "event_handler", author: "event" } }),
      Rows.row({ text: "once", provenance: { source: "tool_call", author: "tool" } }),
      Rows.row({ text: "twice", seen: 2, provenance: { source: "tool_call", author: "tool" } }),
      Rows.row({ text: "undone", undone_by: "olga" })
    ]
    assert.sameMembers(
      promoted(rows, "interaction").map(({ text }) => text),
      ["chosen", "outcome", "twice"]
    )
  })

  it("SA-36 of more rows than may go on, the newest do", () => {
    const rows = Array.from({ length: 70 }, (_, i) => Rows.row({ text: `row ${i}`, at: i }))
    const kept = promoted(rows, "interaction")
    assert.lengthOf(kept, 64)
    assert.strictEqual(kept.at(-1)?.text, "row 6")
  })
})
