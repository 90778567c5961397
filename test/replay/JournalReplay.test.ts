import { assert, describe, it } from "@effect/vitest"
import { RunId } from "../../src/value/Ids.ts"
import { isErased, erasedPlaces } from "../../src/replay/Erased.ts"
import { recordedDecisions, replayJournal } from "../../src/replay/JournalReplay.ts"
import type { JournalEntry, RunEvent } from "../../src/run/RunEvent.ts"
import { drain, interleave } from "../run/Interleaving.ts"

const run = RunId.make("6f9619ff-8b86-4011-b42d-00c04fc964ff")

/** A question that had a time is over late; nothing else looks at the clock. */
const late = 9_000_000_000_000

const entriesOf = (events: ReadonlyArray<RunEvent>): ReadonlyArray<JournalEntry> =>
  events.map((event, seq) => ({ seq, at: late, event }))

const seeds = Array.from({ length: 600 }, (_, seed) => seed)

const played = (seed: number) => {
  const play = interleave(seed, () => undefined)
  drain(play)
  return entriesOf(play.events)
}

describe("a journal's replay", () => {
  it("SG-28 makes the same journal of any run, event for event", { timeout: 120_000 }, () => {
    let events = 0
    for (const seed of seeds) {
      const entries = played(seed)
      const replayed = replayJournal(run, entries)
      assert.isUndefined(
        replayed.divergence,
        `seed ${seed}: ${JSON.stringify(replayed.divergence)}`
      )
      assert.strictEqual(replayed.same, entries.length)
      events += entries.length
    }
    assert.isAbove(events, seeds.length * 8)
  })

  it("accepts an end that was recorded without a finish reason", () => {
    let cut = 0
    for (const seed of seeds) {
      const events = played(seed).map(({ event }) => event)
      const end = events.at(-1)!
      if (end._tag !== "RunEnded" || end.finish === undefined) continue
      cut++
      const { finish, ...before } = end
      const entries = entriesOf([...events.slice(0, -1), before])
      assert.isUndefined(replayJournal(run, entries).divergence, `${seed} ${finish}`)
    }
    assert.isAbove(cut, 5)
  })

  it(
    "finds an event that the decider does not make, and gives its position",
    { timeout: 120_000 },
    () => {
      let tampered = 0
      for (const seed of seeds) {
        const entries = played(seed)
        const ended = entries.findIndex(({ event }) => event._tag === "RunEnded")
        if (ended < 0) continue
        tampered++
        const { event } = entries[ended]!
        const wrong = { ...(event as Extract<RunEvent, { _tag: "RunEnded" }>), text: "another end" }
        const replayed = replayJournal(
          run,
          entriesOf(entries.map((e) => e.event).with(ended, wrong))
        )
        assert.strictEqual(replayed.same, ended)
        assert.strictEqual(replayed.divergence?.seq, ended)
        assert.deepEqual(replayed.divergence?.got, event as never)
        assert.deepEqual(replayed.divergence?.expected, wrong as never)
      }
      assert.isAbove(tampered, 100)
    }
  )

  it("finds each missing event that others follow from", () => {
    const calls = (entries: ReadonlyArray<JournalEntry>) =>
      entries.findIndex(({ event }) => event._tag === "ModelTurned" && event.calls.length > 0)
    const entries = seeds.map(played).find((each) => calls(each) > 0)!
    const turned = calls(entries)
    const without = entriesOf(entries.map((e) => e.event).toSpliced(turned, 1))
    const { divergence } = replayJournal(run, without)
    assert.isDefined(divergence)
    assert.strictEqual(replayJournal(run, entries.toSpliced(turned, 1)).divergence?.seq, turned + 1)
  })

  it("reports every decision of the recording", () => {
    const all = seeds.flatMap((seed) => {
      const entries = played(seed)
      const decisions = recordedDecisions(entries)
      const asked = entries.filter(({ event }) => event._tag === "ApprovalRequested")
      assert.strictEqual(decisions.length, asked.length)
      return decisions
    })
    const kinds = new Set(all.map(({ decision }) => decision))
    for (const kind of ["approve", "deny", "modify", "request_revision", "expired", "cancelled"]) {
      assert.isTrue(kinds.has(kind), kind)
    }
  })

  it("lists what was erased, and nothing else", () => {
    const mark = { erased: "a".repeat(64) }
    assert.isTrue(isErased(mark))
    assert.isTrue(isErased(JSON.stringify(mark)))
    assert.isFalse(isErased({ ...mark, more: 1 }))
    assert.isFalse(isErased({ erased: "yes" }))
    assert.isFalse(isErased("erased"))
    const entries = entriesOf([
      {
        _tag: "ModelTurned",
        frame: "0" as never,
        step: 1,
        text: JSON.stringify(mark),
        finish: "tool_calls",
        calls: [{ model_id: "a", name: "tool", arguments: { customer: mark } }]
      },
      {
        _tag: "CallSettled",
        call: "0/1.0" as never,
        outcome: { _tag: "Value", json: JSON.stringify(mark) }
      }
    ])
    assert.deepEqual(erasedPlaces(entries), [
      { seq: 0, path: "text" },
      { seq: 0, path: "calls.0.arguments.customer" },
      { seq: 1, path: "outcome.json" }
    ])
  })
})
