/**
 * Watches the owners on one PostgreSQL. Each owner holds an advisory lock in a session of its process, which the server releases
 * when the process dies. A process that finds the lock free for a while, unless the server has just started, ends the owner's
 * lease and frees what the owner had claimed: runs, deliveries, tool calls.
 *
 * A stopped process keeps its session, and a network partition can hide that a process has died. In these cases the lease
 * decides, as it would without locks.
 */
import { Clock, Effect, Latch, Layer, Schedule, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlConnection, SqlError } from "effect/sql"
import { Owners } from "../../../services/Owners.ts"
import { outbox_channel } from "../outbox/OutboxRows.ts"
import { tool_queue_channel } from "../tools/ToolWakeups.ts"
import { rowDecoder } from "../engine/DecodedRows.ts"
import { inTransaction } from "../engine/SqlFailure.ts"
import { listenIn } from "../../../src/value/Listeners.ts"

/** How often each process looks, in ms. It is also how soon a process finds that its own session was lost. */
const look_ms = 250
/**
 * How long a lock must be free before its owner counts as gone, in ms. A living owner whose connection broke locks again before
 * that.
 */
const grace_ms = 500
/**
 * For how long after the server's start no owner counts as gone, in seconds: the start ended every session, and all owners have
 * to lock again.
 */
const started_s = 10

/**
 * For how long an owner that is gone still counts as dead, in ms. Whoever read it as the owner of a run before may decide by that
 * only now (bench row `answers`: each answer of that moment would wait for a sweep).
 */
const gone_ms = 10_000

const reconnect = Schedule.min([Schedule.exponential("100 millis"), Schedule.spaced("1 second")])

const key = (owner: string) => `hashtextextended('troupe owner ' || ${owner}, 0)`

const lock = `SELECT pg_advisory_lock(${key("$1::text")})::text`
const unlock = `SELECT pg_advisory_unlock(${key("$1::text")})::text`

/** Registers an owner, without a lease: a runtime takes and extends its own lease, and a relay has none. */
const register = `INSERT INTO troupe.processes (owner, expires_at, guarded, agents)
  VALUES ($1::text, clock_timestamp(), true, $2::text[])
  ON CONFLICT (owner) DO UPDATE SET guarded = true, agents = excluded.agents`

/**
 * Reads all owners and whether their locks are free. It tries the lock as a shared one, which only the owner's own lock prevents,
 * so that several processes may look at once. The shared lock ends with the statement.
 */
const look = `SELECT p.owner, p.owner <> ALL ($1::text[]) AND pg_try_advisory_xact_lock_shared(${key("p.owner")}) AS free,
  pg_postmaster_start_time() < clock_timestamp() - interval '${started_s} seconds' AS settled
  FROM troupe.processes p WHERE p.guarded`

const Seen = Schema.Struct({
  owner: Schema.String,
  free: Schema.Boolean,
  settled: Schema.Boolean
})
type Seen = typeof Seen.Type
const decodeSeen = rowDecoder(Seen, "owners")

const decodeTaken = rowDecoder(Schema.Struct({ free: Schema.Boolean }), "locks of owners")

/**
 * Whether the column has the owner's name, or the name of one of its claims, which is the owner's name with a suffix after a dot.
 */
const held_by = (column: string) => `split_part(${column}, '.', 1) = $1::text`

/** Frees what an owner has claimed, under the owner's lock. False where the owner or another process locked first. */
const freeClaims = (sql: SqlClient.SqlClient, owner: string) =>
  inTransaction(sql)(
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const [taken] = yield* Effect.flatMap(
        sql.unsafe(`SELECT pg_try_advisory_xact_lock(${key("$1::text")}) AS free`, [owner]),
        decodeTaken
      )
      if (taken?.free !== true) return false
      const rows = yield* sql.unsafe(
        `DELETE FROM troupe.processes WHERE owner = $1::text AND guarded RETURNING 1 AS gone`,
        [owner]
      )
      if (rows.length === 0) return false
      // Key rows are locked before messages and in the order of the keys, as everywhere.
      yield* sql.unsafe(
        `WITH locked AS MATERIALIZED (
           SELECT k.tenant, k.key FROM troupe.outbox_keys k JOIN troupe.outbox o ON o.tenant = k.tenant AND o.key = k.key
           WHERE ${held_by("o.lease_owner")} ORDER BY k.tenant, k.key FOR UPDATE OF k)
         UPDATE troupe.outbox_keys k SET due_at = least(k.due_at, $2::int8) FROM locked l
         WHERE k.tenant = l.tenant AND k.key = l.key`,
        [owner, now]
      )
      yield* sql.unsafe(
        `UPDATE troupe.outbox SET lease_owner = NULL WHERE ${held_by("lease_owner")}`,
        [owner]
      )
      yield* sql.unsafe(
        `UPDATE troupe.tool_messages SET owner = NULL, due_at = least(due_at, $2::int8)
         WHERE status = 0 AND ${held_by("owner")}`,
        [owner, now]
      )
      yield* sql.unsafe(
        `UPDATE troupe.tool_workers SET expires_at = least(expires_at, $2::int8) WHERE worker = $1::text`,
        [owner, now]
      )
      yield* sql.unsafe(`SELECT pg_notify($1::text, ''), pg_notify($2::text, '')`, [
        outbox_channel,
        tool_queue_channel
      ])
      return true
    })
  )

