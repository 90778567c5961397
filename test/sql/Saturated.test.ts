import { assert, it as standalone, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { RunJournal } from "../../services/RunJournal.ts"
import { RunOwnership } from "../../services/RunOwnership.ts"
import { ServerSession } from "../../layers/sql/engine/ServerSession.ts"
import * as Pglite from "../../layers/sql/engine/Pglite.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { eventually } from "../contracts/Contract.ts"
import * as Samples from "../contracts/Samples.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"
import { isFull } from "../Long.ts"
import * as Homes from "../process/Homes.ts"

/** How many connections there may be, are in use, and are waited for. */
const connections = Effect.map(Metric.snapshot, (all) =>
  ["max", "busy", "waiting"].map((name) => {
    const found = all.find(({ id }) => id === `troupe_store_connections_${name}`)
    return found?.type === "Gauge" ? Number(found.state.value) : undefined
  })
)

/** An engine of its own, because a test's other ones have reported to another registry since they were started. */
const pglite = Layer.unwrap(Effect.map(Homes.directory, Pglite.layer))

for (const [engine, client] of [
  ["PostgreSQL", EmbeddedPostgres.emptyLayer] as const,
  ...(isFull ? [["PGlite", pglite] as const] : [])
]) {
  standalone.live(
    `metrics say which connections are in use and what waits for one (${engine})`,
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const max = (yield* connections)[0]!
        assert.strictEqual(max, engine === "PGlite" ? 1 : 16)
        const gate = Deferred.makeUnsafe<void>()
        const { readAs } = yield* ServerSession
        const held = yield* Effect.forEach(Array.from({ length: max }), (_, n) =>
          Effect.forkScoped(
            readAs !== undefined && n < 3
              ? readAs({ role: "none", tenant: "acme" })(Deferred.await(gate))
              : sql.withTransaction(Deferred.await(gate))
          )
        )
        yield* eventually(connections, ([, busy]) => busy === max)
        const [kept, given] = yield* Effect.all([
          Effect.forkScoped(sql`SELECT 1`),
          Effect.forkScoped(sql.withTransaction(sql`SELECT 1`))
        ])
        yield* eventually(connections, ([, , waiting]) => waiting === 2)
        yield* Fiber.interrupt(given)
        assert.deepStrictEqual(yield* connections, [max, max, 1])
        yield* Deferred.succeed(gate, undefined)
        yield* Effect.forEach([...held, kept], (fiber) => Fiber.join<unknown, unknown>(fiber))
        yield* eventually(connections, ([, busy, waiting]) => busy === 0 && waiting === 0)
      }).pipe(
        Effect.scoped,
        Effect.provide(
          Layer.provideMerge(Layer.fresh(client), Layer.succeed(Metric.MetricRegistry, new Map()))
        )
      )
  )
}

layer(Layer.provideMerge(SqlStores.layer, EmbeddedPostgres.layer), {
  excludeTestServices: true,
  timeout: "2 minutes"
})("slow transactional bodies (PostgreSQL)", (it) => {
  it.effect("leave connections for the lease of their process and for other runs", () =>
    Effect.gen(function* () {
      const journal = yield* RunJournal
      const ownership = yield* RunOwnership
      const gate = Deferred.makeUnsafe<void>()
      const other = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
      const held = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        Effect.gen(function* () {
          const begun = yield* Samples.begin({}, [Samples.modelTurned(1, 1)])
          return yield* Effect.forkChild(
            journal.transact(begun.run, begun.fence, Deferred.await(gate), () =>
              begun.next(Samples.callSettled())
            )
          )
        })
      )
      yield* Effect.yieldNow
      yield* ownership.heartbeat("a", 15_000)
      yield* journal.append(other.next(Samples.callSettled()))
      assert.isUndefined(held[0]!.pollUnsafe())
      yield* Deferred.succeed(gate, undefined)
      yield* Effect.forEach(held, Fiber.join)
    })
  )
})
