/**
 * Amends runs by commands from outside. Concurrent commands are grouped: one statement reads their runs, another appends the
 * events that the commands return and checks that each run is still as it was read. A run that was written in between is read
 * again. A run that another transaction has locked, or that others keep writing, is amended alone under its lock. Private to this
 * room.
 */
import { Clock, Effect } from "effect"
import type { Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Append, JournalError, RunJournal } from "../../../services/RunJournal.ts"
import { amendmentOf } from "../../../services/RunJournal.ts"
import type { RunHead } from "../../../services/RunReader.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { stillNeeded } from "../../../src/run/Needs.ts"
import type { RunQuarantined } from "../../../src/run/Quarantine.ts"
import type { Amendment } from "../../../src/run/RunCommand.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import type { RunEvent } from "../../../src/run/RunEvent.ts"
import type { RunState } from "../../../src/run/RunState.ts"
import { isParkable, statusOf } from "../../../src/run/RunState.ts"
import { spanned } from "../../../src/value/Telemetry.ts"
import { inTransaction, isInTransaction, orJournalError } from "../engine/SqlFailure.ts"
import type { AmendmentWakeups, ClaimFor, CommitListeners } from "./RunListeners.ts"
import type { EncodedAppend } from "./AppendStatement.ts"
import { answerColumns, batchParams } from "./AppendStatement.ts"
import * as GroupCommit from "./GroupCommit.ts"
import { appendWithin, decodePlaces, encodedWithin, notWritten } from "./JournalWriter.ts"
import type { marker } from "./QuarantineRows.ts"
import * as RunClaims from "./RunClaims.ts"
import { foldableEntries, find, whyOf } from "./RunRows.ts"
import * as RunReads from "./RunReads.ts"

/** The most amendments in one statement. */
const batch_max = 512
/** How often an amendment is tried without a lock. */
const tries_max = 3

/** An append that may also claim its run; its last event is then the claim. */
interface Amending extends EncodedAppend {
  readonly claims: ClaimFor | undefined
}

/** Appends a batch, claims the runs that have an owner, and notifies the other processes (`engine/migrations/0001_append.ts`). */
const statement = `SELECT place FROM troupe.amend_runs($1::text[]::uuid[], $2::int4[], $3::int4[], $4::int4[], $5::int4[],
  $6::text[]::int8[], $7::int4[], $8::int4[], $9::text[], $10::text[], $11::int4[], $12::text[], $13::text[], $14::text,
  $15::int4[], $16::text[]::uuid[], $17::int4[], $18::text[]) AS place`

/** Commits a batch and says of each amendment, in order, whether it was appended. */
const commitBatch =
  (sql: SqlClient.SqlClient, sender: string) => (batch: ReadonlyArray<Amending>) => {
    const owners = batch.map(({ claims }) => claims?.claim.head.owner ?? "")
    const params = [...batchParams(batch), owners, sender, ...answerColumns(batch)]
    return Effect.mapError(
      Effect.map(Effect.flatMap(sql.unsafe(statement, params), decodePlaces), (rows) => {
        const refused = new Set(rows.map(({ place }) => place))
        return batch.map((_, index) => !refused.has(index + 1))
      }),
      orJournalError
    )
  }

const appendOf = (
  { epoch, length, run_id }: RunHead,
  events: ReadonlyArray<RunEvent>,
  after: RunState
): Append => ({
  run: run_id,
  fence: { epoch, length },
  events,
  status: statusOf(after),
  parkable: isParkable(after)
})

/** The `RunClaimed` event of a claim, encoded for storage. */
const claimEvent = ({ claim }: ClaimFor): EncodedAppend["events"][number] => {
  const { epoch, owner } = claim.head
  return { type: "RunClaimed", payload: canonical({ _tag: "RunClaimed", epoch, owner }) }
}

/** The claim to append with the amendment; undefined unless a listener of this journal takes the run. */
const claimWith = (
  wakeups: AmendmentWakeups,
  { entries: all, head }: RunReads.WholeRun,
  { events, parkable = false, status }: Append,
  at: number
): ClaimFor | undefined => {
  const length = head.length + events.length
  const amended = { ...head, length, status, parkable }
  const listener = wakeups.claimingListener(amended, head.parkable)
  const owner = listener?.claimant?.owner
  if (listener === undefined || owner === undefined) return undefined
  const epoch = head.epoch + 1
  const claimed: RunEvent = { _tag: "RunClaimed", epoch, owner }
  const added = [...events, claimed].map((event, i) => ({ seq: head.length + i, at, event }))
  const claim = {
    head: { ...amended, epoch, owner, length: length + 1 },
    entries: [...all, ...added]
  }
  return { listener, claim }
}

type Command<A, E> = (state: RunState, now: number) => Amendment<A, E>

