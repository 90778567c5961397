/**
 * The journal of runs in SQL: fenced appends in groups, with their projections in the same statement.
 *
 * An append inside an ambient transaction is part of that transaction, in a savepoint of its own, and becomes durable when that
 * transaction commits.
 */
import { Clock, Context, Effect, Exit, Layer, Semaphore } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import type { Append, Fence, JournalError } from "../../../services/RunJournal.ts"
import { FencedOff, RunJournal, StaleAppend } from "../../../services/RunJournal.ts"
import { RunNews } from "../../../services/RunNews.ts"
import { RunOwnership } from "../../../services/RunOwnership.ts"
import { RunQuarantine } from "../../../services/RunQuarantine.ts"
import { RunReader } from "../../../services/RunReader.ts"
import type { RunPorts } from "../../../services/Stores.ts"
import { canonical } from "../../../src/value/Canonical.ts"
import type { RunId } from "../../../src/value/Ids.ts"
import { RunNotFound } from "../../../src/run/RunCommand.ts"
import type { RunAccepted } from "../../../src/run/RunEvent.ts"
import { transaction_ms_max } from "../../../src/tool/ToolSpec.ts"
import type { EncodedAppend } from "./AppendStatement.ts"
import * as Amendments from "./Amendments.ts"
import * as BodyConnection from "./BodyConnection.ts"
import { amendmentWakeups, CommitListeners } from "./RunListeners.ts"
import * as GroupCommit from "./GroupCommit.ts"
import * as RunBeginnings from "./RunBeginnings.ts"
import * as RunClaims from "./RunClaims.ts"
import * as QuarantineRows from "./QuarantineRows.ts"
import * as RunReads from "./RunReads.ts"
import { find } from "./RunRows.ts"
import { appendWithin, commit, encoded, notWritten } from "./JournalWriter.ts"
import {
  inTransaction,
  isInTransaction,
  orJournalError,
  toJournalError
} from "../engine/SqlFailure.ts"
import { ServerSession } from "../engine/ServerSession.ts"
import { SqlNotify } from "../engine/SqlNotify.ts"
import { TenantReads } from "../engine/TenantReads.ts"

/** The most appends in one statement. Larger batches gain nothing. */
const batch_max = 512

/**
 * The most bodies of transactional tools that run at the same time. Each holds a connection for up to 5 s. The remaining
 * connections are for appends and for the lease: without its lease, this process would lose every run to the others.
 */
const bodies_max = 6

const creating = (sql: SqlClient.SqlClient, listeners: CommitListeners) =>
  Effect.fn("RunJournal.create")(function* (run: RunId, ordinal: number, accepted: RunAccepted) {
    const now = yield* Clock.currentTimeMillis
    const payload = canonical(accepted)
    const { address, conversation, tenant } = accepted
    const rows = yield* sql
      .unsafe(
        `WITH r AS (INSERT INTO troupe.runs (run_id, tenant, length) VALUES ($1::uuid, $2::text, 1)
           ON CONFLICT DO NOTHING RETURNING run_id),
         d AS (INSERT INTO troupe.run_details (run_id, tenant, agent, address_key, conversation, ordinal, created_at)
           SELECT run_id, $2::text, $3::text, $4::text, $5::text, $6::int4, $7::int8 FROM r),
         e AS (INSERT INTO troupe.run_pairs (run_id, seq, at, payload) SELECT run_id, 0, $7::int8, $8::text FROM r)
         SELECT 1 AS made FROM r`,
        [run, tenant, address.agent, address.key, conversation, ordinal, now, payload]
      )
      .pipe(Effect.mapError(toJournalError))
    if (rows.length === 0) return false
    const stored = { run, from: 0, at: now, events: [{ type: accepted._tag, payload }] }
    yield* sql.afterCommit(Effect.sync(() => listeners.publish(stored)))
    return true
  })

/** Carries the exit of a failed body through the savepoint. It is an error, so that the savepoint rolls back. */
class RolledBack<A, E> {
  readonly _tag = "RolledBack"
  readonly exit: Exit.Exit<A, E>
  constructor(exit: Exit.Exit<A, E>) {
    this.exit = exit
  }
}

/**
 * Runs the body in a savepoint, for at most 5 s. A body that ignored a failed statement counts as failed: the database accepts
 * nothing more before a rollback, not even the release of the savepoint.
 */
const savepoint = <A, E, R>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, E, R>
): Effect.Effect<Exit.Exit<A, E>, SqlError.SqlError, R> => {
  const isUsable = Effect.mapError(sql.unsafe(`SELECT 1`), (error) =>
    error.reason._tag === "ConnectionError" ? error : new RolledBack<A, E>(Exit.die(error))
  )
  return BodyConnection.guard(sql, body).pipe(
    Effect.timeoutOrElse({ duration: transaction_ms_max, orElse: () => Effect.interrupt }),
    Effect.exit,
    Effect.filterOrFail(Exit.isSuccess, (exit) => new RolledBack(exit)),
    Effect.tap(() => isUsable),
    inTransaction(sql),
    Effect.catchTag("RolledBack", ({ exit }) => Effect.succeed(exit))
  )
}

