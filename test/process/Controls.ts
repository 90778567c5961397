/**
 * Promises that rest on one guard each, as scenarios that die where the promise is broken. With the guard they hold;
 * `npm run crash-test` takes the guard away and must see them die.
 */
import { rmSync } from "node:fs"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { assert } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import * as EmbeddedPostgres from "../sql/EmbeddedPostgres.ts"
import * as PostgresServer from "../sql/PostgresServer.ts"
import * as Homes from "./Homes.ts"
import * as Judge from "./Judge.ts"
import * as Service from "./Service.ts"

const each = Array.from({ length: 20 }, (_, index) => index)

/** What was acknowledged is there, ends, and did its effect once. */
const assertKept = Effect.fnUntraced(function* (
  service: Service.Service,
  judge: Judge.Judge,
  runs: ReadonlyMap<string, string>
) {
  for (const [tag, run] of runs) {
    Judge.assertComplete(yield* Service.ended(service, run), tag)
    assert.strictEqual(Judge.of(judge, run).length, 1)
  }
})

/**
 * Two services come for one directory and take messages; they are killed, and one comes back. Without the lock the file
 * that the first one holds is gone, so that the second makes and holds another.
 */
export const twoOnOneDirectory = (locked: boolean) =>
  Effect.gen(function* () {
    const judge = yield* Judge.start
    const store = yield* Homes.directory
    if (!("directory" in store)) return
    const options = { store, counter: judge.url }
    const runs = new Map<string, string>()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const comers = [yield* Service.start(options)]
        if (!locked) rmSync(join(store.directory, "lock"))
        const second = yield* Effect.exit(Service.start(options))
        if (Exit.isSuccess(second)) comers.push(second.value)
        for (const index of each) {
          for (const [who, comer] of comers.entries()) {
            const tag = `${who}-${index}`
            runs.set(tag, yield* comer.send(tag, ["once"]))
            yield* Service.ended(comer, runs.get(tag)!)
          }
        }
        for (const comer of comers) yield* comer.child.kill
      })
    )
    const service = yield* Service.start(options)
    yield* assertKept(service, judge, runs)
  })

/** The database server is killed in the middle of acknowledgements, and comes back. */
export const killedServer = (synchronous_commit: "on" | "off") =>
  Effect.gen(function* () {
    const judge = yield* Judge.start
    const server = yield* Effect.acquireRelease(
      Effect.promise(() => PostgresServer.launch()),
      (server) => Effect.promise(() => server.stop())
    )
    const postgres = EmbeddedPostgres.urlOf(String(server.port), "postgres")
    yield* Effect.gen(function* () {
      const sql = yield* PgClient.PgClient
      yield* sql.unsafe(`ALTER DATABASE postgres SET synchronous_commit = ${synchronous_commit}`)
      // Otherwise what was not waited for is written 200 ms later, which is sooner than a kill comes.
      yield* sql`ALTER SYSTEM SET wal_writer_delay = '10s'`
      yield* sql`ALTER SYSTEM SET wal_writer_flush_after = '1GB'`
      yield* sql`SELECT pg_reload_conf()`
    }).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(postgres), maxConnections: 1 })))
    const options = { store: { postgres }, counter: judge.url }
    const runs = new Map<string, string>()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const service = yield* Service.start(options)
        yield* Effect.forkScoped(
          Effect.ignore(
            Effect.forever(
              Effect.suspend(() => {
                const tag = `run-${runs.size}`
                return Effect.map(service.send(tag, ["once"]), (run) => runs.set(tag, run))
              })
            )
          )
        )
        yield* Service.until(
          Effect.sync(() => runs.size),
          (size) => size >= 100
        )
        yield* Effect.promise(() => server.crash())
        yield* service.child.kill
      })
    )
    yield* Effect.promise(() => server.start())
    const service = yield* Service.start(options)
    // A key that is known names its task; one that was lost would make another.
    for (const [tag, run] of runs) {
      assert.strictEqual(yield* service.send(tag, ["once"]), run, "an acknowledged task was lost")
    }
    const journals = yield* Service.until(service.journals([...runs.values()]), (all) =>
      all.every((entries) => Service.isEnded(entries) || Service.unknownCalls(entries).length > 0)
    )
    for (const entries of journals) Judge.assertSound(entries)
  })
