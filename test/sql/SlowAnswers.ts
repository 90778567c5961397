/**
 * Stores over a client whose answers reach the process late or not at all: the database has done what it was told.
 */
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { SqlError } from "effect/sql"
import * as EphemeralStore from "../../layers/ephemeral/EphemeralStore.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import type { engines } from "./Engines.ts"

/** What happens between a statement's answer and whoever waits for it; `text` is the statement with its parameters. */
type Between = (text: string) => Effect.Effect<void, SqlError.SqlError>

const slowed = (client: SqlClient.SqlClient, between: Between): SqlClient.SqlClient =>
  new Proxy(client, {
    get: (target, name) =>
      name === "unsafe"
        ? (...args: Parameters<SqlClient.SqlClient["unsafe"]>) =>
            Effect.tap(target.unsafe(...args), () => between(args.flat(2).join(" ")))
        : Reflect.get(target, name)
  })

export const storesOver = (client: (typeof engines)[number][1], between: Between) => {
  const slow = Layer.effect(
    SqlClient.SqlClient,
    Effect.map(SqlClient.SqlClient, (real) => slowed(real, between))
  )
  const store = SqlStores.layer.pipe(Layer.provideMerge(slow), Layer.provideMerge(client))
  return Layer.merge(EphemeralStore.layer, store)
}