/** The room's own statements are planned without scans of whole tables (`engine/Postgres.ts`). A body may scan its own tables. */
const allowScans = `SELECT set_config('enable_seqscan', 'on', true)`

const transacting =
  (
    sql: SqlClient.SqlClient,
    listeners: CommitListeners,
    bodies: Semaphore.Semaphore,
    reset: string
  ) =>
  <A, E, R>(
    run: RunId,
    fence: Fence,
    body: Effect.Effect<A, E, R>,
    record: (exit: Exit.Exit<A, E>) => Pick<Append, "events" | "status" | "parkable" | "took">
  ): Effect.Effect<void, StaleAppend | FencedOff | JournalError, R> =>
    Effect.gen(function* () {
      const head = yield* find(sql, run, "FOR UPDATE OF r")
      if (head === undefined) {
        return yield* notWritten("append to a run that was never created")
      }
      if (head.epoch !== fence.epoch)
        return yield* new FencedOff({ run_id: run, epoch: head.epoch })
      // A run in quarantine refuses the append here, before the body runs.
      if (head.length !== fence.length || head.quarantined === true)
        return yield* new StaleAppend({ run_id: run, length: head.length })
      yield* sql.unsafe(allowScans)
      const exit = yield* savepoint(sql, body)
      yield* sql.unsafe(reset)
      const recorded = record(exit)
      if (recorded.events.length > 0)
        yield* appendWithin(sql, listeners, { run, fence, ...recorded })
    }).pipe(inTransaction(sql), bodies.withPermit, Effect.mapError(orJournalError))

/**
 * Makes the function that appends: in the ambient transaction, if there is one, otherwise in one statement with appends to other
 * runs.
 */
const appending = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  listeners: CommitListeners
) {
  const write = yield* GroupCommit.make({
    commit: (batch: ReadonlyArray<EncodedAppend>) =>
      Effect.mapError(commit(sql)(batch), orJournalError),
    batch_max,
    overflow: () => notWritten("too many appends wait")
  })
  return (append: Append): Effect.Effect<void, StaleAppend | FencedOff | JournalError> =>
    Effect.withFiber((fiber) => {
      if (isInTransaction(sql, fiber)) return appendWithin(sql, listeners, append)
      const now = append.at ?? fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
      return Effect.flatMap(encoded(append, now), (item) =>
        Effect.flatMap(write(item), (refused) => {
          if (refused !== undefined) return Effect.fail(refused)
          listeners.publishAppend(item)
          return Effect.void
        })
      )
    })
})

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const wakeups = yield* amendmentWakeups(sql)
  const { onAmended, wake } = wakeups
  const markQuarantined = QuarantineRows.marker(sql)
  const listeners = new CommitListeners()
  const take = yield* RunClaims.claiming(sql)
  const tenants = yield* TenantReads
  const reset = BodyConnection.resetTo((yield* ServerSession).settings)
  const reads = yield* RunReads.make(sql, tenants)
  const claim = Effect.fnUntraced(function* (...of: Parameters<typeof take>) {
    const claimed = yield* take(...of)
    yield* sql.afterCommit(Effect.sync(() => listeners.publishClaim(claimed)))
    return claimed
  })
  const journal = RunJournal.of({
    create: creating(sql, listeners),
    append: yield* appending(sql, listeners),
    transact: transacting(sql, listeners, yield* Semaphore.make(bodies_max), reset),
    amend: yield* Amendments.make({ sql, listeners, wakeups, mark: markQuarantined })
  })
  const reader = RunReader.of({
    read: (run, from, limit) => markQuarantined(reads.read(run, from, limit)),
    readFor: (tenant, run, from, limit) => markQuarantined(reads.readFor(tenant, run, from, limit)),
    head: Effect.fn("RunReader.head")(function* (run) {
      const head = yield* Effect.mapError(find(sql, run), orJournalError)
      return head ?? (yield* new RunNotFound({ run_id: run }))
    }),
    unfinished: reads.unfinished
  })
  const ownership = RunOwnership.of({
    begin: yield* RunBeginnings.make(sql, listeners),
    claim: (run, owner, seen) => markQuarantined(claim(run, owner, seen)),
    ...RunClaims.leases(sql, wake)
  })
  const quarantine = QuarantineRows.make(sql, tenants, markQuarantined, wake)
  return Context.make(RunJournal, journal).pipe(
    Context.add(RunReader, reader),
    Context.add(RunOwnership, ownership),
    Context.add(RunQuarantine, quarantine),
    Context.add(RunNews, { onAmended, onCommitted: (listener) => listeners.listen(listener) })
  )
})

export const layer: Layer.Layer<
  RunPorts,
  SqlError.SqlError,
  SqlClient.SqlClient | SqlNotify | TenantReads
> = Layer.effectContext(make)
