import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { RunId } from "../../src/value/Ids.ts"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { RunReader } from "../../services/RunReader.ts"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import type { Damage } from "../contracts/Quarantined.ts"
import { isQuarantined } from "../contracts/Quarantined.ts"
import * as Samples from "../contracts/Samples.ts"
import { onEngines } from "./Engines.ts"

/** Writes another payload into an event, and gives the way back. */
const rewritten = (seq: number, payload: string) =>
  Effect.fnUntraced(function* (run: RunId) {
    const sql = yield* SqlClient.SqlClient
    const write = (text: string) =>
      sql.unsafe(
        "UPDATE troupe.run_events SET payload = $3::text WHERE run_id = $1::uuid AND seq = $2::int4",
        [run, seq, text]
      )
    const [row] = yield* sql.unsafe<{ readonly payload: string }>(
      "SELECT payload FROM troupe.run_events WHERE run_id = $1::uuid AND seq = $2::int4",
      [run, seq]
    )
    yield* write(payload)
    return write(row!.payload)
  })

/** Deletes an event, and gives the way back. */
const deleted = (which: number) =>
  Effect.fnUntraced(function* (run: RunId) {
    const sql = yield* SqlClient.SqlClient
    const [row] = yield* sql.unsafe<{
      readonly seq: number
      readonly at: bigint
      readonly type: string
      readonly payload: string
    }>(
      "DELETE FROM troupe.run_events WHERE run_id = $1::uuid AND seq = $2::int4 RETURNING seq, at, type, payload",
      [run, which]
    )
    return sql.unsafe(
      "INSERT INTO troupe.run_events VALUES ($1::uuid, $2::int4, $3::int8, $4, $5)",
      [run, row!.seq, Number(row!.at), row!.type, row!.payload]
    )
  })

/** The run: 0 accepted, 1 claimed, 2 the turn, 3 the question. */
const damages: Readonly<Record<string, Damage<SqlClient.SqlClient>>> = {
  "an event in the middle is missing": { reason: "gap", seq: 2, inflict: deleted(2) },
  "the last event is missing": { reason: "gap", seq: 3, inflict: deleted(3) },
  "an event is no JSON": { reason: "unreadable", seq: 2, inflict: rewritten(2, '{"_tag":"Mod') },
  "an event lacks its members": {
    reason: "unreadable",
    seq: 3,
    inflict: rewritten(3, '{"_tag":"ApprovalRequested"}')
  },
  "an event is of a kind that nobody knows": {
    reason: "unknown_event",
    seq: 2,
    inflict: rewritten(2, '{"_tag":"RunTeleported","to":"tomorrow"}')
  },
  "an event does not fit the others": {
    reason: "unfoldable",
    seq: 2,
    inflict: rewritten(2, '{"_tag":"CallReopened","call":"0/7.7","by":"nobody"}')
  },
  "a run does not begin with its acceptance": {
    reason: "unfoldable",
    seq: 0,
    inflict: rewritten(0, '{"_tag":"RunClaimed","epoch":1,"owner":"nobody"}')
  }
}

onEngines("a run in quarantine", (it) => {
  for (const [what, damage] of Object.entries(damages)) {
    it.effect(`is named, listed and left alone where ${what}, and goes on once it is fixed`, () =>
      isQuarantined(damage).pipe(Effect.provide(EphemeralStore.layer))
    )
  }

  it.effect("is found by its own writer, which appends nothing to it and ends", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const reader = yield* RunReader
      const ownership = yield* RunOwnership
      const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      yield* Effect.asVoid(deleted(2)(begun.run))
      const found = yield* Effect.flip(reader.read(begun.run, 0, 10))
      assert.deepInclude(found, { _tag: "RunQuarantined", reason: "gap", seq: 2 })
      const refused = yield* Effect.flip(journal.append(begun.next(Samples.callSettled())))
      assert.strictEqual(refused._tag, "StaleAppend")
      const agents = [begun.task.address.agent]
      for (const owner of ["somebody", "else"]) {
        const heads = yield* ownership.recoverable(owner, agents, 10_000)
        assert.notInclude(
          heads.map((head) => head.run_id),
          begun.run
        )
      }
      assert.isTrue((yield* reader.head(begun.run)).quarantined)
    })
  )
})