export interface Services {
  readonly sql: SqlClient.SqlClient
  readonly listeners: CommitListeners
  readonly wakeups: AmendmentWakeups
  readonly mark: ReturnType<typeof marker>
}

/** Amends one run under its lock. Must run in a transaction. */
const amendLocked = Effect.fnUntraced(function* <A, E>(
  { listeners, sql, wakeups }: Services,
  run: RunId,
  command: Command<A, E>
) {
  const head = yield* find(sql, run, "FOR UPDATE OF r")
  if (head === undefined) return yield* new RunNotFound({ run_id: run })
  if (head.quarantined === true) return yield* Effect.flatMap(whyOf(sql, run), Effect.fail)
  const all = yield* foldableEntries(sql, run, head.length)
  const now = yield* Clock.currentTimeMillis
  const { after, answer, events } = yield* Effect.fromResult(
    amendmentOf(run, all, head.length, command, now)
  )
  if (events.length === 0) return answer
  yield* appendWithin(sql, listeners, appendOf(head, events, after)).pipe(
    Effect.catchTag(["FencedOff", "StaleAppend"], () =>
      Effect.fail(notWritten("a locked run was written by another"))
    )
  )
  if (head.needs !== undefined) {
    yield* RunClaims.setNeeds(sql, run, stillNeeded(head.needs, after))
  }
  yield* wakeups.wake(run)
  return answer
})

/**
 * Wakes this process's listeners after an amendment of which it is unknown whether it was written. While the store is away they
 * are not woken, because a run whose journal cannot be read would crash; the run is then woken when the listener's connection
 * returns, or by a sweep.
 */
const wakeLost = ({ sql, wakeups }: Services, run: RunId): Effect.Effect<void> =>
  Effect.withFiber((fiber) =>
    // What an open transaction wrote is not committed yet.
    isInTransaction(sql, fiber)
      ? Effect.void
      : Effect.ignore(Effect.tap(find(sql, run), () => Effect.sync(() => wakeups.call(run))))
  )

export const make = Effect.fnUntraced(function* (
  services: Services
): Effect.fn.Return<RunJournal["Service"]["amend"], never, Scope.Scope> {
  const { listeners, mark, sql, wakeups } = services
  const read = yield* RunReads.whole(sql)
  const append = yield* GroupCommit.make({
    commit: commitBatch(sql, wakeups.sender),
    batch_max,
    overflow: () => notWritten("too many amendments wait"),
    gathers: true
  })

  /** Publishes the events and wakes the listeners once the append is committed, even if the caller is interrupted meanwhile. */
  const write = (item: Amending) =>
    Effect.uninterruptible(
      Effect.tap(append(item), (isAppended) =>
        Effect.sync(() => {
          if (!isAppended) return
          listeners.publishAppend(item)
          wakeups.call(item.append.run, item.claims)
        })
      )
    )

  /** Undefined where the run was written in between, or has to be amended under its lock. */
  const amendInBatch = Effect.fnUntraced(function* <A, E>(run: RunId, command: Command<A, E>) {
    const found = yield* read(run)
    if (found === undefined) return yield* new RunNotFound({ run_id: run })
    const { entries: all, head } = found
    if (head.quarantined === true) return yield* Effect.flatMap(whyOf(sql, run), Effect.fail)
    if (head.needs !== undefined) return undefined
    const now = yield* Clock.currentTimeMillis
    const { after, answer, events } = yield* Effect.fromResult(
      amendmentOf(run, all, head.length, command, now)
    )
    if (events.length === 0) return answer
    const append = appendOf(head, events, after)
    const claims = claimWith(wakeups, found, append, now)
    const item = yield* encodedWithin(append, now)
    const events_stored = claims === undefined ? item.events : [...item.events, claimEvent(claims)]
    return (yield* write({ ...item, events: events_stored, claims })) ? answer : undefined
  })

  const amendOnce = Effect.fnUntraced(function* <A, E>(run: RunId, command: Command<A, E>) {
    const isWithin = isInTransaction(sql, yield* Effect.fiber)
    for (let tries = isWithin ? tries_max : 0; tries < tries_max; tries++) {
      const answer = yield* amendInBatch(run, command)
      if (answer !== undefined) return answer
    }
    return yield* inTransaction(sql)(amendLocked(services, run, command))
  })

  const scope = yield* Effect.scope
  const amend = Effect.fnUntraced(function* <A, E>(run: RunId, command: Command<A, E>) {
    const answer = yield* mark(amendOnce(run, command)).pipe(
      Effect.mapError(
        orJournalError<RunNotFound | RunQuarantined | JournalError | SqlError.SqlError>
      ),
      Effect.tapError((error) =>
        error._tag === "JournalError" && error.lost
          ? Effect.forkIn(wakeLost(services, run), scope)
          : Effect.void
      )
    )
    return yield* Effect.fromResult(answer)
  })
  return spanned("RunJournal.amend", amend)
})
