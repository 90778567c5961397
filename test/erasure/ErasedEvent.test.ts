/** Events without what a person said: they decode as before, and hold no text but names, codes and marks. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { createHmac } from "node:crypto"
import { canonical } from "../../src/value/Canonical.ts"
import {
  codesIn,
  erasedEvent,
  namesIn,
  textsWithoutNames,
  textWithoutNames
} from "../../src/erasure/ErasedValue.ts"
import { holdsText, soughtTexts, holdsId, subjectEraser } from "../../src/erasure/SubjectEraser.ts"
import { isErased } from "../../src/replay/Erased.ts"
import { RunEvent } from "../../src/run/RunEvent.ts"

const digest = (text: string) => createHmac("sha256", "a key").update(text).digest("hex")
const eraser = subjectEraser("olga ünal", digest)
const read = Schema.decodeUnknownSync(Schema.fromJsonString(RunEvent))

/** Names of agents, tools and models, ids, codes and amounts; each of a kind that a model or person does not write freely. */
const kept = (
  "_tag tenant agent key roles trace_id span_id limits pins nested owner frame call approval authorization finish " +
  "finish_raw usage cost spent model of kind class cause how policy_version approvers tool tool_key tool_digest on_loss " +
  "limit status type media_type model_id name server id tier typology source author run tool_name agent_name " +
  "correlation_id undeclared client context_secrets without permission from to handed_by conversation digest shown_digest proposal " +
  "guard mode on verdict replaces step"
).split(" ")

/** Texts at other places, which are to be marks. */
const freeTexts = (value: unknown, name = ""): ReadonlyArray<string> => {
  if (typeof value === "string") return [value]
  if (typeof value !== "object" || value === null || isErased(value)) return []
  const isFile = "media_type" in value
  const isDispatch = "_tag" in value && value._tag === "CallDispatched"
  return Object.entries(value).flatMap(([member, each]) =>
    (kept.includes(member) && !(isFile && member === "name")) || (isDispatch && member === "via")
      ? []
      : freeTexts(each, Array.isArray(value) ? name : member)
  )
}

describe("erased events", () => {
  it.effect.prop(
    "decode, and have marks in place of what was said",
    { event: RunEvent },
    ({ event }) =>
      Effect.sync(() => {
        const erased = read(canonical(erasedEvent(event, codesIn([]), eraser)))
        assert.strictEqual(erased._tag, event._tag)
        for (const text of freeTexts(erased)) {
          assert.isTrue(isErased(text) || text === "complete", `${event._tag} ${text}`)
        }
        // What was marked stays as it is.
        const texts = freeTexts(erasedEvent(erased, codesIn([]), eraser))
        assert.deepStrictEqual(texts, freeTexts(erased))
        // Where nothing names the subject, nothing changes.
        const named = erasedEvent(event, codesIn([]), {
          ...eraser,
          names: () => false,
          whole: false
        })
        assert.strictEqual(canonical(named), canonical(event))
      }),
    // Some members are rare.
    { arbitrary: { runs: 2_000 } }
  )

  it("a reason is kept if the runtime gave it, and a person's is a text", () => {
    const stopping = { _tag: "RunStopping", status: "failed", reason: "wall_ms_max" } as const
    const codes = codesIn([{ ...stopping, by: "runtime" }])
    const own = { ...stopping, by: "runtime" }
    assert.deepInclude(erasedEvent(own, codes, eraser), { reason: "wall_ms_max" })
    const theirs = erasedEvent({ ...stopping, reason: "ill", by: "o" }, codes, eraser)
    assert.isTrue(isErased((theirs as typeof stopping).reason))
  })
})

it("an event without who acted for whom, or with how its call was sent", () => {
  const reopened = { _tag: "CallReopened", call: "0.1.0", by: "carl", via: "web" }
  const { by, via } = erasedEvent(reopened, codesIn([]), eraser) as typeof reopened
  assert.isTrue(isErased(by) && isErased(via))
  const dispatched = { _tag: "CallDispatched", call: "0.1.0", via: "queue" }
  assert.deepInclude(erasedEvent(dispatched, codesIn([]), eraser), { via: "queue" })
})

describe("names in values", () => {
  it("are found in texts, members and JSON within JSON", () => {
    const inner = JSON.stringify({ to: "call Olga\nÜnal", n: 1 })
    for (const value of [[inner], { c: { "to olga ünal": 1 } }]) {
      assert.isTrue(namesIn(value, eraser))
      assert.isTrue(isErased(textWithoutNames(JSON.stringify(value), eraser)))
    }
    assert.isFalse(namesIn({ b: ["olgas ünal"] }, eraser))
    const text = textWithoutNames(JSON.stringify("Olga Ünal said so"), eraser)
    assert.isTrue(isErased(JSON.parse(text)))
    assert.strictEqual(textWithoutNames('{"a": 1}', eraser), '{"a": 1}')
  })

  it("are erased from the texts of a record, and its shape stays", () => {
    const texts = new Set(["note", "notes"])
    const record = {
      status: "olga ünal",
      "olga ünal": [{ note: "for Olga Ünal", at: 1 }],
      notes: ["keep", "Olga\nÜnal"]
    }
    const without = textsWithoutNames(record, eraser, texts) as typeof record
    assert.deepStrictEqual(Object.keys(without), Object.keys(record))
    assert.strictEqual(without.status, record.status)
    assert.strictEqual(without.notes[0], "keep")
    assert.isTrue(isErased(without.notes[1]))
    const [first] = without["olga ünal"]
    assert.isTrue(isErased(first?.note))
    assert.strictEqual(first?.at, 1)
    assert.strictEqual(textsWithoutNames(without, eraser, texts), without)
    const stored = textWithoutNames(JSON.stringify(record), eraser, texts)
    assert.strictEqual(stored, JSON.stringify(without))
    // What no record may be is one text.
    assert.isTrue(isErased(textWithoutNames("{olga ünal", eraser, texts)))
  })

  it("of one or two characters are no words of other texts", () => {
    const short = subjectEraser("42", digest)
    assert.strictEqual(textsWithoutNames("42 orders", short), "42 orders")
    assert.isTrue(isErased(textsWithoutNames("42", short)))
    assert.strictEqual(short.rename("order/42"), "order/42")
  })

  it("a search finds them however they are escaped, and ids between other characters", () => {
    const name = `Ünal "O\\lga"`
    const apart = name.normalize("NFD")
    for (const text of [
      name,
      JSON.stringify(JSON.stringify({ name })),
      name.toLowerCase(),
      apart
    ]) {
      assert.isTrue(holdsText(`so ${text}!`, soughtTexts(name)), text)
      assert.isTrue(holdsText(`so ${text}!`, soughtTexts(apart)), text)
    }
    assert.isTrue(isErased(textsWithoutNames("for Olga Ünal".normalize("NFD"), eraser)))
    assert.isFalse(holdsText("Unal", soughtTexts(name)))
    const id = "00000000-0000-4000-8000-000000000001"
    assert.isTrue(holdsId(`COMPLETE_${id}`, new Set([id])))
    assert.isTrue(holdsId("conversation/c-1", new Set(["c-1"])))
    assert.isFalse(holdsId("conversation/c-10", new Set(["c-1"])))
  })
})
