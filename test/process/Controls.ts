/**
 * Promises that rest on one guard each, as scenarios that die where the promise is broken. With the guard they hold;
 * `npm run crash-test` takes the guard away and must see them die.
 */
import { mkdirSync, symlinkSync } from "node:fs"
import { dirname, join } from "node:path"
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

/** Two names of one database, each with a lock file of its own: as if there were no lock. */
const aliased = (directory: string): readonly [string, string] => {
  const alias = join(dirname(directory), "alias")
  mkdirSync(alias)
  symlinkSync(join(directory, "pgdata"), join(alias, "pgdata"))
  return [directory, alias]
}

/** Two services come for one directory and take messages; both are killed, and one comes back. */
export const twoOnOneDirectory = (locked: boolean) =>
  Effect.gen(function* () {
    const judge = yield* Judge.start
    const store = yield* Homes.directory
    if (!("directory" in store)) return
    const [one, other] = locked ? [store.directory, store.directory] : aliased(store.directory)
    const runs = new Map<string, string>()
    yield* Effect.scoped(
      Effect.gen(function* () {
        const comers: Array<Service.Service> = []
        for (const directory of [one, other]) {
          const comer = yield* Effect.exit(
            Service.start({ store: { directory }, counter: judge.url })
          )
          if (Exit.isSuccess(comer)) comers.push(comer.value)
        }
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
    const service = yield* Service.start({ store: { directory: one }, counter: judge.url })
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
    yield* Effect.flatMap(PgClient.PgClient, (sql) =>
      sql.unsafe(`ALTER DATABASE postgres SET synchronous_commit = ${synchronous_commit}`)
    ).pipe(Effect.provide(PgClient.layer({ url: Redacted.make(postgres), maxConnections: 1 })))
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
    const known = yield* service.statuses([...runs.values()])
    assert.strictEqual(known.length, runs.size)
    const journals = yield* Service.until(service.journals([...runs.values()]), (all) =>
      all.every((entries) => Service.isEnded(entries) || Service.unknownCalls(entries).length > 0)
    )
    for (const entries of journals) Judge.assertSound(entries)
  })
