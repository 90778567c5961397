/** Who watches over the owners of runs and claims on a server, and what a bug in that may cost. */
import { assert, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Redacted, Scope } from "effect"
import * as Postgres from "../../layers/sql/engine/Postgres.ts"
import * as SqlOwners from "../../layers/sql/stores/SqlOwners.ts"
import * as SqlStores from "../../layers/sql/stores/SqlStores.ts"
import { Owners } from "../../services/Owners.ts"
import { eventually } from "../contracts/Contract.ts"
import * as EmbeddedPostgres from "./EmbeddedPostgres.ts"

it.live("goes on watching when a listener broke", () =>
  Effect.gen(function* () {
    const url = yield* EmbeddedPostgres.database
    const built = yield* Layer.build(
      SqlOwners.layer.pipe(
        Layer.provideMerge(SqlStores.layer),
        Layer.provide(Postgres.layer({ url: Redacted.make(url) }))
      )
    )
    const owners = Context.get(built, Owners)
    let told = 0
    yield* owners.gone(() => {
      if (++told === 1) throw new Error("a bug of a listener")
    })
    for (const times of [1, 2]) {
      const scope = yield* Scope.make()
      yield* Scope.provide(owners.attend(`brief-${times}`), scope)
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
