/** Who watches over the owners of runs and claims on a server, and what a bug in that may cost. */
import { assert, it } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlOwners from "../../layers/sql/stores/SqlOwners.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { Owners } from "../../services/Owners.ts"
import { eventually } from "../contracts/Contract.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

it.live("goes on watching when a listener broke", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.migrated
    const built = yield* Layer.build(
      SqlOwners.layer.pipe(
        Layer.provideMerge(SqlStores.layer),
        Layer.provide(Postgres.layer({ url: Redacted.make(url) }))
      )
    )
    const owners = Context.get(built, Owners)
    let told = 0
    yield* owners.onExpired(() => {
      if (++told === 1) throw new Error("a bug of a listener")
    })
    for (const times of [1, 2]) {
      const scope = yield* Scope.make()
      yield* Scope.provide(owners.register(`brief-${times}`), scope)
      yield* Effect.sleep("1200 millis")
      yield* Scope.close(scope, Exit.void)
      yield* eventually(
        Effect.sync(() => told),
        (count) => count >= times
      )
    }
    assert.strictEqual(told, 2)
  }).pipe(Effect.provide(Logger.layer([])))
)

/** The wall clock is set ahead by an hour each time somebody reads it; its monotonic time is the real one. */
const leaping = (clock: Clock.Clock): Clock.Clock => {
  let ahead_ms = 0
  const wall = () => clock.currentTimeMillisUnsafe() + (ahead_ms += 3_600_000)
  return {
    currentTimeMillisUnsafe: wall,
    currentTimeMillis: Effect.sync(wall),
    currentTimeNanosUnsafe: () => BigInt(wall()) * 1_000_000n,
    currentTimeNanos: Effect.sync(() => BigInt(wall()) * 1_000_000n),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
}

it.live(
  "takes an owner for gone only after its lock was free for 500 ms, also where the wall clock was set ahead",
  () =>
    Effect.gen(function* () {
      const url = Redacted.make(yield* EmbeddedPostgres.migrated)
      const built = yield* Layer.build(
        SqlStores.layer.pipe(Layer.provideMerge(Postgres.layer({ url })))
      )
      const sql = Context.get(built, SqlClient.SqlClient)
      // Nobody is taken for gone within 10 s of the server's start.
      const settled = sql<{ readonly settled: boolean }>`
        SELECT pg_postmaster_start_time() < clock_timestamp() - interval '11 seconds' AS settled`
      yield* eventually(settled, ([row]) => row?.settled === true)
      yield* sql`INSERT INTO troupe.processes (owner, expires_at, guarded, agents)
        VALUES ('brief', clock_timestamp(), true, '{}')`
      const clock = yield* Clock.Clock
      const from = clock.monotonicTimeNanosUnsafe()
      const watching = yield* Layer.build(SqlOwners.layer).pipe(
        Effect.provideContext(Context.merge(yield* Effect.context<Scope.Scope>(), built)),
        Effect.provideService(Clock.Clock, leaping(clock))
      )
      const { isProbablyDead, register } = Context.get(watching, Owners)
      yield* register("living")
      yield* eventually(
        Effect.sync(() => isProbablyDead("brief")),
        (isGone) => isGone
      )
      const owners = sql`SELECT owner FROM troupe.processes WHERE owner = 'brief'`
      yield* eventually(owners, (rows) => rows.length === 0)
      const ms = Number(clock.monotonicTimeNanosUnsafe() - from) / 1_000_000
      assert.isAtLeast(ms, 500)
      // Also when it has looked again: somebody may have read it as an owner just before.
      yield* Effect.sleep("600 millis")
      assert.isTrue(isProbablyDead("brief"))
      assert.isFalse(isProbablyDead("living"))
      // It comes back, and holds its lock.
      yield* sql`SELECT pg_advisory_lock(hashtextextended('troupe owner ' || ${"brief"}, 0))::text`
      yield* sql`INSERT INTO troupe.processes (owner, expires_at, guarded, agents)
        VALUES ('brief', clock_timestamp(), true, '{}')`
      yield* eventually(
        Effect.sync(() => isProbablyDead("brief")),
        (isGone) => !isGone
      )
    }).pipe(Effect.scoped, Effect.provide(Logger.layer([]))),
  60_000
)
