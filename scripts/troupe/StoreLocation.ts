/**
 * Finds the store that a command reads: a server, or the directory of a service.
 */
import { join } from "node:path"
import { Effect, Option } from "effect"
import type { Redacted } from "effect"
import { database_directory, hasDatabase } from "../../layers/sql/engine/DirectoryLock.ts"
import type { Unusable } from "../start/Environment.ts"
import * as Environment from "../start/Environment.ts"
import { Refused } from "../command/Refused.ts"

export interface StoreLocation {
  readonly database: Option.Option<Redacted.Redacted>
  /** As `start({ store: { directory } })` takes it; unused with a database. */
  readonly directory: string
}

/** What an embedded service was given, and where `npm start` keeps its own. */
const candidatesOf = (named: string): ReadonlyArray<string> => [named, join(named, "db")]

/** The directories with a database among those that the name may mean. */
export const databasesIn = (named: string): ReadonlyArray<string> =>
  candidatesOf(named).filter(hasDatabase)

/** `data`: the value of `--data`, which wins over the environment. Creates no files. */
export const storeLocation = Effect.fnUntraced(function* (
  data: string | undefined
): Effect.fn.Return<StoreLocation, Refused | Unusable> {
  const settings = yield* Environment.readSettings
  const database = data === undefined ? settings.database : Option.none()
  const named = data ?? settings.data
  const found = databasesIn(named)
  if (Option.isNone(database) && found.length !== 1) {
    const looked = candidatesOf(named)
      .map((directory) => join(directory, database_directory))
      .join(" and ")
    return yield* new Refused({
      message:
        found.length === 0
          ? `there is no store in ${named} (looked for ${looked}): name the service's directory with --data or TROUPE_DATA, or its server with TROUPE_DATABASE_URL`
          : `there are two stores in ${named} (${looked}): name one with --data`
    })
  }
  return { database, directory: found[0] ?? named }
})
