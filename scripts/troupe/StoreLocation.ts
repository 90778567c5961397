/**
 * Where the store is that a command reads: a server, or the directory of a service.
 */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect, Option } from "effect"
import type { Redacted } from "effect"
import type { Unusable } from "../start/Surroundings.ts"
import * as Surroundings from "../start/Surroundings.ts"
import { Refused } from "./Refused.ts"

export interface Place {
  readonly database: Option.Option<Redacted.Redacted>
  /** As `start({ store: { directory } })` takes it; of no meaning where there is a database. */
  readonly directory: string
}

/** What PGlite makes in the directory that it is given. */
const files = "pgdata"

/** `data`: what `--data` says, which is a directory whatever the environment says. Makes nothing. */
export const place = Effect.fnUntraced(function* (
  data: string | undefined
): Effect.fn.Return<Place, Refused | Unusable> {
  const settings = yield* Surroundings.settings
  const database = data === undefined ? settings.database : Option.none()
  const named = data ?? settings.data
  // What an embedded service was given, and where `npm start` keeps its own.
  const candidates = [named, join(named, "db")]
  const found = candidates.filter((directory) => existsSync(join(directory, files)))
  if (Option.isNone(database) && found.length !== 1) {
    const looked = candidates.map((directory) => join(directory, files)).join(" and ")
    return yield* new Refused({
      message:
        found.length === 0
          ? `there is no store in ${named} (looked for ${looked}): name the service's directory with --data or TROUPE_DATA, or its server with TROUPE_DATABASE_URL`
          : `there are two stores in ${named} (${looked}): name one with --data`
    })
  }
  return { database, directory: found[0] ?? named }
})
