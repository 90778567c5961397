import { assert, describe, it } from "@effect/vitest"
import type { Position } from "../../layers/runtime/feed/CommittedQueue.ts"
import { CommittedQueue, waiting_bounds } from "../../layers/runtime/feed/CommittedQueue.ts"
import { BufferQuota } from "../../layers/runtime/feed/BufferQuota.ts"
import type { RunId } from "../../src/value/Ids.ts"
import { Tenant } from "../../src/value/Ids.ts"
import type { JournalEntry } from "../../src/run/RunEvent.ts"
import * as Samples from "../contracts/Samples.ts"

const acme = Tenant.make("acme")
const run = Samples.runId()
const start: Position = { ordinal: 0, seq: -1, isEnded: true }

/** Entries with these seqs in a row; the last one ends the run if it is to. */
const append = (from: number, count: number, ends = false, size = 0, of: RunId = run) => {
  const entries = Array.from({ length: count }, (_, i): JournalEntry => ({
    seq: from + i,
    at: 1,
    event: ends && i === count - 1 ? Samples.runEnded() : Samples.modelTurned(from + i)
  }))
  return { run: of, from, count, isEnd: ends, mayEndWait: ends, size, entries: () => entries }
}

const queue = (waiting = new BufferQuota(waiting_bounds)) => new CommittedQueue(acme, waiting)

/** Takes until nothing more can be taken. */
const taken = (from: CommittedQueue, position: Position) => {
  const places: Array<string> = []
  let at = position
  for (;;) {
    const { entries, isBehind, isMore } = from.take(at)
    for (const { entry, ordinal } of entries) {
      places.push(`${ordinal}.${entry.seq}`)
      at = { ordinal, seq: entry.seq, isEnded: entry.event._tag === "RunEnded" }
    }
    if (!isMore) return { places, isBehind, at }
  }
}

