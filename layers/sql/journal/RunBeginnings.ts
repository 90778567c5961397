/**
 * Begins runs in the process that accepted their tasks, several in one statement: it creates and claims them, and removes their
 * dispatches from the outbox. Private to this room.
 */
import { Clock, Effect, Schema } from "effect"
import type { Scope } from "effect"
import type { SqlClient } from "effect/sql"
import type { Beginning, Claim, RunOwnership } from "../../../services/RunOwnership.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import { addressKey } from "../../../src/value/Ids.ts"
import type { RunAccepted, RunEvent } from "../../../src/run/RunEvent.ts"
import { spanned } from "../../../src/value/Telemetry.ts"
import { byPlace, journalRowReader } from "../engine/DecodedRows.ts"
import { inTransaction, isInTransaction, orJournalError } from "../engine/SqlFailure.ts"
import type { CommitListeners, Stored } from "./RunListeners.ts"
import type { Item } from "./GroupCommit.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { notWritten } from "./JournalWriter.ts"

/** The `RunClaimed` event of a run that begins claimed, at epoch 1. */
const firstClaim = (owner: string): RunEvent => ({ _tag: "RunClaimed", epoch: 1, owner })

/** The JSON texts of the first two events of a run that begins claimed. */
export type FirstTexts = readonly [accepted: string, claimed: string]

/** Encodes those two events. Throws a RangeError where an event is not JSON. */
export const firstTexts = (accepted: RunAccepted, owner: string): FirstTexts => [
  canonical(accepted),
  canonical(firstClaim(owner))
]

/** A run that waits to begin, with the JSON texts of its first two events. */
interface Wanted extends Item {
  readonly beginning: Beginning
  readonly owner: string
  /** ms since 1970. */
  readonly at: number
  readonly texts: FirstTexts
}

const readBegun = journalRowReader(
  Schema.Struct({ place: Schema.Int, begun: Schema.Boolean }),
  "begun runs"
)

/** The most runs in one statement. */
const batch_max = 128

// Times are passed as text, because the two engines encode arrays of numbers beyond int4 differently.
const statement = `SELECT place, begun FROM troupe.begin_runs($1::text[], $2::text[], $3::text[], $4::text[], $5::text[],
  $6::text[], $7::text[], $8::int4[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14)`

const columnsOf = (batch: ReadonlyArray<Wanted>, waits: boolean): ReadonlyArray<unknown> => {
  const runs = batch.map(({ beginning }) => beginning)
  return [
    runs.map(({ run }) => run),
    runs.map(({ dispatch }) => dispatch.id),
    runs.map(({ dispatch }) => dispatch.claim),
    runs.map(({ accepted }) => accepted.tenant),
    runs.map(({ accepted }) => accepted.address.agent),
    runs.map(({ accepted }) => accepted.address.key),
    runs.map(({ accepted }) => accepted.conversation),
    runs.map(({ ordinal }) => ordinal),
    batch.map(({ owner }) => owner),
    batch.map(({ at }) => String(at)),
    batch.map(({ texts }) => texts[0]),
    batch.map(({ texts }) => texts[1]),
    runs.map(({ accepted }) => addressKey(accepted.address)),
    waits
  ]
}

/** Whether each run was begun; undefined where another transaction has locked the key of its dispatch. */
const beginAll = (sql: SqlClient.SqlClient, batch: ReadonlyArray<Wanted>, waits: boolean) =>
  Effect.map(readBegun(sql, statement, columnsOf(batch, waits)), (rows) =>
    byPlace(batch, rows).map((row) => row?.begun)
  )

/** The claim of a run that was created and claimed at once. */
export const claimOf = ({
  accepted,
  at,
  ordinal,
  owner,
  run
}: Pick<Beginning, "accepted" | "ordinal" | "run"> & Pick<Wanted, "at" | "owner">): Claim => {
  const { address, conversation, tenant } = accepted
  const events: ReadonlyArray<RunEvent> = [accepted, firstClaim(owner)]
  return {
    head: {
      run_id: run,
      tenant,
      address,
      conversation,
      ordinal,
      status: "processing",
      epoch: 1,
      length: events.length,
      created_at: at,
      owner,
      parkable: false
    },
    entries: events.map((event, seq) => ({ seq, at, event }))
  }
}

const storedOf = ({ at, beginning: { run }, texts }: Wanted): Stored => ({
  run,
  from: 0,
  at,
  events: [
    { type: "RunAccepted", payload: texts[0] },
    { type: "RunClaimed", payload: texts[1] }
  ]
})

const wantedOf = (beginning: Beginning, owner: string, at: number) =>
  Effect.try({
    try: (): Wanted => {
      const texts = firstTexts(beginning.accepted, owner)
      return { lane: beginning.run, size: texts[0].length, beginning, owner, at, texts }
    },
    catch: () => notWritten("an event that is not JSON")
  })

/**
 * Makes the function that begins a run: in the ambient transaction, if there is one, otherwise in one statement with runs of
 * other addresses.
 */
export const make = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  listeners: CommitListeners
): Effect.fn.Return<RunOwnership["Service"]["begin"], never, Scope.Scope> {
  const beginInBatch = yield* GroupCommit.make({
    commit: (batch: ReadonlyArray<Wanted>) =>
      Effect.mapError(beginAll(sql, batch, false), orJournalError),
    batch_max,
    overflow: () => notWritten("too many runs wait to begin")
  })
  /** Waits until the key of the dispatch is unlocked, then begins the run alone. */
  const beginWhenFree = (wanted: Wanted, isWithin: boolean) => {
    const one = beginAll(sql, [wanted], true)
    return Effect.mapBoth(isWithin ? inTransaction(sql)(one) : one, {
      onFailure: orJournalError,
      onSuccess: ([begun]) => begun === true
    })
  }
  const begin = Effect.fnUntraced(function* (beginning: Beginning, owner: string) {
    const wanted = yield* wantedOf(beginning, owner, yield* Clock.currentTimeMillis)
    const isWithin = isInTransaction(sql, yield* Effect.fiber)
    const begun =
      (isWithin ? undefined : yield* beginInBatch(wanted)) ??
      (yield* beginWhenFree(wanted, isWithin))
    if (!begun) return undefined
    yield* sql.afterCommit(Effect.sync(() => listeners.publish(storedOf(wanted))))
    return claimOf({ ...beginning, at: wanted.at, owner })
  })
  return spanned("RunOwnership.begin", begin)
})