const run = (
  connection: SqlConnection.Connection,
  text: string,
  params: ReadonlyArray<unknown>
): Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError> =>
  connection.execute(text, params, undefined)

/** Releases all locks of the connection before it returns to the pool. */
const release = (connection: SqlConnection.Connection) =>
  Effect.ignoreCause(run(connection, `SELECT pg_advisory_unlock_all()::text`, []))

/**
 * Makes the judge. `look` frees what an owner has claimed once its lock was free for `grace_ms`, and calls `gone` where an owner
 * has disappeared. It gives the time until the next look, in ms: a killed process is noticed within `look_ms`, and its runs are
 * free `grace_ms` after that.
 */
const makeJudge = (sql: SqlClient.SqlClient, gone: () => void) => {
  /** The owners that were registered at the last look. */
  let known = new Set<string>()
  /** When each lock was first found free, in ms of the monotonic clock, because the wall clock may be set ahead. */
  const free_since = new Map<string, number>()
  /** When each owner was found to be gone, in ms of the same clock. */
  const gone_since = new Map<string, number>()
  const look = Effect.fnUntraced(function* (seen: ReadonlyArray<Seen>) {
    const now = Number(yield* Clock.monotonicTimeNanos) / 1_000_000
    const here = new Set(seen.map(({ owner }) => owner))
    for (const { free, owner, settled } of seen) {
      if (!free || !settled) {
        free_since.delete(owner)
        gone_since.delete(owner)
        continue
      }
      const since = free_since.get(owner) ?? now
      free_since.set(owner, since)
      if (now - since < grace_ms) continue
      if (yield* freeClaims(sql, owner)) {
        here.delete(owner)
        yield* Effect.logWarning("an owner of runs or claims is gone; what it held is free", {
          owner
        })
      }
    }
    for (const owner of free_since.keys()) if (!here.has(owner)) free_since.delete(owner)
    for (const [owner, since] of gone_since) if (now - since >= gone_ms) gone_since.delete(owner)
    const lost = [...known].filter((owner) => !here.has(owner))
    for (const owner of lost) gone_since.set(owner, now)
    known = here
    if (lost.length > 0) gone()
    const due = [...free_since.values()].map((since) => since + grace_ms - now)
    return Math.min(look_ms, ...due.filter((ms) => ms > 0))
  })
  return { look, isDead: (owner: string) => free_since.has(owner) || gone_since.has(owner) }
}

/** The owners of this process, with the agents that each hosts. */
type OwnOwners = ReadonlyMap<string, ReadonlyArray<string>>

/** Holds the locks of this process's owners in one session, and looks at all owners, until the session is lost. */
const holdSession = (
  sql: SqlClient.SqlClient,
  own: OwnOwners,
  wakeup: Latch.Latch,
  judge: ReturnType<typeof makeJudge>
) =>
  Effect.gen(function* () {
    const connection = yield* sql.reserve
    const locked = new Set<string>()
    yield* Effect.addFinalizer(() => release(connection))
    for (;;) {
      for (const owner of locked) {
        if (own.has(owner)) continue
        yield* run(connection, unlock, [owner])
        locked.delete(owner)
      }
      for (const owner of own.keys()) {
        if (locked.has(owner)) continue
        yield* run(connection, lock, [owner])
        locked.add(owner)
      }
      const seen = yield* decodeSeen(yield* run(connection, look, [[...own.keys()]]))
      for (const [owner, agents] of own) {
        if (!seen.some((each) => each.owner === owner))
          yield* run(connection, register, [owner, agents])
      }
      yield* Effect.timeoutOption(wakeup.await, yield* judge.look(seen))
      yield* wakeup.close
    }
  }).pipe(Effect.scoped)

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const own = new Map<string, ReadonlyArray<string>>()
  const listeners = new Set<() => void>()
  const wakeup = yield* Latch.make(false)
  const judge = makeJudge(sql, () => {
    for (const listener of listeners) listener()
  })
  // A defect ends the session too. Without a new session, other processes would take this one for dead.
  yield* Effect.forkScoped(
    holdSession(sql, own, wakeup, judge).pipe(
      Effect.catchDefect((defect) =>
        Effect.andThen(Effect.logError("the watch over owners broke", defect), Effect.fail(defect))
      ),
      Effect.retry(reconnect),
      Effect.ignoreCause
    )
  )
  return Owners.of({
    register: (owner, agents = []) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          own.set(owner, agents)
          wakeup.openUnsafe()
        }),
        () =>
          Effect.suspend(() => {
            own.delete(owner)
            return Effect.ignoreCause(
              sql.unsafe(`DELETE FROM troupe.processes WHERE owner = $1::text`, [owner])
            )
          })
      ),
    onExpired: (listener) => listenIn(listeners, listener),
    isProbablyDead: judge.isDead
  })
})

export const layer: Layer.Layer<never, never, SqlClient.SqlClient> = Layer.effect(Owners, make)
