/**
 * What the commands share: the store that they work on, what they print, and how they end.
 */
import { Cause, Effect, Logger, Option, References, Schema } from "effect"
import type { Scope } from "effect"
import { Flag } from "effect/cli"
import { Migrator, SqlError } from "effect/sql"
import * as Stores from "../../layers/compose/assembly/StoreLayers.ts"
import { Tenant } from "../../src/value/Ids.ts"
import { optionalDirectory } from "../command/CommandLine.ts"
import * as Environment from "../start/Environment.ts"
import type { StoreLocation } from "./StoreLocation.ts"
import { storeLocation } from "./StoreLocation.ts"

export const dataFlag = optionalDirectory(
  "data",
  "the directory of the store, whatever the environment says"
)

/** An empty one, as of a variable that is not set, is no tenant and never all of them. */
export const tenantFlag = Flag.String("tenant").pipe(
  Flag.filter(
    Schema.is(Tenant),
    (text) => `"${text}" is no tenant: 1 to 200 characters, letters, digits and . _ : @ ~ -`
  ),
  Flag.withMetavar("NAME")
)

export const where = `  Without --data, TROUPE_DATA (.troupe) or TROUPE_DATABASE_URL says where the store is. A directory may be the one that
  start({ store: { directory } }) was given, or the TROUPE_DATA of npm start.`

export const say = (text: string) => Effect.sync(() => process.stdout.write(`${text}\n`))

/** Says of a failure of the server what may help. */
export const explainingServer = <A, E, R>(
  database: StoreLocation["database"],
  work: Effect.Effect<A, E, R>
) =>
  Effect.mapError(work, (error) =>
    Option.isSome(database) &&
    (SqlError.isSqlError(error) || error instanceof Migrator.MigrationError)
      ? Environment.explainDatabase(database.value, error)
      : error
  )

type Needed = Stores.Stores | Stores.Client | Scope.Scope

const over = Effect.fnUntraced(function* <A, E>(
  data: string | undefined,
  work: Effect.Effect<A, E, Needed>,
  found: typeof Stores.existing
) {
  const { database, directory } = yield* storeLocation(data)
  const stores = Option.match(database, {
    onNone: () => found(Stores.directory(directory)),
    onSome: (url) => found(Stores.postgres(url))
  })
  return yield* explainingServer(database, Effect.provide(work, stores))
})

/** Runs it over the store that the flags and the environment name, which is there and of this version. */
export const overStore = <A, E>(data: string | undefined, work: Effect.Effect<A, E, Needed>) =>
  over(data, work, Stores.existing)

/** The same; on a server the store is made where there is none, and brought up to date. */
export const overNewStore = <A, E>(data: string | undefined, work: Effect.Effect<A, E, Needed>) =>
  over(data, work, Stores.withoutSweeps)

const explained = (cause: Cause.Cause<unknown>): string => {
  const error = Cause.findErrorOption(cause)
  if (Option.isNone(error)) return Cause.pretty(cause)
  const { value } = error
  if (typeof value === "object" && value !== null && "_tag" in value) {
    if (value._tag === "RunNotFound" && "run_id" in value) {
      return `there is no run ${String(value.run_id)} in this store.`
    }
    if (value._tag === "DirectoryInUse") {
      return `${(value as unknown as Error).message} (A PostgreSQL server can be read while a service runs.)`
    }
  }
  return value instanceof Error ? value.message : String(value)
}

/** Ends the process with the code of its work; with `failed_code` and a line of why, where that fails. */
export const endWith = <E, R>(
  work: Effect.Effect<number, E, R>,
  failure: string,
  failed_code = 1
): Effect.Effect<void, never, Exclude<R, Scope.Scope>> =>
  Effect.scoped(work).pipe(
    Effect.map((code) => {
      process.exitCode = code
    }),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.sync(() => {
            process.stderr.write(`${failure}: ${explained(cause)}\n`)
            process.exitCode = failed_code
          })
    ),
    Effect.provide(Logger.layer([Logger.withConsoleError(Logger.formatLogFmt)])),
    Effect.provideService(References.MinimumLogLevel, "Warn")
  )
