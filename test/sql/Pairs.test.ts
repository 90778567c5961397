/** Events that were appended together stand two in a row, and are read as if each had its own. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunQuarantine } from "../../services/RunQuarantine.ts"
import { RunReader } from "../../services/RunReader.ts"
import type { RunId } from "../../src/value/Ids.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

interface Pair {
  readonly seq: number
  readonly type: string | null
  readonly next: boolean
}

const pairsOf = (run: RunId) =>
  SqlClient.SqlClient.use((sql) =>
    sql.unsafe<Pair>(
      `SELECT seq, type, next IS NOT NULL AS next FROM troupe.run_pairs WHERE run_id = $1::uuid ORDER BY seq`,
      [run]
    )
  )

interface Shown {
  readonly seq: number
  readonly at: bigint
  readonly type: string
  readonly payload: string
}

const shownOf = (run: RunId) =>
  SqlClient.SqlClient.use((sql) =>
    sql.unsafe<Shown>(
      `SELECT seq, at, type, payload FROM troupe.run_events WHERE run_id = $1::uuid ORDER BY seq`,
      [run]
    )
  )

/** Nine events: two of the beginning; three and one that statements look for by its type; three. */
const begunRun = Effect.gen(function* () {
  const journal = yield* RunJournal
  const ownership = yield* RunOwnership
  const task = Samples.newTask()
  const { id: run } = task
  yield* journal.create(run, 1, Samples.runAccepted(task))
  const { head } = yield* ownership.claim(run, "a")
  const turn = (step: number) => Samples.modelTurned(step, 0, undefined, `turn ${step}`)
  const append = (length: number, ...events: ReadonlyArray<ReturnType<typeof turn>>) =>
    journal.append({ run, fence: { epoch: head.epoch, length }, events, status: "processing" })
  yield* append(2, turn(1), turn(2), turn(3))
  const asked = Samples.approvalRequested()
  yield* journal.append({
    run,
    fence: { epoch: head.epoch, length: 5 },
    events: [asked, turn(4)],
    status: "processing"
  })
  yield* append(7, turn(5), turn(6))
  return run
})

onEngines("events in pairs", (it) => {
  it.effect("two of an append share a row, but for those that are looked for by type", () =>
    Effect.gen(function* () {
      const run = yield* begunRun
      assert.deepStrictEqual(
        (yield* pairsOf(run)).map((row) => ({ ...row })),
        [
          { seq: 0, type: null, next: false },
          { seq: 1, type: null, next: false },
          { seq: 2, type: null, next: true },
          { seq: 4, type: null, next: false },
          { seq: 5, type: "ApprovalRequested", next: false },
          { seq: 6, type: null, next: false },
          { seq: 7, type: null, next: true }
        ]
      )
      const shown = yield* shownOf(run)
      const entries = yield* (yield* RunReader).read(run, 0, 100)
      assert.deepStrictEqual(
        shown.map(({ at, payload, seq, type }) => ({
          seq,
          at: Number(at),
          type,
          event: JSON.parse(payload)
        })),
        entries.map(({ at, event, seq }) => ({
          seq,
          at,
          type: event._tag,
          event: JSON.parse(JSON.stringify(event))
        }))
      )
    })
  )

  it.effect("every page of a run is that part of the whole", () =>
    Effect.gen(function* () {
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const quarantine = yield* RunQuarantine
      const run = yield* begunRun
      const { tenant } = (yield* reader.head(run))!
      const whole = yield* reader.read(run, 0, 100)
      const raw = yield* shownOf(run)
      assert.strictEqual(whole.length, 9)
      for (let from = 0; from <= 10; from++) {
        // Alone and with others in a statement: few events are read in a statement of many readers, more in one of their own.
        for (const limit of [1, 2, 3, 20]) {
          const part = whole.slice(from, from + limit)
          assert.deepStrictEqual(yield* reader.read(run, from, limit), part)
          assert.deepStrictEqual(yield* reader.readFor(tenant, run, from, limit), part)
          const page = yield* quarantine.raw(tenant, run, from, limit)
          assert.deepStrictEqual(
            page.events.map(({ payload }) => payload),
            raw.slice(from, from + limit).map(({ payload }) => payload)
          )
        }
      }
      const claim = yield* ownership.claim(run, "b")
      assert.deepStrictEqual(claim.entries.slice(0, 9), whole)
    })
  )

  it.effect("a process of the version before writes events through the view", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const run = yield* begunRun
      const insert = (seq: number, type: string) =>
        sql.unsafe(
          `INSERT INTO troupe.run_events (run_id, seq, at, type, payload)
           VALUES ($1::uuid, $2::int4, 1, $3::text, $4::text) RETURNING seq`,
          [run, seq, type, `{"_tag":"${type}"}`]
        )
      const before = yield* shownOf(run)
      // Those that are there are left as they are.
      for (const seq of [2, 3, 5]) assert.lengthOf(yield* insert(seq, "Other"), 0)
      assert.deepStrictEqual(yield* shownOf(run), before)
      assert.lengthOf(yield* insert(9, "HandedOff"), 1)
      assert.lengthOf(yield* insert(10, "Other"), 1)
      assert.deepStrictEqual(
        (yield* pairsOf(run)).slice(-2).map((row) => ({ ...row })),
        [
          { seq: 9, type: "HandedOff", next: false },
          { seq: 10, type: null, next: false }
        ]
      )
      for (const seq of [2, 3, 4]) {
        yield* sql.unsafe(
          `UPDATE troupe.run_events SET payload = $3::text WHERE run_id = $1::uuid AND seq = $2::int4`,
          [run, seq, `{"_tag":"Changed","seq":${seq}}`]
        )
      }
      const changed = yield* shownOf(run)
      assert.deepStrictEqual(
        changed.map(({ payload, seq }) => (seq < 2 || seq > 4 ? "" : payload)).filter(Boolean),
        [2, 3, 4].map((seq) => `{"_tag":"Changed","seq":${seq}}`)
      )
      assert.deepStrictEqual([changed[0], ...changed.slice(5, 9)], [before[0], ...before.slice(5)])
    })
  )

  it.effect("an event that is deleted through the view takes no other with it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const run = yield* begunRun
      const before = yield* shownOf(run)
      const remove = (...seqs: ReadonlyArray<number>) =>
        sql.unsafe(
          `DELETE FROM troupe.run_events WHERE run_id = $1::uuid AND seq = ANY ($2::int4[])`,
          [run, seqs]
        )
      yield* remove(2)
      assert.deepStrictEqual(
        yield* shownOf(run),
        before.filter(({ seq }) => seq !== 2)
      )
      yield* remove(8)
      assert.deepStrictEqual(
        yield* shownOf(run),
        before.filter(({ seq }) => seq !== 2 && seq !== 8)
      )
      yield* sql.unsafe(`DELETE FROM troupe.run_events WHERE run_id = $1::uuid`, [run])
      assert.lengthOf(yield* pairsOf(run), 0)
    })
  )
})