describe("the queue of a watcher", () => {
  it("gives each run to its end before the next one", () => {
    const entries = queue()
    entries.push(1, append(0, 2))
    entries.push(2, append(0, 1))
    entries.push(1, append(2, 1))
    assert.deepStrictEqual(taken(entries, start).places, ["1.0", "1.1", "1.2"])
    entries.push(1, append(3, 1, true))
    entries.push(2, append(1, 1))
    const position = { ordinal: 1, seq: 2, isEnded: false }
    assert.deepInclude(taken(entries, position), { places: ["1.3", "2.0", "2.1"], isBehind: false })
  })

  it("gives nothing that comes before the position, and the rest of an append that spans it", () => {
    const entries = queue()
    entries.push(1, append(0, 2))
    entries.push(1, append(2, 3))
    const { places } = taken(entries, { ordinal: 1, seq: 2, isEnded: false })
    assert.deepStrictEqual(places, ["1.3", "1.4"])
    entries.push(1, append(0, 5))
    assert.deepInclude(taken(entries, { ordinal: 1, seq: 4, isEnded: false }), {
      places: [],
      isBehind: false
    })
  })

  it("gives an append once that comes twice", () => {
    const entries = queue()
    entries.push(1, append(0, 2))
    entries.push(1, append(0, 2))
    assert.deepStrictEqual(taken(entries, start).places, ["1.0", "1.1"])
  })

  it("is behind at a gap within a run, and gives what comes after it once the gap is read", () => {
    const entries = queue()
    entries.push(1, append(0, 1))
    entries.push(1, append(2, 1))
    assert.deepInclude(taken(entries, start), { places: [], isBehind: true })
    const read = { ordinal: 1, seq: 1, isEnded: false }
    assert.deepInclude(taken(entries, read), { places: ["1.2"], isBehind: false })
  })

  it("is behind where a run is longer than what it has of it, and where it does not know the next run", () => {
    const entries = queue()
    entries.push(1, append(0, 1, true))
    entries.reached(1, 1)
    assert.deepInclude(taken(entries, start), { places: ["1.0"], isBehind: false })
    const ended = { ordinal: 1, seq: 0, isEnded: true }
    entries.reached(2, 1)
    assert.isTrue(entries.take(ended).isBehind)
    entries.push(3, append(0, 1))
    assert.isTrue(queueWith(3).take(ended).isBehind)
    assert.isFalse(queueWith(2).take(ended).isBehind)
  })

  it("is behind where the journal's own reader could not read an entry", () => {
    const entries = queue()
    entries.push(1, { ...append(0, 1), entries: () => undefined })
    assert.deepInclude(taken(entries, start), { places: [], isBehind: true })
  })

  it("gives at most 16 entries at once", () => {
    const entries = queue()
    entries.push(1, append(0, 40))
    const first = entries.take(start)
    assert.strictEqual(first.entries.length, 16)
    assert.isTrue(first.isMore)
    assert.strictEqual(taken(entries, start).places.length, 40)
  })

  for (const [what, count, size, appends] of [
    ["256 entries", 1, 0, 257],
    ["1,000,000 units", 1, 300_000, 4]
  ] as const) {
    it(`drops what waits beyond ${what}, is behind, and goes on from memory after a read`, () => {
      const waiting = new BufferQuota(waiting_bounds)
      const entries = queue(waiting)
      for (let seq = 0; seq < appends; seq++) entries.push(1, append(seq, count, false, size))
      assert.deepInclude(taken(entries, start), { places: [], isBehind: true })
      const read = { ordinal: 1, seq: appends - 2, isEnded: false }
      const last = `1.${appends - 1}`
      assert.deepInclude(taken(entries, read), { places: [last], isBehind: false })
      entries.push(1, append(appends, 1))
      assert.deepStrictEqual(
        taken(entries, { ordinal: 1, seq: appends - 1, isEnded: false }).places,
        [`1.${appends}`]
      )
      entries.close()
      assert.strictEqual(waiting.tenants, 0)
    })
  }

  it("takes no append that is larger than its bounds alone", () => {
    const waiting = new BufferQuota(waiting_bounds)
    const entries = queue(waiting)
    entries.push(1, append(0, 1, false, 1_000_001))
    assert.deepInclude(taken(entries, start), { places: [], isBehind: true })
    entries.push(2, append(0, 257))
    assert.strictEqual(waiting.tenants, 0)
  })

  it("shares 16,000,000 units with the tenant's other watchers, and none with another tenant's", () => {
    const waiting = new BufferQuota(waiting_bounds)
    const full = Array.from({ length: 17 }, () => queue(waiting))
    for (const each of full) each.push(1, append(0, 1, false, 990_000))
    assert.deepStrictEqual(
      full.map((each) => each.take(start).isBehind),
      full.map((_, i) => i === 16)
    )
    for (const each of full) each.push(1, append(1, 1, false, 990_000))
    const other = new CommittedQueue(Tenant.make("other"), waiting)
    other.push(1, append(0, 1, false, 990_000))
    assert.deepStrictEqual(taken(other, start).places, ["1.0"])
    for (const each of [...full, other]) each.close()
    assert.strictEqual(waiting.tenants, 0)
  })

  it("shares 64,000,000 units with those of all tenants", () => {
    const waiting = new BufferQuota(waiting_bounds)
    const full = Array.from({ length: 65 }, (_, i) => {
      const each = new CommittedQueue(Tenant.make(`tenant-${i % 5}`), waiting)
      each.push(1, append(0, 1, false, 990_000))
      return each
    })
    assert.deepStrictEqual(
      full.map((each) => each.take(start).isBehind),
      full.map((_, i) => i === 64)
    )
    for (const each of full) each.close()
    assert.strictEqual(waiting.tenants, 0)
  })

  it("counts anew for a tenant for which nothing waits, and keeps at most 1,000 of them", () => {
    const waiting = new BufferQuota({ tenant_max: 10, all_max: 20_000 })
    const tenants = Array.from({ length: 1_500 }, (_, i) => Tenant.make(`tenant-${i}`))
    for (let n = 0; n < 2; n++) {
      for (const each of tenants) assert.isUndefined(waiting.reserve(each, 10))
      for (const each of tenants) assert.strictEqual(waiting.reserve(each, 1), "tenant")
      assert.strictEqual(waiting.tenants, 1_500)
      for (const each of tenants) waiting.release(each, 10)
      assert.strictEqual(waiting.tenants, 0)
      assert.strictEqual(waiting.accounts, 1_000)
    }
  })

  it("knows of at most 256 runs, and is behind when it has forgotten them", () => {
    const entries = queue()
    for (let ordinal = 1; ordinal <= 257; ordinal++) entries.push(ordinal, append(0, 1, true))
    assert.deepInclude(taken(entries, start), { places: [], isBehind: true })
    const read = { ordinal: 256, seq: 0, isEnded: true }
    assert.deepInclude(taken(entries, read), { places: ["257.0"], isBehind: false })
  })
})

/** One that knows the first entry of the run with this ordinal. */
const queueWith = (ordinal: number): CommittedQueue => {
  const entries = queue()
  entries.push(ordinal, append(0, 1))
  return entries
}
